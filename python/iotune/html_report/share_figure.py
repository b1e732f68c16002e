"""The drawing of a decomposition: which rank holds which part of a dataset."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from iotune.html_report.shares import NOBODY, SEVERAL, Shares
from iotune.html_report.svg import Figure, Table, drawing, number
from iotune.traces.summary import DatasetPattern

_HUES = 8  # colours .r0 to .r7 of report.css; more ranks have them in turns
_SIDE = 250.0
_STRIP = 56.0  # height of one dimension
_GAP = 26.0
_MOST_LABELS = 100
_MOST_NAMED = 64  # rows of the table


def share_figure(pattern: DatasetPattern, shares: Shares) -> Figure:
    """Draw it: a strip for one dimension, a square for two, up to three of them for three."""
    slices, rows, columns = shares.cells.shape
    flat = rows == 1 and len(shares.window.dims) == 1
    width, height = (2 * _SIDE, _STRIP) if flat else _box(shares)
    parts = []
    for at in range(slices):
        left = at * (width + _GAP) + 1
        parts.append(
            f'<rect class="ground" x="{number(left)}" y="1" width="{number(width)}" '
            f'height="{number(height)}"/>'
        )
        parts += _boxes(shares.cells[at], left, width / columns, height / rows, shares.names)
        if slices > 1:
            parts.append(
                f'<text class="t" x="{number(left + width / 2)}" y="{number(height + 19)}" '
                f'text-anchor="middle">index {shares.slices[at]:,} of dimension '
                f"{shares.drawn[0] + 1}</text>"
            )
    full_height = height + (26 if slices > 1 else 4)
    verb = "written" if pattern.write else "read"
    owners = "rank" if shares.recorded else "place of the process grid"
    return Figure(
        title=f"Which {owners} has what of {pattern.dataset}, {verb}",
        svg=drawing(slices * width + (slices - 1) * _GAP + 2, full_height, "".join(parts)),
        says=_says(pattern, shares),
        table=_table(pattern, shares, owners),
        note=_note(shares),
        kind="shares",
    )


def _box(shares: Shares) -> tuple[float, float]:
    """A box in the proportions of the two fastest dimensions, as far as that can be drawn."""
    tall, wide = (shares.window.size[at] for at in shares.drawn[-2:])
    ratio = min(3.0, max(1 / 3, tall / wide))
    return (_SIDE, _SIDE * ratio) if ratio <= 1 else (_SIDE / ratio, _SIDE)


def _boxes(
    cells: np.ndarray, left: float, cell_width: float, cell_height: float, names: Sequence[str]
) -> list[str]:
    """A rectangle for neighbouring cells of one owner, labelled where there is room."""
    parts: list[str] = []
    labels: list[str] = []
    all_fit = True  # some numbers alone would mislead
    todo = np.ones(cells.shape, bool)
    rows, columns = cells.shape
    for row in range(rows):
        for column in range(columns):
            owner = int(cells[row, column])
            if not todo[row, column] or owner == NOBODY:
                continue
            end = column
            while end < columns and cells[row, end] == owner and todo[row, end]:
                end += 1
            below = row
            while below < rows and bool((cells[below, column:end] == owner).all()):
                below += 1
            todo[row:below, column:end] = False
            x, y = left + column * cell_width, 1 + row * cell_height
            width, height = (end - column) * cell_width, (below - row) * cell_height
            colour = "several" if owner == SEVERAL else f"r{_hue(owner)}"
            parts.append(
                f'<rect class="{colour} part" x="{number(x)}" y="{number(y)}" '
                f'width="{number(width)}" height="{number(height)}"/>'
            )
            fits = height > 13 and width > 4 + 7 * len(names[owner]) if owner != SEVERAL else True
            all_fit = all_fit and fits
            if owner != SEVERAL and fits:
                labels.append(
                    f'<text class="owner" x="{number(x + width / 2)}" '
                    f'y="{number(y + height / 2 + 4)}" text-anchor="middle">{names[owner]}</text>'
                )
    return parts + labels if all_fit and len(labels) <= _MOST_LABELS else parts


def _hue(owner: int) -> int:
    """A colour that neighbours along no dimension share: of a grid's rows they would repeat."""
    total = 0
    while owner:
        total, owner = total + owner % _HUES, owner // _HUES
    return total % _HUES


def _says(pattern: DatasetPattern, shares: Shares) -> str:
    dims = " × ".join(f"{one:,}" for one in shares.window.dims)
    what = f"{pattern.descriptor}: {dims} elements of {pattern.element_bytes} bytes"
    if pattern.process_grid:
        grid = " × ".join(str(one) for one in pattern.process_grid)
        what += f", over a process grid of {grid}"
    if pattern.chunk:
        what += f", in chunks of {' × '.join(f'{one:,}' for one in pattern.chunk)}"
    return f"{what}."


def _note(shares: Shares) -> str:
    notes = []
    if not shares.window.is_whole:
        size = " × ".join(f"{one:,}" for one in shares.window.size)
        notes.append(f"Drawn is the beginning, {size} elements; the rest goes on likewise.")
    if not shares.recorded:
        notes.append("Numbers are places of the grid: the descriptor does not tell their ranks.")
    if shares.more_slices:
        notes.append(f"{shares.more_slices} further slices differ from these.")
    if len(shares.drawn) < len(shares.window.dims):
        shown = " and ".join(str(at + 1) for at in shares.drawn)
        notes.append(f"Drawn are dimensions {shown} of {len(shares.window.dims)}.")
    if bool((shares.cells == SEVERAL).any()):
        notes.append("Hatched: several ranks moved it.")
    if bool((shares.cells == NOBODY).any()):
        notes.append("Bare ground: no rank moved it.")
    if len(shares.names) > _HUES:
        notes.append("Colours repeat.")
    return " ".join(notes)


def _table(pattern: DatasetPattern, shares: Shares, owners: str) -> Table:
    drawn = max(1, int((shares.cells != NOBODY).sum()))
    counted = np.bincount(shares.cells[shares.cells >= 0].reshape(-1), minlength=len(shares.names))
    rows = [
        (name, f"{count / drawn:.1%}", _extent(shares, at))
        for at, (name, count) in enumerate(zip(shares.names, counted.tolist()))
    ]
    more = len(rows) - _MOST_NAMED
    if more > 0:
        rows = [*rows[:_MOST_NAMED], (f"{more} more", "", "")]
    return Table(
        caption=f"Shares of {pattern.dataset} in the drawing",
        columns=(owners, "of what is drawn", "cells from–to, in the drawing's rows and columns"),
        rows=tuple(rows),
        text_columns=1,
    )


def _extent(shares: Shares, owner: int) -> str:
    where = np.argwhere(shares.cells == owner)
    if not where.size:
        return "none"
    (_, top, left), (_, bottom, right) = where.min(axis=0), where.max(axis=0)
    rows = "" if shares.cells.shape[1] == 1 else f"rows {top}–{bottom}, "
    return f"{rows}columns {left}–{right}"
