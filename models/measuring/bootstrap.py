"""The bootstrap interval that every claim of a gain rests on, in training and in benchmarks.

Standard library only: `iotune explain` reads gains where SciPy is not installed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TypeVar

_Item = TypeVar("_Item")


def bootstrap(
    samples: Sequence[Sequence[_Item]],
    statistic: Callable[[list[list[_Item]]], float],
    seed: int,
    confidence: float = 0.95,
    resamples: int = 2000,
) -> tuple[float, float]:
    """The ends of the percentile interval of `statistic`, Efron (1979).

    Of each sample as many items are drawn as it has, with replacement; `statistic` gets the drawn
    samples in their order. What was measured side by side has to be one item, such as a round's
    number: times of one round share the machine's state, and drawing them apart would throw away
    what pairing gained. The same seed gives the same interval. No sample may be empty.
    """
    draw = random.Random(seed)
    values = sorted(
        statistic([draw.choices(sample, k=len(sample)) for sample in samples])
        for _ in range(resamples)
    )
    return percentile(values, (1 - confidence) / 2), percentile(values, (1 + confidence) / 2)


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value below which `share` of the sorted numbers lie, interpolated."""
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])
