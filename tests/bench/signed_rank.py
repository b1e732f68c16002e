"""How much faster one arm is than another, by the rounds' own ratios.

A ratio of medians forgets which runs shared a round, and its interval is as wide as the machine
drifts. Here each two rounds in a row, whose arms ran in opposite orders, make one number: what the
order costs and what drifts evenly is in it once with either sign. Of these the Hodges-Lehmann
estimate is reported, the median of the means of all pairs, with the interval of Wilcoxon's signed
ranks: neither asks for a shape beyond symmetry, and a few wild runs move them little.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

from bench.paired import CONFIDENCE, Estimate

# Up to so many numbers the distribution is counted; beyond, the normal one is as good.
COUNTED = 60


def critical(count: int, tail: float) -> int | None:
    """The largest sum of ranks that is reached or undercut with a chance of `tail` at most.

    None where not even 0 is: too few numbers for any interval.
    """
    if count > COUNTED:
        mean = count * (count + 1) / 4
        spread = math.sqrt(count * (count + 1) * (2 * count + 1) / 24)
        return math.floor(mean + spread * statistics.NormalDist().inv_cdf(tail) - 0.5)
    ways = [1] + [0] * (count * (count + 1) // 2)  # sets of ranks with each sum
    for rank in range(1, count + 1):
        for total in range(len(ways) - 1, rank - 1, -1):
            ways[total] += ways[total - rank]
    allowed = tail * 2**count
    below = 0
    for total, sets in enumerate(ways):
        below += sets
        if below > allowed:
            return total - 1 if total > 0 else None
    return None


def middle(numbers: Sequence[float]) -> Estimate:
    """Where the numbers lie; an interval without ends where they are too few."""
    means = sorted(
        (one + other) / 2 for place, one in enumerate(numbers) for other in numbers[place:]
    )
    value = statistics.median(means)
    left_out = critical(len(numbers), (1 - CONFIDENCE) / 2)
    if left_out is None:
        return Estimate(value, -math.inf, math.inf)
    return Estimate(value, means[left_out], means[-1 - left_out])


def times_faster(rounds: Sequence[Mapping[str, float]], arm: str, base: str) -> Estimate | None:
    """By which `arm` is faster than `base`, of rounds whose orders alternate; None without any.

    The last one of an odd number waits for its partner.
    """
    logs = [
        math.log(one[base] / one[arm]) if arm in one and base in one else None for one in rounds
    ]
    halves = [
        (first + second) / 2
        for first, second in zip(logs[::2], logs[1::2])
        if first is not None and second is not None
    ]
    if not halves:
        return None
    found = middle(halves)
    return Estimate(math.exp(found.value), math.exp(found.low), math.exp(found.high))
