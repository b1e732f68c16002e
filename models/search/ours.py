"""The search that starts from knowledge: what a model expects, corrected by every run.

Candidates' gains are one Gaussian vector: the prior's mean and covariance (models/gains/prior.py),
conditioned on what has run. Each time is given as the logarithm of its seconds, whose common level
(the pattern's own, the machine's) is unknown, so that the default need not run before others. The
next run is the one that may change the decision most, a second run of a leader included, whose
first may have been luck.
"""

from __future__ import annotations

import math
from statistics import median

import numpy as np
from iotune.models.gains.mechanism import Array
from iotune.models.gains.prior import Prior, uninformed
from iotune.models.search.interface import Problem, Search
from numpy.typing import NDArray

# Of the logarithm of the default's seconds, which nothing is known of.
_LEVEL_SPREAD = 10.0
# Where nobody is expected to be better by as much, more runs decide nothing.
_WORTH = 0.005
_FEWEST_RUNS_OF_BEST = 3
# What looks one run ahead stops too soon: while somebody may well be better by as much, it goes on.
_HOPE = 0.02
# Of a pattern's noise and of the model's error on it, over the platform's.
_SCALES = (0.35, 0.6, 1.0, 1.7, 2.9, 5.0)
_SCALE_SPREAD = 0.7  # of their logarithm
# Of so many runs one goes where none has been, while there is such a way.
_UNSEEN_EVERY = 4
# Of the quadrature over what a run may tell.
_POINTS = 15


