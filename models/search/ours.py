"""The search that starts from knowledge: what a model expects, corrected by every run.

Candidates' gains are one Gaussian vector: the prior's mean and covariance (models/gains/prior.py),
conditioned on what has run. Each time is told as the logarithm of its seconds, whose common level
(the pattern's own, the machine's) is unknown, so that the default need not run before others. The
next run is the one that may change the decision: of greatest expected improvement over the best
(Jones et al., 1998), a second run of a leader included, whose first may have been luck.
"""

from __future__ import annotations

import math
from statistics import median

import numpy as np
from iotune.models.gains.mechanism import Array
from iotune.models.gains.prior import Prior, uninformed
from iotune.models.search.interface import Problem, Search
from scipy.special import ndtr

# Of the logarithm of the default's seconds, which nothing is known of.
_LEVEL_SPREAD = 10.0
# Where nobody is expected to be better by as much, more runs decide nothing.
_WORTH = 0.005
_FEWEST_RUNS_OF_BEST = 3


class OurSearch(Search):
    """Over when no run can change the decision."""

    def __init__(self, problem: Problem, seed: int):
        super().__init__(problem, seed)
        self._prior = problem.prior if isinstance(problem.prior, Prior) else _blank(problem)
        self._known: tuple[int, Array, Array] | None = None

    def next(self) -> int | None:
        """The candidate whose run may change the decision most."""
        mean, covariance = self._posterior()
        allowed = np.array([one not in self.failed for one in range(len(mean))])
        if not self.seconds:
            return int(np.argmax(np.where(allowed, mean, -np.inf)))
        best = self.best()
        value = np.where(allowed, self._improvement(mean, covariance, best), -np.inf)
        chosen = int(np.argmax(value))
        if value[chosen] < _WORTH:
            # Whoever leads by few runs may have had luck.
            if best != 0 and len(self.seconds[best]) < _FEWEST_RUNS_OF_BEST:
                return best
            return None
        return chosen

    def next_batch(self, most: int) -> list[int]:
        """The most promising ones, each chosen as if those before it had met what is expected."""
        found: list[int] = []
        told = {one: list(times) for one, times in self.seconds.items()}
        try:
            while len(found) < most:
                one = self.next()
                if one is None:
                    break
                found.append(one)
                level = self._level()
                mean, _ = self._posterior()
                super().tell(one, math.exp(level - float(mean[one])))
        finally:
            self.seconds = told
            self._known = None
        return found

    def best(self) -> int:
        """Of those that ran and the default, the one of the greatest expected gain."""
        if not self.seconds:
            return 0
        mean, _ = self._posterior()
        return max([*self.seconds, 0], key=lambda one: (mean[one], -one))

    def ranked(self, of_whole: object = None) -> list[int]:
        """What a smaller file did otherwise than expected, the whole one is to do too."""
        if not isinstance(of_whole, Prior) or not of_whole.informed:
            return super().ranked()
        mean, _ = self._posterior()
        expected = of_whole.mean + mean - self._prior.mean
        return sorted(self.seconds, key=lambda one: (-float(expected[one]), one))

    def expected(self) -> tuple[Array, Array]:
        """Logarithms of the gain of every candidate, and their standard deviations."""
        mean, covariance = self._posterior()
        return mean, np.sqrt(np.maximum(np.diag(covariance), 0.0))

    def _improvement(self, mean: Array, covariance: Array, best: int) -> Array:
        """Expected, of what one more run of each tells, over the best."""
        variance = np.diag(covariance)
        noise = self._prior.noise**2
        # How far the run moves the difference to the best one's mean.
        difference = variance - covariance[:, best]
        spread = np.abs(difference) / np.sqrt(variance + noise)
        ahead = mean - mean[best]
        # Of the best itself: that it falls behind the second.
        others = np.delete(mean, best)
        if len(others):
            second = int(np.argmax(np.where(np.arange(len(mean)) == best, -np.inf, mean)))
            ahead[best] = mean[second] - mean[best]
            own = variance[best] - covariance[second, best]
            spread[best] = abs(own) / math.sqrt(variance[best] + noise)
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(spread > 1e-12, ahead / spread, np.sign(ahead) * 40)
        density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
        value = np.asarray(ahead * ndtr(z) + spread * density)
        # That a candidate is expected to be ahead is worth nothing until it has run.
        return np.where(spread > 1e-12, value, np.maximum(ahead, 0.0))

    def _level(self) -> float:
        """The logarithm of the default's seconds, as far as it is known."""
        if not self.seconds:
            return 0.0
        mean, _ = self._posterior()
        return float(
            np.median([math.log(median(times)) + mean[one] for one, times in self.seconds.items()])
        )

    def _posterior(self) -> tuple[Array, Array]:
        count = sum(map(len, self.seconds.values()))
        if self._known is not None and self._known[0] == count:
            return self._known[1].copy(), self._known[2].copy()
        mean, covariance = self._prior.mean.copy(), self._prior.covariance.copy()
        if count:
            mean, covariance = self._conditioned(mean, covariance)
        self._known = (count, mean, covariance)
        return mean.copy(), covariance.copy()

    def _conditioned(self, mean: Array, covariance: Array) -> tuple[Array, Array]:
        ran = sorted(self.seconds)
        # The median of several runs: a tail moves it little.
        times = np.array([math.log(max(median(self.seconds[one]), 1e-9)) for one in ran])
        runs = np.array([len(self.seconds[one]) for one in ran])
        noise = self._prior.noise**2 / runs
        level = float(np.median(times + mean[ran]))
        # log seconds = level - gain + noise, with a level of wide spread.
        seen = level - times
        table = covariance[np.ix_(ran, ran)] + np.diag(noise) + _LEVEL_SPREAD**2
        gain = np.linalg.solve(table, covariance[ran, :]).T
        return mean + gain @ (seen - mean[ran]), covariance - gain @ covariance[ran, :]


def _blank(problem: Problem) -> Prior:
    return uninformed(
        [frozenset(f"{name}={value}" for name, value in one.items()) for one in problem.points]
    )
