"""What a selection of HDF5 means for the file: its runs of bytes, the chunks that it touches."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Block = tuple[tuple[int, int, int, int], ...]  # start, stride, count, block of each dimension


def _blocks(selection: Mapping[str, Any], dims: Sequence[int]) -> list[Block]:
    """The selection as regular hyperslabs; none where it is not known in full."""
    kind = selection.get("kind")
    if kind == "all":
        return [tuple((0, 1, 1, size) for size in dims)]
    if kind == "regular":
        parts = zip(*(selection[name] for name in ("start", "stride", "count", "block")))
        return [tuple((at, step, n, size) for at, step, n, size in parts)]
    if kind == "blocks":
        return [
            tuple((low, 1, 1, high - low + 1) for low, high in zip(first, last))
            for first, last in zip(selection["first"], selection["last"])
        ]
    if kind == "points":
        return [tuple((at, 1, 1, 1) for at in point) for point in selection["points"]]
    return []


def _one_piece(part: tuple[int, int, int, int]) -> bool:
    _, stride, count, block = part
    return count == 1 or stride == block


def runs_of(selection: Mapping[str, Any], dims: Sequence[int]) -> int:
    """How many runs of neighbouring elements it has, as a contiguous dataset stores them.

    Hyperslabs of a union count by themselves, though two may touch. 0: not known.
    """
    return sum(_runs(block, dims) for block in _blocks(selection, dims))


def extent_of(selection: Mapping[str, Any], dims: Sequence[int]) -> tuple[int, ...]:
    """The size of the least box around it; () where it is not known in full."""
    blocks = _blocks(selection, dims)
    if not blocks or any(len(one) != len(dims) for one in blocks):
        return ()
    sides = []
    for parts in zip(*blocks):
        first = min(start for start, _, _, _ in parts)
        last = max(start + (count - 1) * stride + size for start, stride, count, size in parts)
        sides.append(max(0, last - first))
    return tuple(sides)


def _runs(block: Block, dims: Sequence[int]) -> int:
    runs, whole = 1, True  # whether all dimensions so far, from the fastest on, are taken in full
    for part, size in zip(reversed(block), reversed(dims)):
        _, _, count, extent = part
        if whole:
            runs = 1 if _one_piece(part) else count
            whole = _one_piece(part) and count * extent == size
        else:
            runs *= count * extent
    return runs


def chunks_of(
    selection: Mapping[str, Any], dims: Sequence[int], chunk: Sequence[int], most: int
) -> list[tuple[int, ...]] | None:
    """The chunks that it touches, by their place in the grid of chunks, rising.

    None where that is not known, or where they are more than `most`.
    """
    blocks = _blocks(selection, dims)
    if not blocks or any(len(one) != len(chunk) for one in blocks):
        return None
    found: set[tuple[int, ...]] = set()
    for block in blocks:
        rows = [_touched(part, size) for part, size in zip(block, chunk)]
        if len(found) + math.prod(len(row) for row in rows) > 2 * most:
            return None
        found.update(itertools.product(*rows))
    return sorted(found) if len(found) <= most else None


def _touched(part: tuple[int, int, int, int], size: int) -> Sequence[int]:
    """Of one dimension."""
    start, stride, count, block = part
    if count <= 0 or block <= 0:
        return ()
    if _one_piece(part) or stride - block < size:  # no gap as wide as a chunk
        return range(start // size, (start + (count - 1) * stride + block - 1) // size + 1)
    return sorted(set(_each(start, stride, count, block, size)))


def _each(start: int, stride: int, count: int, block: int, size: int) -> Iterator[int]:
    for at in range(start, start + count * stride, stride):
        yield from range(at // size, (at + block - 1) // size + 1)
