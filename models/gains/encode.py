"""The bytes of a gain model, as a run reads them (patterndb/gains/gain_model.cpp)."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from iotune.models.gains.mechanism import Array

from iotune import core

_MAGIC = b"iotuneG2"
_LEAF = -1


@dataclass(frozen=True)
class Intervals:
    """How many spreads off each end of an interval lies."""

    floor: float  # of a spread
    # Of each way that bytes reach the storage (core.ways()): low end, high end.
    ways: tuple[tuple[float, float], ...]
    chosen: float  # low end of the best of many
    # Of what lies outside: natural logarithms, for the cost model has no spread.
    outside: tuple[float, float]
    chosen_outside: float


def encoded(prices: Array, ranges: Array, intervals: Intervals, trees: Sequence[object]) -> bytes:
    """`trees` are those of fitted scikit-learn estimators (`estimator.tree_`).

    `ranges`: low and high of the pattern's features, one row each.
    """
    roots: list[int] = []
    values: list[float] = []
    rights: list[int] = []
    inputs: list[int] = []
    for tree in trees:
        first = len(values)
        roots.append(first)
        left = np.asarray(tree.children_left)  # type: ignore[attr-defined]
        right = np.asarray(tree.children_right)  # type: ignore[attr-defined]
        feature = np.asarray(tree.feature)  # type: ignore[attr-defined]
        threshold = np.asarray(tree.threshold)  # type: ignore[attr-defined]
        answer = np.asarray(tree.value)[:, 0, 0]  # type: ignore[attr-defined]
        # Depth first, the left child behind its parent: trees that grow best first are not so.
        order: list[int] = []
        waiting = [0]
        while waiting:
            node = waiting.pop()
            order.append(node)
            if left[node] >= 0:
                waiting += [int(right[node]), int(left[node])]
        place = {node: first + at for at, node in enumerate(order)}
        for node in order:
            leaf = left[node] < 0
            values.append(float(answer[node] if leaf else threshold[node]))
            rights.append(0 if leaf else place[int(right[node])])
            inputs.append(_LEAF if leaf else int(feature[node]))
    names = core.feature_names()
    head = struct.pack(
        "<IIIIQ", len(names), len(prices), len(roots), len(values),
        _hash("".join(f"{one}\n" for one in [*names, *core.cost_term_names()]).encode()),
    )  # fmt: skip
    body = b"".join([
        _MAGIC, head,
        np.asarray(prices, "<f8").tobytes(), np.asarray(ranges, "<f8").tobytes(),
        np.asarray(
            [intervals.floor, *(x for one in intervals.ways for x in one), intervals.chosen,
             *intervals.outside, intervals.chosen_outside], "<f8",
        ).tobytes(),
        np.asarray(roots, "<u4").tobytes(), np.asarray(values, "<f8").tobytes(),
        np.asarray(rights, "<i4").tobytes(), np.asarray(inputs, "<i2").tobytes(),
    ])  # fmt: skip
    return body + struct.pack("<Q", _hash(body))


def _hash(content: bytes) -> int:
    """FNV-1a of 64 bits."""
    return int(core.checksum(content))
