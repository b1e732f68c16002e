"""Where in a file accesses lay: offset against time, and rank against offset.

Cells (offset_grid.py) are the ground, loops (access_loops.py) are drawn over them: a line for a
loop, a hatched band for a loop of loops, a dot for an access by itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from iotune.html_report.access_loops import FEWEST_IN_LOOP
from iotune.html_report.call_pass import FileMap
from iotune.html_report.offset_grid import TIMES
from iotune.html_report.rank_rows import RankRows, short_label
from iotune.html_report.raster import image
from iotune.html_report.svg import (
    RIGHT,
    WIDTH,
    Figure,
    Frame,
    Table,
    byte_ticks,
    counted,
    drawing,
    number,
    time_ticks,
)
from iotune.reports.tables import seconds_text, size_text

_LEFT, _HEIGHT = 100.0, 320.0
_WORDS = ("read", "written")
_SHOWN_LOOPS = 20  # rows of the table
_LINES = 1500  # of the drawing without report.js


def access_figure(
    path: str, one: FileMap, rows: RankRows, axis_seconds: float, wide: float = WIDTH
) -> Figure:
    """Offset against time, zoomable by report.js: loops and cells, whatever the number of calls."""
    loops = one.loops.loops()
    grid = one.grid
    frame = Frame(_LEFT, 8, wide - _LEFT - RIGHT, _HEIGHT, axis_seconds, float(grid.end))
    covered = grid.used * grid.bin_bytes
    # An SVG of its own, so that report.js zooms by its viewBox alone.
    top = number(_HEIGHT * (1 - covered / grid.end))
    place = (
        f'x="0" y="{top}" width="{number(frame.x(grid.elapsed_seconds) - frame.left)}" '
        f'height="{number(_HEIGHT - float(top))}"'
    )
    ground = "".join(
        image(grid.by_time[direction, :, : grid.used].T[::-1], direction, place)
        for direction in (0, 1)
        if grid.by_time[direction].any()
    )
    inner = (
        f'<svg class="zoom" x="{number(frame.left)}" y="{number(frame.top)}" '
        f'width="{number(frame.width)}" height="{number(_HEIGHT)}" '
        f'viewBox="0 0 {number(frame.width)} {number(_HEIGHT)}" preserveAspectRatio="none">'
        f'{ground}<g class="loops">{_lines(loops, frame)}</g></svg>'
    )
    body = frame.box() + inner
    body += frame.x_axis(
        time_ticks(axis_seconds, int(wide / 110)), "time since the run's first call"
    )
    body += frame.y_axis(byte_ticks(grid.end), "offset in the file")
    body += (
        f'<rect class="hover" x="{number(frame.left)}" y="{number(frame.top)}" '
        f'width="{number(frame.width)}" height="{number(_HEIGHT)}"/>'
    )
    in_loops = int((loops["count"] * loops["outer_count"]).sum())
    return Figure(
        title=f"Offset against time: {path}",
        svg=drawing(wide, frame.top + _HEIGHT + 46, body),
        says=_says(one),
        table=_table(loops, rows, path),
        note=_note(one, in_loops),
        keys=_keys(one),
        kind="map",
        values={
            "seconds": axis_seconds,
            "end": grid.end,
            "frame": [frame.left, frame.top, frame.width, _HEIGHT],
            "names": list(rows.name_of_process) if len(rows.name_of_process) <= 4096 else [],
            "loops": [_packed(loop) for loop in loops],
        },
    )


def rank_figures(path: str, one: FileMap, rows: RankRows, wide: float = WIDTH) -> list[Figure]:
    """Rank against offset, a figure for each direction; none where one row is all."""
    if rows.count < 2:
        return []
    return [
        _rank_figure(path, one, rows, direction, wide)
        for direction in (1, 0)
        if one.grid.by_row[direction].any()
    ]


def _rank_figure(path: str, one: FileMap, rows: RankRows, direction: int, wide: float) -> Figure:
    grid = one.grid
    cells = grid.by_row[direction]
    row_height = max(5.0, min(24.0, 300 / rows.count))
    height = row_height * rows.count
    covered = float(grid.used * grid.bin_bytes)
    frame = Frame(_LEFT, 8, wide - _LEFT - RIGHT, height, covered, rows.count)
    place = (
        f'x="{number(frame.left)}" y="{number(frame.top)}" '
        f'width="{number(frame.width)}" height="{number(height)}"'
    )
    body = frame.box() + image(cells[:, : grid.used], direction, place)
    body += frame.x_axis(byte_ticks(covered, int(wide / 110)), "offset in the file")
    each = max(1, -(-rows.count // max(1, int(height / 16))))
    body += frame.y_axis(
        [
            (rows.count - at - 0.5, short_label(rows.labels[at]))
            for at in range(0, rows.count, each)
        ],
        "rank",
    )
    touched = cells > 0
    shared = int((touched.sum(axis=0) > 1).sum())
    used = int(touched.any(axis=0).sum())
    return Figure(
        title=f"Rank against offset, {_WORDS[direction]}: {path}",
        svg=drawing(wide, frame.top + height + 46, body),
        says=(
            f"{counted(used, 'piece')} of {size_text(grid.bin_bytes)} were {_WORDS[direction]}; "
            f"{shared / max(used, 1):.0%} of them by more than one rank."
        ),
        table=_row_table(grid, rows, path),
        keys=((f"ramp-{'write' if direction else 'read'}", "little to much"),),
    )


def _keys(one: FileMap) -> tuple[tuple[str, str], ...]:
    return tuple(
        (f"ramp-{'write' if at else 'read'}", _WORDS[at])
        for at in (1, 0)
        if one.grid.by_time[at].any()
    )


def _packed(loop: Any) -> list[float]:
    """A loop for report.js, in the order of its fields; times in seconds to the microsecond."""
    values = loop.tolist()
    times = [round(values[2], 6), round(values[3], 6)]
    numbers = [*values[:2], *times, *values[4:]]
    return numbers if values[9] > 1 else numbers[:8]


def _lines(loops: np.ndarray, frame: Frame) -> str:
    """All loops as a few paths: lines and dots by direction, bands as hatched boxes."""
    paths: dict[str, list[str]] = {"line-read": [], "line-write": []}
    bands = []
    for loop in loops[:_LINES]:
        word = "write" if loop["write"] else "read"
        x0, x1 = frame.x(loop["start"]) - frame.left, frame.x(loop["end"]) - frame.left
        y0 = frame.y(float(loop["offset"])) - frame.top
        reach = float(loop["stride"]) * (float(loop["count"]) - 1)
        y1 = frame.y(float(loop["offset"]) + reach) - frame.top
        if loop["outer_count"] > 1:
            outer = float(loop["outer_stride"]) * (float(loop["outer_count"]) - 1)
            ends = [float(loop["offset"]) + one for one in (0, reach, outer, reach + outer)]
            low = frame.y(min(ends)) - frame.top
            high = frame.y(max(ends) + float(loop["length"])) - frame.top
            bands.append(
                f'<rect class="band-{word}" x="{number(x0)}" y="{number(high)}" '
                f'width="{number(max(x1 - x0, 0.5))}" height="{number(max(low - high, 0.5))}"/>'
            )
        elif loop["count"] < FEWEST_IN_LOOP:
            paths[f"line-{word}"].append(f"M{number(x0)} {number(y0)}h.01")
            if loop["count"] == 2:
                paths[f"line-{word}"].append(f"M{number(x1)} {number(y1)}h.01")
        else:
            paths[f"line-{word}"].append(f"M{number(x0)} {number(y0)}L{number(x1)} {number(y1)}")
    drawn = [f'<path class="{name}" d="{"".join(d)}"/>' for name, d in paths.items() if d]
    return "".join(bands + drawn)


def _says(one: FileMap) -> str:
    layer = {"mpiio": "MPI-IO"}.get(one.layer, "POSIX and stdio")
    loops, accesses = one.loops.steady
    steady = (
        f"{accesses / max(one.loops.accesses, 1):.0%} of them go on in even steps, in "
        f"{counted(loops, 'loop')}"
        if loops
        else "none of them go on in even steps"
    )
    return (
        f"{counted(one.loops.accesses, 'access', 'accesses')} of {layer} over "
        f"{size_text(one.grid.end)}; {steady}."
    )


def _note(one: FileMap, in_loops: int) -> str:
    left = one.loops.accesses - in_loops
    cell = f"Cells are {size_text(one.grid.bin_bytes)} high and a {TIMES}th of the run's time wide."
    if left > 0:
        cell += (
            f" {counted(left, 'access', 'accesses')} in no loop, or in small ones, are drawn as "
            "cells alone."
        )
    return cell


def _table(loops: np.ndarray, rows: RankRows, path: str) -> Table:
    weight = loops["count"] * loops["outer_count"]
    order = np.argsort(-weight, kind="stable")[:_SHOWN_LOOPS]
    return Table(
        caption=f"The largest loops over {path}",
        columns=("who", "operation", "loop", "accesses", "bytes", "from", "to"),
        rows=tuple(
            (
                rows.name_of_process[int(loops["process"][at])],
                "write" if loops["write"][at] else "read",
                _loop_text(loops[at]),
                f"{int(weight[at]):,}",
                size_text(int(weight[at]) * int(loops["length"][at])),
                seconds_text(float(loops["start"][at])),
                seconds_text(float(loops["end"][at])),
            )
            for at in order
        ),
        text_columns=3,
    )


def _loop_text(loop: Any) -> str:
    """As docs/patterns.md writes loops."""
    text = f"({loop['offset']},{loop['length']})"
    if loop["count"] > 1:
        text = f"{loop['count']}×{{{text}; {loop['stride']:+d}}}"
    if loop["outer_count"] > 1:
        text = f"{loop['outer_count']}×{{{text}; {loop['outer_stride']:+d}}}"
    return text


def _row_table(grid: Any, rows: RankRows, path: str) -> Table:
    found = []
    for at in range(rows.count):
        used = np.flatnonzero((grid.by_row[:, at] > 0).any(axis=0))
        read, write = grid.by_row[:, at].sum(axis=1)
        if used.size:
            low, high = int(used[0]) * grid.bin_bytes, (int(used[-1]) + 1) * grid.bin_bytes
            place = (size_text(low), size_text(min(high, grid.end)))
        else:
            place = ("–", "–")
        found.append((rows.labels[at], size_text(float(write)), size_text(float(read)), *place))
    return Table(
        caption=f"What each rank touched of {path}",
        columns=("rank", "written", "read", "from offset", "to offset"),
        rows=tuple(found),
    )
