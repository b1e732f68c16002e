"""How wide intervals are: by how far answers were off for patterns that no tree had seen.

Split conformal prediction by pattern. Each way that bytes reach the storage has a width of its own,
for what settings do to an exchange is known better than what a sieve does; where few patterns went
a way, all together say how wide it is. The best of many candidates is often one that was expected
too much of, so its lower bound comes from choices: the best of each left-out pattern, of those
where a run would take it or most was expected. Too few of these bound nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from iotune.models.gains.encode import Intervals
from iotune.models.gains.mechanism import Array
from iotune.models.gains.rows import Rows
from iotune.models.measuring.race import WORTHWHILE

from iotune import core

COVERAGE = 0.90
_WAYS = 4
_FEWEST_OF_A_WAY = 6  # patterns
_UNBOUNDED = 1e6  # spreads
# Of logarithms of gains: settings that do the same are expected to gain the same.
_AS_MUCH = 0.01
# Of so many the second lowest counts: one alone decides no bound.
_FEWEST_CHOICES = 19


def calibrated(rows: Rows, left_out: Array) -> Intervals:
    """`left_out`: mean, spread and the cost model's own answer for each row, its pattern unseen.

    Outside of what was learnt the cost model answers alone, and has a width of its own.
    """
    off = rows.log_gain - left_out[:, 0]
    floor = float(max(np.median(left_out[:, 1]) / 4, 1e-3))
    scaled = off / np.hypot(left_out[:, 1], floor)
    ways = np.array(core.ways(rows.features.tolist(), rows.default.tolist()))
    of_all = _scales(scaled, rows.weight)
    found = []
    for way in range(_WAYS):
        of_way = ways == way
        enough = len(np.unique(rows.group[of_way])) >= _FEWEST_OF_A_WAY
        found.append(_scales(scaled[of_way], rows.weight[of_way]) if enough else of_all)
    own = rows.log_gain - left_out[:, 2]
    return Intervals(
        floor, tuple(found), _scale_of_choices(rows, left_out[:, 0], scaled),
        _scales(own, rows.weight), _scale_of_choices(rows, left_out[:, 2], own),
    )  # fmt: skip


def _scale_of_choices(rows: Rows, expected: Array, scaled: Array) -> float:
    """Of ten patterns' best candidates nine lie above so many spreads below what was expected.

    Candidates of which as much is expected are one choice: the median of theirs, because each alone
    was measured once or twice, and its luck is not the model's. Where a run would take few, those
    count too of which most was expected.
    """
    choices: list[tuple[float, float]] = []  # what was expected, how far it was off
    for group in np.unique(rows.group):
        of = np.flatnonzero(rows.group == group)
        best = float(expected[of].max())
        equals = of[expected[of] >= best - _AS_MUCH]
        choices.append((best, float(np.median(scaled[equals]))))
    choices.sort(reverse=True)
    taken = sum(best >= math.log(WORTHWHILE) for best, _ in choices)
    return max(0.0, -_low_end([off for _, off in choices[: max(taken, _FEWEST_CHOICES)]]))


def _low_end(values: Sequence[float]) -> float:
    """The conformal quantile; of too few values, which promise nothing, far below all."""
    at = math.floor((len(values) + 1) * (1 - COVERAGE) + 1e-9) - 1
    return sorted(values)[at] if at >= 0 else -_UNBOUNDED


def _scales(scaled: Array, weight: Array) -> tuple[float, float]:
    low, high = _weighted_quantiles(scaled, weight, [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2])
    return float(max(-low, 0.0)), float(max(high, 0.0))


def _weighted_quantiles(values: Array, weight: Array, at: list[float]) -> Array:
    order = np.argsort(values)
    below = (np.cumsum(weight[order]) - weight[order] / 2) / weight.sum()
    return np.asarray(np.interp(at, below, values[order]))
