"""Which patterns have a response surface, and which of them no model may see.

Twenty: what the papers' kernels do, the kinds of pattern where settings are worth most (pieces from
one byte on, dealt out one by one, columns, chunks, what lies aligned to nothing), and drawn ones.
Half of them are held out (surfaces/held_out.txt): of each two neighbours in this list one, drawn
before anything was measured. The file also names what is held out of the older surfaces.
"""

from __future__ import annotations

import functools
import math
import random
from dataclasses import dataclass, replace
from typing import Any

from iotune.models.gains.ask import pattern_of
from iotune.models.survey.draw import Limits, draw_pattern

from support.repository import TESTS

SURFACES = TESTS / "bench" / "training" / "surfaces"
_DRAWN = 5


@dataclass(frozen=True)
class SurfacePattern:
    """One surface to be measured."""

    name: str
    pattern: dict[str, Any]
    datasets: int


@dataclass(frozen=True)
class _Shape:
    """A dataset that ranks share, whatever their number."""

    names: str
    dims: tuple[int, ...]
    element_bytes: int
    datasets: int = 1
    chunk: tuple[int, ...] = ()
    more: int = 1  # so many times longer beside the others, where requests cost microseconds

    def longer(self, times: int) -> _Shape:
        """The same pieces, more of them."""
        if times == 1:
            return self
        at = next(d for d, extent in enumerate(self.dims) if extent > 1)
        dims = list(self.dims)
        dims[at] *= times * self.more
        return replace(self, dims=tuple(dims))


# Of as many bytes that a storage which takes a third of a millisecond for a request has a file of
# them within seconds, piece by piece too.
_SHAPES = {
    "vpic": _Shape("BLOCK", (1 << 18,), 4, 8),
    "vorpal": _Shape("BLOCK,BLOCK,BLOCK", (32, 64, 96), 8, 2),
    "gcrm": _Shape("*,*,BLOCK", (1, 4, 1 << 18), 4, 2),
    "flash": _Shape("BLOCK,*,*,*", (160, 8, 8, 8), 8, 12),
    "column": _Shape("*,BLOCK", (512, 2048), 8),
    "narrow column": _Shape("*,BLOCK", (512, 64), 8, more=8),
    "cyclic": _Shape("CYCLIC", (1 << 12,), 8, more=8),
    "cyclic bytes": _Shape("CYCLIC", (1 << 12,), 1, more=16),
    "cyclic blocks": _Shape("CYCLIC(32)", (1 << 16,), 8, more=4),
    "chunked rows": _Shape("*,BLOCK", (256, 4096), 8, 1, (32, 1024)),
    "unaligned": _Shape("BLOCK", (16 * 65537,), 4, 2),
}
_WANTED = (
    ("vpic", "write", False), ("vorpal", "write", False), ("vorpal", "write", True),
    ("gcrm", "write", True), ("flash", "write", False), ("column", "write", True),
    ("column", "read", False), ("narrow column", "write", False), ("narrow column", "read", True),
    ("cyclic", "write", False), ("cyclic", "read", False), ("cyclic bytes", "write", True),
    ("cyclic blocks", "write", False), ("chunked rows", "read", False),
    ("unaligned", "write", True),
)  # fmt: skip


def _grid(one: _Shape, ranks: int) -> list[int]:
    """Twos, dealt to the longest part."""
    names = one.names.split(",")
    grid, left = [1] * len(names), ranks
    spread = [at for at, name in enumerate(names) if name != "*"]
    while left > 1:
        at = max(spread, key=lambda d: one.dims[d] / grid[d])
        grid[at] *= 2
        left //= 2
    return grid


def _pattern(one: _Shape, ranks: int, op: str, collective: bool) -> dict[str, Any]:
    grid = _grid(one, ranks)
    names = [
        "*" if parts == 1 else name for name, parts in zip(one.names.split(","), grid)
    ]  # fmt: skip
    counts = [size // parts for size, parts in zip(one.dims, grid)]
    descriptor = f"<{len(names)}D,({','.join(names)}),({','.join(map(str, counts))})>"
    dims = [count * parts for count, parts in zip(counts, grid)]
    return pattern_of(
        descriptor, ranks, op == "write", one.element_bytes, collective, grid, dims, one.chunk
    )


def surface_patterns(ranks: int, longer: int = 1) -> list[SurfacePattern]:
    """All of a storage with so many ranks, a power of two, and files so many times longer."""
    shapes = {name: shape.longer(longer) for name, shape in _SHAPES.items()}
    found = [
        SurfacePattern(
            f"{shape}, {op}, {'collective' if collective else 'independent'}",
            _pattern(shapes[shape], ranks, op, collective),
            shapes[shape].datasets,
        )
        for shape, op, collective in _WANTED
    ]
    draw = random.Random(20251129)
    limits = Limits(
        ranks=(ranks,), least_file_bytes=longer << 16, most_file_bytes=longer << 23,
        most_pieces=512 * longer, least_piece_bytes=1,
    )  # fmt: skip
    for number in range(_DRAWN):
        drawn = draw_pattern(draw, limits)
        found.append(SurfacePattern(f"drawn anew {number}", drawn.pattern, drawn.datasets))
    return found


@functools.cache
def held_out() -> frozenset[str]:
    """Names of the patterns that judge, of all storages."""
    return frozenset((SURFACES / "held_out.txt").read_text().splitlines())


def file_bytes(one: SurfacePattern) -> int:
    """Of a file of the pattern."""
    dims = one.pattern["dataset_dims"]
    return int(math.prod(dims) * one.pattern["element_bytes"] * one.datasets)
