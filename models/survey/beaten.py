"""Which settings of a surface cannot be its best: they are measured no more.

An interval is a setting's mean logarithm with what luck does to it. The luck of one time is known
from the default's files, of which every replay has three, and from the setting's own repeats where
they differ by more.
"""

from __future__ import annotations

import math
from statistics import fmean, variance

from iotune.models.survey.trials import Surface

# Of one time, at least: where three files of a replay were alike by luck.
_LEAST_SPREAD = 0.02
# Standard deviations: of forty settings none is to be dropped by luck in most surfaces.
_DEVIATIONS = 3.0
_FEWEST_OWN = 3  # repeats that say what a setting's own luck is


def beaten(surface: Surface) -> set[str]:
    """Settings whose interval lies below the best's; never the default, which is compared with."""
    logs = {text: [math.log(one) for one in found] for text, found in surface.ratios().items()}
    if not logs:
        return set()
    spread = _spread_of_defaults(surface)
    bounds = {text: _bounds(found, spread) for text, found in logs.items()}
    best_low = max(low for low, _ in bounds.values())
    return {text for text, (_, high) in bounds.items() if text and high < best_low}


def _bounds(logs: list[float], spread: float) -> tuple[float, float]:
    own = math.sqrt(variance(logs)) if len(logs) >= _FEWEST_OWN else 0.0
    # The default that each was divided by is a median of three.
    beyond = _DEVIATIONS * max(spread, own) * math.sqrt((1 + 1 / 2) / len(logs))
    return fmean(logs) - beyond, fmean(logs) + beyond


def _spread_of_defaults(surface: Surface) -> float:
    """Standard deviation of the logarithm of one time of the default within its replay."""
    of_batch = {one.batch: one.default_seconds for one in surface.trials}
    found = [
        variance([math.log(max(x, 1e-9)) for x in times])
        for times in of_batch.values()
        if len(times) > 1
    ]
    return max(_LEAST_SPREAD, math.sqrt(fmean(found))) if found else _LEAST_SPREAD
