"""Which rank holds which part of a dataset, as a picture's cells.

From the selections that were recorded, where a few calls of each rank are all that a rank did; else
from the descriptor, whose places then have numbers of their own: a descriptor does not say which
rank has which place.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from iotune import core
from iotune.traces.call_filter import call_filter
from iotune.traces.call_meaning import meaning_of
from iotune.traces.calls import CallReader
from iotune.traces.summary import DatasetPattern

CELLS = 72  # of a picture's side
NOBODY, SEVERAL = -1, -2
_MOST_CALLS = 20_000  # that are looked at for selections
_MOST_RANKS = 1024
_MOST_SLICES = 3
_MOST_SELECTIONS = 512  # of a rank and dataset; with more of them the descriptor is drawn
_WINDOW_BLOCKS = 24  # pieces along a side, where the whole would be too fine to draw


@dataclass
class Window:
    """The part of a dataset that is drawn: `size` elements a dimension, from its beginning."""

    dims: tuple[int, ...]
    size: tuple[int, ...]

    @property
    def is_whole(self) -> bool:
        """Whether that is all of the dataset."""
        return self.dims == self.size


@dataclass
class Shares:
    """Cells of one to three of a dataset's dimensions; the others are looked at in their middle."""

    window: Window
    drawn: tuple[int, ...]  # which dimensions
    # [slice, row, column] of owners: an index into `names`, NOBODY or SEVERAL.
    cells: np.ndarray
    slices: tuple[int, ...]  # which index of the first drawn dimension each slice lies at
    more_slices: int  # different ones that are not shown
    names: tuple[str, ...]
    recorded: bool  # from selections; else from the descriptor


@dataclass
class Selections:
    """What each rank selected of each dataset: the first calls of a trace."""

    # (file, dataset, written) to rank to selections, as JSON, each once
    found: dict[tuple[str, str, bool], dict[int, dict[str, None]]] = field(default_factory=dict)
    whole: bool = True  # all transfers of the run were looked at


def selections_of(path: Path) -> Selections:
    """Read the selections of a trace's first transfers of HDF5."""
    columns = ("rank", "call", "file", "dataset", "selection")
    reader = CallReader(path, call_filter(layer="hdf5", call="H5D*"), columns, _MOST_CALLS)
    result = Selections()
    rows = 0
    for batch in reader:
        rows += batch.rows
        for rank, call, file, dataset, text in zip(*(batch.values(one) for one in columns)):
            meaning = meaning_of(call)
            if text is None or dataset is None or not meaning.transfer:
                continue
            of_rank = result.found.setdefault((file, dataset, meaning.writes), {})
            held = of_rank.setdefault(rank, {})
            if len(held) <= _MOST_SELECTIONS:
                held[text] = None
    result.whole = rows < _MOST_CALLS
    return result


def shares_of(pattern: DatasetPattern, path: str, selections: Selections) -> Shares | None:
    """The picture of a dataset's decomposition; None where nothing can be drawn."""
    of_rank = selections.found.get((path, pattern.dataset, pattern.write), {})
    known = selections.whole or (len(of_rank) == pattern.ranks and pattern.repeats > 1)
    dims = tuple(pattern.dataset_dims)
    few = len(of_rank) <= _MOST_RANKS and all(
        len(held) <= _MOST_SELECTIONS for held in of_rank.values()
    )
    if of_rank and known and dims and not pattern.inferred and few:
        parsed = {rank: [json.loads(one) for one in held] for rank, held in of_rank.items()}
        found = _from_selections(pattern, parsed)
        if found is not None:
            return found
    return _from_descriptor(pattern)


def _from_selections(
    pattern: DatasetPattern, of_rank: Mapping[int, list[dict[str, Any]]]
) -> Shares | None:
    dims = tuple(pattern.dataset_dims)
    kinds = {one["kind"] for held in of_rank.values() for one in held}
    if not kinds <= {"all", "regular", "none", "blocks"}:
        return None
    together = [one for held in of_rank.values() for one in held if one["kind"] == "regular"]
    if any(len(one["start"]) != len(dims) for one in together):
        return None
    window = _window(dims, [_finest(dims, together, at) for at in range(len(dims))])
    drawn = _drawn(dims, pattern.process_grid)
    axes = _axes(window, drawn)
    ranks = sorted(of_rank)
    cells = np.full(tuple(len(axes[at]) for at in drawn), NOBODY, np.int32)
    for owner, rank in enumerate(ranks):
        held = np.zeros(cells.shape, bool)
        for selection in of_rank[rank]:
            for masks in _masks(selection, axes):
                if all(bool(mask.any()) for mask in masks):
                    held |= _product([masks[at] for at in drawn])
        cells = np.where(held, np.where(cells == NOBODY, owner, SEVERAL), cells)
    names = tuple(str(rank) for rank in ranks)
    return Shares(window, drawn, *_sliced(cells, axes[drawn[0]]), names, True)


def _finest(dims: tuple[int, ...], selections: Sequence[dict[str, Any]], at: int) -> int:
    """Elements of the shortest piece along a dimension."""
    pieces = [dims[at]]
    for one in selections:
        block, count, stride = one["block"][at], one["count"][at], one["stride"][at]
        pieces.append(block * count if count == 1 or stride == block else block)
    return max(1, min(pieces))


def _window(dims: tuple[int, ...], finest: Sequence[int]) -> Window:
    size = tuple(
        dim if dim <= CELLS or dim / fine <= CELLS // 2 else min(dim, fine * _WINDOW_BLOCKS)
        for dim, fine in zip(dims, finest)
    )
    return Window(dims, size)


