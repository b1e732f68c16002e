"""Which patterns have a response surface, and which of them no model may see.

The kernels' patterns and drawn ones, at the storage's ranks. A third is held out, chosen here by
name before anything was fitted: these are judged, and were never looked at while models were made.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Any

from iotune.models.gains.ask import pattern_of
from iotune.models.survey.draw import Limits, draw_pattern

DRAWN = 30
DENSE_POINTS, SPARSE_POINTS = 240, 40


@dataclass(frozen=True)
class SurfacePattern:
    """One surface to be measured."""

    name: str
    pattern: dict[str, Any]
    datasets: int
    dense: bool
    held_out: bool

    @property
    def points(self) -> int:
        """Settings that are measured."""
        return DENSE_POINTS if self.dense else SPARSE_POINTS

    @property
    def repeats(self) -> int:
        """Of each setting: what is judged is measured more often."""
        return 5 if self.held_out else 2


# Descriptor with R for the ranks' share of a whole, bytes of an element, datasets, collective.
_KERNELS: dict[str, tuple[str, tuple[int, ...], int, int, bool]] = {
    "vpic": ("BLOCK", (1 << 20,), 4, 4, False),
    "vorpal": ("BLOCK,BLOCK,BLOCK", (60, 100, 120), 8, 2, False),
    "vorpal-collective": ("BLOCK,BLOCK,BLOCK", (60, 100, 120), 8, 2, True),
    "gcrm": ("*,*,BLOCK", (1, 1, 1 << 20), 4, 2, False),
    "flash": ("BLOCK,*,*,*", (160, 8, 8, 8), 8, 8, False),
    "column": ("*,BLOCK", (8192, 128), 8, 1, True),
    "cyclic": ("CYCLIC", (1 << 18,), 8, 1, True),
}
_DENSE = ("vorpal write", "vorpal-collective write", "column write", "column read",
          "cyclic write", "vpic write", "drawn 0", "drawn 1")  # fmt: skip


def _kernel(name: str, ranks: int, write: bool) -> tuple[dict[str, Any], int]:
    text, dims, element_bytes, datasets, collective = _KERNELS[name]
    names = text.split(",")
    grid, left = [1] * len(names), ranks
    spread = [at for at, one in enumerate(names) if one != "*"]
    while left > 1:  # twos, dealt to the longest part
        at = max(spread, key=lambda d: dims[d] / grid[d])
        grid[at] *= 2
        left //= 2
    counts = [size // parts for size, parts in zip(dims, grid)]
    names = ["*" if parts == 1 else one for one, parts in zip(names, grid)]
    descriptor = f"<{len(names)}D,({','.join(names)}),({','.join(map(str, counts))})>"
    dims = tuple(count * parts for count, parts in zip(counts, grid))
    pattern = pattern_of(descriptor, ranks, write, element_bytes, collective, grid, dims)
    return pattern, datasets


def surface_patterns(ranks: int, most_bytes: int = 32 << 20) -> list[SurfacePattern]:
    """All of one storage, in the order of their names."""
    found: list[tuple[str, dict[str, Any], int]] = []
    for name in _KERNELS:
        for op in ("write", "read"):
            found.append((f"{name} {op}", *_kernel(name, ranks, op == "write")))
    draw = random.Random(20151117)
    limits = Limits(ranks=(ranks,), most_file_bytes=most_bytes, most_pieces=8192)
    for number in range(DRAWN):
        drawn = draw_pattern(draw, limits)
        found.append((f"drawn {number}", drawn.pattern, drawn.datasets))
    names = [name for name, _, _ in found]
    held_out = set(random.Random(20151118).sample(names, len(names) // 3))
    return [
        SurfacePattern(name, pattern, datasets, name in _DENSE, name in held_out)
        for name, pattern, datasets in found
    ]


def file_bytes(one: SurfacePattern) -> int:
    """Of a file of the pattern."""
    dims = one.pattern["dataset_dims"]
    return int(math.prod(dims) * one.pattern["element_bytes"] * one.datasets)
