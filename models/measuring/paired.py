"""Paired measurements: every arm in every round, and what their times say of each other.

Times of storage have heavy tails and drift. So arms are compared by the ratio of their medians
over rounds that lay side by side, and a claim is made only with an interval beside it. Where few
rounds have to decide between two arms, their ranks do.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from iotune.models.measuring.bootstrap import bootstrap

_RESAMPLES = 4000
# Below, both bounds lie at the ends or are worth little.
FEWEST_UNPAIRED = 4
_ONE_SIDED_95 = 1.645  # standard deviations of a normal distribution
# Of an answer that is stored. Who is confirmed was chosen among several by some of the same rounds:
# with bounds at 95 % five of a hundred trainings in which all are equal stored a winner, with these
# less than two, and as many true gains of a tenth were found (make bench NAME=training).
STORED = 2.35
# Times within so much of each other are the same, for all that is decided by them.
AS_GOOD = 0.97


@dataclass(frozen=True)
class Gain:
    """How many times faster an arm is than the default, with the bounds of its interval."""

    ratio: float  # median of default seconds / median of the arm's seconds
    low: float
    high: float
    rounds: int

    @property
    def clears_one(self) -> bool:
        """Whether the arm is better with the confidence that was asked for."""
        return self.low > 1.0


def measure_rounds(
    arms: Mapping[str, Callable[[], float]],
    rounds: int,
    seed: int,
    done: Callable[[], None] = lambda: None,
) -> dict[str, list[float]]:
    """Run every arm once per round, each round in an order of its own; seconds by arm.

    `done` is called after every single measurement. An exception of an arm ends it all.
    """
    order = random.Random(seed)
    times: dict[str, list[float]] = {name: [] for name in arms}
    for _ in range(rounds):
        names = list(arms)
        order.shuffle(names)
        for name in names:
            times[name].append(arms[name]())
            done()
    return times


def compare(
    default: Sequence[float], candidate: Sequence[float], seed: int, comparisons: int = 1
) -> Gain:
    """The gain of `candidate`, by a bootstrap over whole rounds.

    Rounds are drawn, not times, because the two times of a round shared the machine's mood.
    The interval holds at 95 % for all of `comparisons` candidates together (Bonferroni): the
    best of a dozen would otherwise look good by luck.
    Raises ValueError where there are no rounds or their numbers differ.
    """
    _check_rounds(default, candidate)

    def ratio(drawn: Sequence[Sequence[int]]) -> float:
        (rounds,) = drawn
        return statistics.median(default[at] for at in rounds) / statistics.median(
            candidate[at] for at in rounds
        )

    rounds = range(len(default))
    confidence = 1 - 0.05 / max(1, comparisons)
    low, high = bootstrap([rounds], ratio, seed, confidence, _RESAMPLES)
    return Gain(ratio([rounds]), low, high, len(default))


def compare_ranks(
    default: Sequence[float], candidate: Sequence[float], deviations: float = _ONE_SIDED_95
) -> Gain:
    """The gain of one `candidate`, by how often its times lie below the default's.

    The ratio is the median of the ratios of all pairs of times. Each bound holds at 95 %, or as
    surely as a normal distribution has what lies within so many `deviations`: the interval by ranks
    of Hodges and Lehmann (1963), from the normal approximation of Mann and Whitney's U. One slow
    run of six moves a bootstrap of medians below 1, and this by one rank; a drift only widens it.
    Raises ValueError where there are no rounds or their numbers differ.
    """
    _check_rounds(default, candidate)
    ratios = sorted(one / other for one in default for other in candidate)
    count = len(default)
    spread = math.sqrt(count * count * (2 * count + 1) / 12)
    # The half keeps the bound's promise down to three rounds, where U takes few values.
    beyond = max(0, math.floor(len(ratios) / 2 - deviations * spread - 0.5))
    return Gain(statistics.median(ratios), ratios[beyond], ratios[-1 - beyond], count)


def compare_unpaired(default: Sequence[float], candidate: Sequence[float]) -> Gain | None:
    """The gain of runs that were not measured side by side, numbers of either may differ.

    As compare_ranks(); None below FEWEST_UNPAIRED runs of either, whose interval would say nothing.
    """
    n, m = len(default), len(candidate)
    if min(n, m) < FEWEST_UNPAIRED:
        return None
    ratios = sorted(one / other for one in default for other in candidate)
    spread = math.sqrt(n * m * (n + m + 1) / 12)
    beyond = max(0, math.floor(len(ratios) / 2 - _ONE_SIDED_95 * spread - 0.5))
    return Gain(statistics.median(ratios), ratios[beyond], ratios[-1 - beyond], min(n, m))


def _check_rounds(default: Sequence[float], candidate: Sequence[float]) -> None:
    if len(default) != len(candidate) or not default:
        raise ValueError("both arms need the same number of rounds, at least one")
