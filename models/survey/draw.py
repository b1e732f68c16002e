"""Patterns drawn at random: decompositions, sizes and modes that no program here has yet.

A survey measures these so that a new program's pattern lies among known ones.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_MIB = 1 << 20
_DRAWN_DOUBLINGS = 6
_KINDS = ("dealt", "columns", "dealt", "columns", "chunked", "unaligned")
# In each of these ways all kinds are drawn, then in the next. The first files are small, and tell
# less of what is worth most: collective writes.
_WAYS = (
    ("read", "collective"), ("write", "collective"), ("write", "independent"),
    ("write", "collective"), ("read", "independent"),
)  # fmt: skip


@dataclass(frozen=True)
class Limits:
    """Between what patterns are drawn. Bytes are those of a whole file."""

    ranks: tuple[int, ...] = (2,)
    least_file_bytes: int = 2 * _MIB
    most_file_bytes: int = 32 * _MIB
    most_datasets: int = 4
    # A rank's share of a dataset in pieces: each is a system call where nothing joins them.
    most_pieces: int = 16384
    # Of what draw_rewarding() draws, as far as a file has the bytes: programs have a million.
    most_rewarding_pieces: int = 1 << 20
    least_piece_bytes: int = 16


@dataclass(frozen=True)
class Drawn:
    """A pattern as the database has it, and on how many datasets of a file."""

    pattern: dict[str, Any]
    datasets: int


def draw_rewarding(draw: random.Random, limits: Limits, number: int) -> Drawn:
    """One pattern of a kind whose settings are worth most where any are: pieces from one byte on.

    Elements dealt out one by one or in blocks, columns, chunks that ranks share, blocks that begin
    anywhere. Which of these, and whether it writes and is collective, the `number` says: from 0 on,
    so that a short survey has seen each. It may be smaller than the limits say.
    """
    ranks = draw.choice(limits.ranks)
    kind = _KINDS[number % len(_KINDS)]
    op, mode = _WAYS[number // len(_KINDS) % len(_WAYS)]
    datasets = draw.choice([n for n in (1, 1, 2) if n <= limits.most_datasets])
    most_bytes = limits.most_file_bytes / datasets / ranks  # of a rank's share of a dataset
    element_bytes = draw.choice((1, 2, 4, 8, 8, 16))
    chunk: list[int] = []
    if kind == "dealt":
        run = draw.choice((1, 1, 1, 8, 64))
        most_runs = min(most_bytes / element_bytes / run, limits.most_rewarding_pieces)
        count = run * max(2, int(2 ** draw.uniform(*_doublings(6, most_runs))))
        names, grid = ["CYCLIC" if run == 1 else f"CYCLIC({run})"], [ranks]
        counts, dims = [count], [count * ranks]
    elif kind == "unaligned":
        most = max(2.0, most_bytes / element_bytes)
        count = max(3, int(2 ** draw.uniform(math.log2(most) / 2, math.log2(most)))) | 1
        names, grid, counts, dims = ["BLOCK"], [ranks], [count], [count * ranks]
    else:
        element_bytes = max(4, element_bytes)
        most_rows = min(most_bytes / element_bytes, limits.most_rewarding_pieces)
        least, most_doublings = _doublings(5, most_rows)
        rows = 2 ** draw.randint(math.ceil(least), max(math.ceil(least), int(most_doublings)))
        most = max(2.0, most_bytes / element_bytes / rows)
        width = max(1, int(2 ** draw.uniform(0, min(9.0, math.log2(most)))))
        names, grid, counts, dims = ["*", "BLOCK"], [1, ranks], [rows, width], [rows, width * ranks]
        if kind == "chunked":  # a row of chunks is wider than what one rank has of it
            chunk = [max(1, rows // draw.choice((2, 4, 8))), width * ranks]
    if chunk and op == "write":
        mode = "collective"  # who writes a part of a chunk by itself reads it before
    shape = _Shape(names, counts, dims, grid, chunk)
    return _drawn(shape, element_bytes, op, mode, datasets)


def _doublings(least: int, most: float) -> tuple[float, float]:
    """Between what logarithms to the base 2 a number of pieces is drawn, as `most` allows.

    Few pieces are drawn while files are small: of large ones they would say the same once more.
    """
    high = max(float(least), math.log2(max(2.0, most)))
    return max(float(least), high - _DRAWN_DOUBLINGS), high


def draw_pattern(draw: random.Random, limits: Limits) -> Drawn:
    """One pattern within the limits. All ranks hold parts of equal size."""
    while True:
        found = _attempt(draw, limits)
        if found is not None:
            return found


def _attempt(draw: random.Random, limits: Limits) -> Drawn | None:
    ranks = draw.choice(limits.ranks)
    element_bytes = draw.choice((4, 8, 8, 16, 32))
    datasets = draw.choice([n for n in (1, 1, 2, 4, 8) if n <= limits.most_datasets])
    low, high = math.log2(limits.least_file_bytes), math.log2(limits.most_file_bytes)
    elements = 2 ** draw.uniform(low, high) / datasets / element_bytes
    n = draw.choice((1, 2, 2, 3, 3))
    grid = _factorised(draw, ranks, n)
    names, dims, counts = [], [], []
    for parts, extent in zip(grid, _extents(draw, elements, n)):
        name, size, count = _axis(draw, parts, extent)
        names.append(name)
        dims.append(size)
        counts.append(count)
    pieces, piece_bytes = _pieces(names, dims, counts, element_bytes)
    if pieces > limits.most_pieces or piece_bytes < limits.least_piece_bytes:
        return None
    file_bytes = math.prod(dims) * element_bytes * datasets
    if not limits.least_file_bytes / 2 <= file_bytes <= limits.most_file_bytes * 2:
        return None
    write = draw.random() < 0.6
    chunk: list[int] = []
    if draw.random() < (0.2 if write else 0.4):
        # Parts of a rank's share, so that ranks that write have no chunk in common.
        chunk = [max(1, count // draw.choice((1, 1, 2, 4))) for count in counts]
        if any(name.startswith("CYCLIC") for name in names):
            chunk = []
        if chunk and math.prod(chunk) * element_bytes < 4096:
            chunk = []
    mode = draw.choice(("collective", "independent")) if ranks > 1 else "independent"
    shape = _Shape(names, counts, dims, grid, chunk)
    return _drawn(shape, element_bytes, "write" if write else "read", mode, datasets)


@dataclass(frozen=True)
class _Shape:
    """Distributions, a part's counts, the dataset's extents, the grid of ranks and a chunk's."""

    names: Sequence[str]
    counts: Sequence[int]
    dims: list[int]
    grid: list[int]
    chunk: list[int]