class OurSearch(Search):
    """Over when no run can change the decision."""

    def __init__(self, problem: Problem, seed: int):
        super().__init__(problem, seed)
        self._prior = problem.prior if isinstance(problem.prior, Prior) else _blank(problem)
        self._scales = (self._prior.noise, 1.0)  # _likely()
        self._known: tuple[int, tuple[Array, Array, Array, Array]] | None = None

    def next(self) -> int | None:
        """The candidate whose run may change the decision most."""
        allowed = np.array([one not in self.failed for one in range(len(self._prior.mean))])
        unseen = self._unseen(allowed)
        if unseen is not None:
            return unseen
        value = np.where(allowed, self._value(), -np.inf)
        chosen = int(np.argmax(value))
        best = self.best()
        mean, spread = self.expected()
        hopes = allowed & (mean + spread > mean[best] + _HOPE)
        if self.seconds and value[chosen] < _WORTH and not hopes.any():
            # A candidate that leads by few runs may have had luck.
            if best != 0 and len(self.seconds[best]) < _FEWEST_RUNS_OF_BEST:
                return best
            return None
        return chosen

    def _unseen(self, allowed: NDArray[np.bool_]) -> int | None:
        """Now and then, the most promising one of those whose bytes go a way that none has gone.

        A model may be wrong of a whole mechanism that it has not seen with such a pattern.
        """
        if sum(map(len, self.seconds.values())) % _UNSEEN_EVERY != _UNSEEN_EVERY - 1:
            return None
        gone = {self._prior.ways[one] for one in [*self.seconds, *self.failed]
                if one < len(self._prior.ways)}  # fmt: skip
        mean = self._posterior()[0]
        left = [at for at, way in enumerate(self._prior.ways) if way not in gone and allowed[at]]
        return max(left, key=lambda at: mean[at]) if left else None

    def next_batch(self, most: int) -> list[int]:
        """The most promising ones, each chosen as if those before it had met what is expected."""
        found: list[int] = []
        reported = {one: list(times) for one, times in self.seconds.items()}
        try:
            while len(found) < most:
                one = self.next()
                if one is None:
                    break
                found.append(one)
                level = self._level()
                mean = self._posterior()[0]
                super().tell(one, math.exp(level - float(mean[one])))
        finally:
            self.seconds = reported
            self._known = None
        return found

    def best(self) -> int:
        """Of those that ran and the default, the one of the greatest expected gain."""
        if not self.seconds:
            return 0
        mean = self._posterior()[0]
        return max([*self.seconds, 0], key=lambda one: (mean[one], -one))

    def ranked(self, of_whole: object = None) -> list[int]:
        """What a smaller file did otherwise than expected, the whole one is to do too."""
        if not isinstance(of_whole, Prior) or not of_whole.informed:
            return super().ranked()
        mean = self._posterior()[0]
        expected = of_whole.mean + mean - self._prior.mean
        return sorted(self.seconds, key=lambda one: (-float(expected[one]), one))

    def expected(self) -> tuple[Array, Array]:
        """Logarithms of the gain of every candidate, and their standard deviations."""
        mean, covariance, _, _ = self._posterior()
        return mean, np.sqrt(np.maximum(np.diag(covariance), 0.0))

    def _value(self) -> Array:
        """Of one more run of each: how much the expected gain of the one that then leads may rise.

        The knowledge gradient for correlated candidates (Frazier et al., 2009), where a decision
        is made among those that ran, the default, and the one that runs.
        """
        mean, covariance, tilt, variance = self._posterior()
        noise = self._scales[0] ** 2
        # How far each candidate's mean moves for one standard deviation of that run's time.
        moves = -tilt / np.sqrt(variance + noise)[None, :]
        decided = sorted({0, *self.seconds})
        best = float(mean[decided].max())
        points, weights = np.polynomial.hermite_e.hermegauss(_POINTS)
        weights = weights / weights.sum()
        of_decided = mean[decided][:, None, None] + moves[decided][:, :, None] * points
        of_own = mean[:, None] + np.diag(moves)[:, None] * points
        leaders = np.maximum(of_decided.max(axis=0), of_own)
        return np.asarray(leaders @ weights - best)

    def _posterior(self) -> tuple[Array, Array, Array, Array]:
        """Means and covariance of the gains' logarithms; then of the time of one run of each.

        Of the latter: covariance with each gain, shape (candidates, runs of candidates), and the
        variance, both without the run's own noise.
        """
        count = sum(map(len, self.seconds.values()))
        if self._known is None or self._known[0] != count:
            self._known = (count, self._conditioned())
        return self._known[1]

    def _conditioned(self) -> tuple[Array, Array, Array, Array]:
        n = len(self._prior.mean)
        # The last variable is the logarithm of the default's seconds, of which nothing is known.
        mean = np.append(self._prior.mean, 0.0)
        covariance = np.zeros((n + 1, n + 1))
        covariance[n, n] = _LEVEL_SPREAD**2
        covariance[:n, :n] = self._prior.covariance
        ran = sorted(self.seconds)
        if ran:
            # The median of several runs: a tail moves it little.
            times = np.array([math.log(max(median(self.seconds[one]), 1e-9)) for one in ran])
            runs = np.array([len(self.seconds[one]) for one in ran])
            mean[n] = float(np.median(times + mean[ran]))
            self._scales = self._likely(ran, times + mean[ran] - mean[n], runs)
            # log seconds = level - gain + noise.
            tells = np.zeros((len(ran), n + 1))
            tells[np.arange(len(ran)), ran] = -1.0
            tells[:, n] = 1.0
            covariance[:n, :n] = self._scales[1] ** 2 * self._prior.covariance
            crossed = covariance @ tells.T
            table = tells @ crossed + np.diag(self._scales[0] ** 2 / runs)
            gain = np.linalg.solve(table, crossed.T).T
            mean = mean + gain @ (times - tells @ mean)
            covariance = covariance - gain @ crossed.T
        of_gains = covariance[:n, :n]
        tilt = covariance[:n, n][:, None] - of_gains
        variance = covariance[n, n] - 2 * covariance[:n, n] + np.diag(of_gains)
        return mean[:n], of_gains, tilt, np.maximum(variance, 0.0)

    def _level(self) -> float:
        """The logarithm of the default's seconds, as far as it is known."""
        if not self.seconds:
            return 0.0
        mean = self._posterior()[0]
        found = [math.log(median(times)) + mean[one] for one, times in self.seconds.items()]
        return float(np.median(found))

    def _likely(self, ran: list[int], off: Array, runs: Array) -> tuple[float, float]:
        """The noise of one time, and how far the model is off in its own spreads, of this pattern.

        Those under which the times so far are likeliest (`off`: times less what was expected), with
        what is known of the platform beforehand.
        """
        covariance = self._prior.covariance[np.ix_(ran, ran)]
        again = [np.log(times) for times in self.seconds.values() if len(times) > 1]
        squares = sum(float(((one - one.mean()) ** 2).sum()) for one in again)
        freedom = sum(len(one) - 1 for one in again)
        best = (-math.inf, self._prior.noise, 1.0)
        for times_noise in _SCALES:
            for spread in _SCALES:
                noise = times_noise * self._prior.noise
                table = spread**2 * covariance + np.diag(noise**2 / runs) + _LEVEL_SPREAD**2
                _, determinant = np.linalg.slogdet(table)
                fit = -determinant / 2 - float(off @ np.linalg.solve(table, off)) / 2
                fit -= freedom * math.log(noise) + squares / (2 * noise**2)
                fit -= (math.log(times_noise) ** 2 + math.log(spread) ** 2) / (2 * _SCALE_SPREAD**2)
                best = max(best, (fit, noise, spread))
        return best[1], best[2]


def _blank(problem: Problem) -> Prior:
    return uninformed(
        [frozenset(f"{name}={value}" for name, value in one.items()) for one in problem.points]
    )
