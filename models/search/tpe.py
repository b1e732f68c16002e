"""Optuna's tree-structured Parzen estimator over the candidates' parameters."""

from __future__ import annotations

from iotune.models.search.interface import Problem, Search

_NOT_SET = ""
# What the sampler draws that is no candidate, or was run already, costs no run: so often in a row.
_MOST_DRAWS = 200


class TpeSearch(Search):
    """Each parameter is a choice among its values and "not set"."""

    def __init__(self, problem: Problem, seed: int):
        super().__init__(problem, seed)
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._values = problem.values()
        self._place = {self._key(point): at for at, point in enumerate(problem.points)}
        sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, group=False)
        self._study = optuna.create_study(sampler=sampler)
        self._distributions: dict[str, optuna.distributions.BaseDistribution] = {
            name: optuna.distributions.CategoricalDistribution([_NOT_SET, *values])
            for name, values in self._values.items()
        }
        self._asked: dict[int, optuna.Trial] = {}

    def _key(self, point: object) -> tuple[str, ...]:
        assert hasattr(point, "get")
        return tuple(point.get(name, _NOT_SET) for name in self._values)

    def next(self) -> int | None:
        """What the sampler draws, else the first candidate that was not run."""
        import optuna

        for _ in range(_MOST_DRAWS):
            trial = self._study.ask(self._distributions)
            at = self._place.get(self._key(trial.params))
            if at is not None and at not in self.seconds and at not in self.failed:
                self._asked[at] = trial
                return at
            self._study.tell(trial, state=optuna.trial.TrialState.FAIL)
        left = (
            at
            for at in range(len(self.problem.points))
            if at not in self.seconds and at not in self.failed
        )
        return next(left, None)

    def tell(self, candidate: int, seconds: float | None) -> None:
        """Also to the sampler."""
        import optuna

        super().tell(candidate, seconds)
        trial = self._asked.pop(candidate, None)
        if trial is None:
            return
        if seconds is None:
            self._study.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            self._study.tell(trial, seconds)
