"""Head and tail of response times, split at a pivot and fitted separately (PDSW'15, section 4.2).

The pivot is the response time at which the fitted head and tail together lie nearest to the sample:
the largest distance of the two cumulative distribution functions (Kolmogorov and Smirnov) is least.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from iotune.models.latency.families import (
    HEAD,
    TAIL,
    Array,
    Family,
    Fitted,
    Interval,
    fit,
)

# Larger samples are first split as so many points, each of which represents several samples.
_POINTS = 400
_COARSE_PIVOTS = 32
_FINE_PIVOTS = 17
# A group of fewer samples says nothing of its family.
FEWEST_IN_A_GROUP = 20
# The coarse search ends at these fractions of the sample.
_LOWEST_FRACTION, _HIGHEST_FRACTION = 0.2, 0.998


@dataclass(frozen=True)
class Partition:
    """A sample in two groups with the families that fit them best by Kolmogorov-Smirnov."""

    pivot_seconds: float
    tail_share: float  # of the samples
    head: Fitted
    tail: Fitted
    distance: float  # Kolmogorov-Smirnov, of the whole sample

    def log_density(self, x: Array) -> Array:
        """Natural logarithm of the mixture's density at each x."""
        result = np.empty_like(x)
        in_tail = x >= self.pivot_seconds
        result[in_tail] = self.tail.log_density(x[in_tail]) + math.log(self.tail_share)
        result[~in_tail] = self.head.log_density(x[~in_tail]) + math.log1p(-self.tail_share)
        return result


def split(seconds: Array) -> Partition | None:
    """Split a sample of response times at the pivot of least Kolmogorov-Smirnov distance.

    Coarse to fine: first over a few pivots with every family on at most 400 points, then over the
    sample's own values around the best one. Of pivots that the distance cannot tell apart the
    likeliest is taken. None where the sample is too small for two groups.
    """
    x = np.sort(np.asarray(seconds, dtype=float))
    if len(x) < 2 * FEWEST_IN_A_GROUP or x[0] == x[-1]:
        return None
    points, weights = _condensed(x)
    coarse = [
        one
        for at in _coarse_places(points, weights)
        if (one := _best_at(points, weights, at, HEAD, TAIL)) is not None
    ]
    if not coarse:
        return None
    by_distance = sorted(coarse, key=lambda one: one.distance)
    best: Partition | None = None
    for guess in _distinct(by_distance):
        found = _refined(x, guess, by_distance)
        if found is not None and (best is None or _is_nearer(x, found, best)):
            best = found
    return best


def _condensed(x: Array) -> tuple[Array, Array]:
    """At most _POINTS means of neighbours, finer in the upper tenth, and their numbers."""
    if len(x) <= _POINTS:
        return x, np.ones(len(x))
    fractions = np.concatenate(
        [
            np.linspace(0, 0.9, _POINTS // 2 + 1)[:-1],
            1 - np.geomspace(0.1, 1 / len(x), _POINTS // 2),
        ]
    )
    edges = np.unique(np.concatenate([[0], np.round(fractions * len(x)).astype(int), [len(x)]]))
    sums = np.add.reduceat(x, edges[:-1])
    counts = np.diff(edges).astype(float)
    return sums / counts, counts


def _coarse_places(points: Array, weights: Array) -> list[int]:
    """Where the tail may begin, as indices of points: even in fractions, then towards the end."""
    below = np.cumsum(weights) / weights.sum()
    fractions = np.concatenate(
        [
            np.linspace(_LOWEST_FRACTION, 0.9, _COARSE_PIVOTS // 2),
            1 - np.geomspace(0.1, 1 - _HIGHEST_FRACTION, _COARSE_PIVOTS // 2),
        ]
    )
    return sorted({int(np.searchsorted(below, one)) + 1 for one in fractions})


def _best_at(
    x: Array, weights: Array, at: int, heads: Sequence[Family], tails: Sequence[Family]
) -> Partition | None:
    """The best families where x[at] begins the tail; None where a group is too small."""
    total = float(weights.sum())
    in_head = float(weights[:at].sum())
    if at >= len(x) or in_head < FEWEST_IN_A_GROUP or total - in_head < FEWEST_IN_A_GROUP:
        return None
    pivot = float(x[at])
    if pivot <= 0 or x[at - 1] == pivot or x[0] == x[at - 1] or pivot == x[-1]:
        return None
    share = (total - in_head) / total
    head, head_distance = _nearest(heads, x[:at], weights[:at], Interval(high=pivot))
    tail, tail_distance = _nearest(tails, x[at:], weights[at:], Interval(low=pivot))
    distance = max(head_distance * (1 - share), tail_distance * share)
    return Partition(pivot, share, head, tail, distance)


def _nearest(
    families: Sequence[Family], x: Array, weights: Array, interval: Interval
) -> tuple[Fitted, float]:
    ends = np.cumsum(weights) / weights.sum()
    middles = ends - weights / (2 * weights.sum())
    best: tuple[Fitted, float] | None = None
    for family in families:
        fitted = fit(family, x, weights, interval, quick=True)
        distance = float(np.max(np.abs(fitted.below(x) - middles)))
        if best is None or distance < best[1]:
            best = (fitted, distance)
    assert best is not None
    return best


def _distinct(by_distance: Sequence[Partition]) -> list[Partition]:
    """The best of each pair of families among the nearest pivots."""
    found: dict[tuple[str, str], Partition] = {}
    for one in by_distance:
        if one.distance > 2 * by_distance[0].distance + 0.002:
            break
        found.setdefault((one.head.name, one.tail.name), one)
    return list(found.values())[:4]


def _refined(x: Array, guess: Partition, coarse: Sequence[Partition]) -> Partition | None:
    """The pivot among the sample's own values between the guess's coarse neighbours."""
    pivots = sorted(one.pivot_seconds for one in coarse)
    at = pivots.index(guess.pivot_seconds)
    low = pivots[max(at - 2, 0)]
    high = pivots[min(at + 2, len(pivots) - 1)]
    first, last = (int(place) for place in np.searchsorted(x, [low, high]))
    heads, tails = [guess.head.family], [guess.tail.family]
    weights = np.ones(len(x))
    tried: dict[int, Partition] = {}
    # Narrower around the best one, until the pivots are neighbours among the samples.
    while True:
        places = np.unique(np.linspace(first, max(last, first + 1), _FINE_PIVOTS).astype(int))
        for place in map(int, places):
            if place not in tried:
                one = _best_at(x, weights, place, heads, tails)
                if one is not None:
                    tried[place] = one
        if not tried:
            return None
        best = _likeliest_of_near(x, list(tried.values()))
        step = (last - first) // (_FINE_PIVOTS - 1)
        if step <= 1:
            return best
        middle = int(np.searchsorted(x, best.pivot_seconds))
        first, last = max(middle - step, 1), min(middle + step, len(x) - 1)


def _likeliest_of_near(x: Array, tried: Sequence[Partition]) -> Partition:
    """Of the pivots whose distance is within the sample's noise of the least, the likeliest."""
    least = min(one.distance for one in tried)
    noise = 0.5 / math.sqrt(len(x))
    near = [one for one in tried if one.distance <= least + noise]
    return max(near, key=lambda one: float(one.log_density(x).sum()))


def _is_nearer(x: Array, one: Partition, other: Partition) -> bool:
    noise = 0.5 / math.sqrt(len(x))
    if abs(one.distance - other.distance) > noise:
        return one.distance < other.distance
    return float(one.log_density(x).sum()) > float(other.log_density(x).sum())