def _drawn(dims: tuple[int, ...], grid: Sequence[int]) -> tuple[int, ...]:
    """The dimensions to draw: those that are divided, and others as far as there is room."""
    if len(dims) <= 2:
        return tuple(range(len(dims)))
    divided = [at for at, places in enumerate(grid) if places > 1] if grid else []
    if not divided:
        return tuple(range(3))
    chosen = divided[:3]
    for at in reversed(range(len(dims))):  # the fastest of the others
        if len(chosen) < 2 and at not in chosen:
            chosen.append(at)
    return tuple(sorted(chosen))


def _axes(window: Window, drawn: Sequence[int]) -> list[np.ndarray]:
    """The indices that are looked at: cells' middles, of dimensions not drawn one in the middle."""
    axes = []
    for at, size in enumerate(window.size):
        count = min(CELLS, size) if at in drawn else 1
        axes.append(((np.arange(count) + 0.5) * size / count).astype(np.int64))
    return axes


def _sliced(cells: np.ndarray, axis: np.ndarray) -> tuple[np.ndarray, tuple[int, ...], int]:
    """Cells as [slice, row, column], where they lie, and how many more slices there are.

    Of three dimensions only slices that differ from the one before, the first few.
    """
    if cells.ndim < 3:
        return cells.reshape((1,) * (3 - cells.ndim) + cells.shape), (0,), 0
    differs = [0] + [
        at for at in range(1, len(cells)) if not np.array_equal(cells[at], cells[at - 1])
    ]
    shown = differs[:_MOST_SLICES]
    return cells[shown], tuple(int(axis[at]) for at in shown), len(differs) - len(shown)


def _masks(selection: dict[str, Any], axes: list[np.ndarray]) -> list[list[np.ndarray]]:
    """Of each box of a selection which indices of every axis it has."""
    if selection["kind"] == "none":
        return []
    if selection["kind"] == "all":
        return [[np.ones(axis.size, bool) for axis in axes]]
    if selection["kind"] == "blocks":
        return [
            [(axis >= low) & (axis <= high) for axis, low, high in zip(axes, first, last)]
            for first, last in zip(selection["first"], selection["last"])
            if len(first) == len(axes)
        ]
    masks = []
    for at, axis in enumerate(axes):
        start, stride = selection["start"][at], max(1, selection["stride"][at])
        count, block = selection["count"][at], selection["block"][at]
        behind = axis - start
        masks.append((behind >= 0) & (behind % stride < block) & (behind // stride < count))
    return [masks]


def _product(masks: Sequence[np.ndarray]) -> np.ndarray:
    result = masks[0]
    for mask in masks[1:]:
        result = result[..., None] & mask
    return np.asarray(result)


def _from_descriptor(pattern: DatasetPattern) -> Shares | None:
    if not pattern.process_grid or not pattern.descriptor:
        return None
    dimensions = core.parse_descriptor(pattern.descriptor)["dimensions"]
    grid = tuple(pattern.process_grid)
    dims = tuple(pattern.dataset_dims) or tuple(
        one["count"] * places for one, places in zip(dimensions, grid)
    )
    halo = tuple(pattern.halo) or (0,) * len(grid)
    if len(dims) != len(grid) or any(dim <= 0 for dim in dims):
        return None
    # Ranks that moved a part alone: which one it was the descriptor does not say.
    if any(one["count"] * places < dim for one, places, dim in zip(dimensions, grid, dims)):
        return None
    finest = [
        max(1, _block(one)) if _is_cyclic(one) else max(1, dim // places)
        for one, dim, places in zip(dimensions, dims, grid)
    ]
    window = _window(dims, finest)
    drawn = _drawn(dims, grid)
    axes = _axes(window, drawn)
    cells = np.zeros(tuple(len(axes[at]) for at in drawn), np.int64)
    shared = np.zeros(cells.shape, bool)
    for at in range(len(dims)):
        owner, several = _owners(dimensions[at], axes[at], dims[at], grid[at], halo[at])
        if at not in drawn:
            cells = cells * grid[at] + int(owner[0])
            continue
        shape = [1] * cells.ndim
        shape[drawn.index(at)] = len(owner)
        cells = cells * grid[at] + owner.reshape(shape)
        shared |= several.reshape(shape)
    cells = np.where(shared, SEVERAL, cells)
    names = tuple(str(place) for place in range(int(np.prod(grid))))
    return Shares(window, drawn, *_sliced(cells, axes[drawn[0]]), names, False)


def _block(dimension: Mapping[str, Any]) -> int:
    return int(dimension.get("cyclic_block") or 1)


def _is_cyclic(dimension: Mapping[str, Any]) -> bool:
    return str(dimension["distribution"]).startswith("CYCLIC")


def _owners(
    dimension: Mapping[str, Any], axis: np.ndarray, dim: int, places: int, halo: int
) -> tuple[np.ndarray, np.ndarray]:
    """The place of each index, and whether its neighbour has it too."""
    if places == 1:
        return np.zeros(axis.size, np.int64), np.zeros(axis.size, bool)
    if _is_cyclic(dimension):
        return axis // _block(dimension) % places, np.zeros(axis.size, bool)
    width = dim / places
    owner = np.minimum((axis / width).astype(np.int64), places - 1)
    edges = np.arange(1, places) * width
    near = np.abs(axis[:, None] + 0.5 - edges[None, :]).min(axis=1) if places > 1 else np.inf
    return owner, np.asarray(near < halo / 2) if halo else np.zeros(axis.size, bool)