def _drawn(shape: _Shape, element_bytes: int, op: str, mode: str, datasets: int) -> Drawn:
    distributions, counts = ",".join(shape.names), ",".join(map(str, shape.counts))
    ranks = math.prod(shape.grid)
    pattern = {
        "descriptor": f"<{len(shape.names)}D,({distributions}),({counts})>",
        "op": op,
        "element_bytes": element_bytes,
        "ranks": ranks,
        "grid": shape.grid,
        "mode": mode if ranks > 1 else "independent",
        "chunk": shape.chunk,
        "filters": 0,
        "dataset_dims": shape.dims,
    }
    return Drawn(pattern, datasets)


def _factorised(draw: random.Random, ranks: int, n: int) -> list[int]:
    """A process grid of n dimensions with so many ranks in all."""
    grid = [1] * n
    left, factor = ranks, 2
    while left > 1:
        while left % factor:
            factor += 1
        grid[draw.randrange(n)] *= factor
        left //= factor
    return grid


def _extents(draw: random.Random, elements: float, n: int) -> list[float]:
    shares = [draw.random() + 0.15 for _ in range(n)]
    return [max(1.0, elements ** (share / sum(shares))) for share in shares]


def _axis(draw: random.Random, parts: int, extent: float) -> tuple[str, int, int]:
    """Distribution, size and count of one dimension: of a part where there are several."""
    part = max(1, round(extent / parts))
    if parts == 1:
        return "*", part, part
    kind = draw.choice(("BLOCK", "BLOCK", "BLOCK", "CYCLIC", "CYCLIC(k)"))
    if kind == "CYCLIC(k)" and part >= 4:
        run = 2 ** draw.randint(1, max(1, int(math.log2(part)) - 1))
        part = max(run, part // run * run)
        return f"CYCLIC({run})", part * parts, part
    if kind == "CYCLIC" and part >= 2:
        return "CYCLIC", part * parts, part
    return "BLOCK", part * parts, part


def _pieces(
    names: Sequence[str], dims: Sequence[int], counts: Sequence[int], element_bytes: int
) -> tuple[int, int]:
    """Of a rank's share of a dataset: pieces without a gap, and the bytes of one."""
    piece, pieces, whole = element_bytes, 1, True
    for name, size, count in zip(reversed(names), reversed(dims), reversed(counts)):
        run = count
        if name.startswith("CYCLIC"):
            run = int(name[7:-1]) if name.endswith(")") else 1
        if whole:
            piece *= run
            pieces *= count // run
            whole = run == size
        else:
            pieces *= count
    return pieces, piece
