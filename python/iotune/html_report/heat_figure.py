"""Rank against time: when each rank moved how many bytes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from iotune.html_report.rank_rows import RankRows, short_label
from iotune.html_report.raster import image
from iotune.html_report.svg import (
    RIGHT,
    WIDTH,
    Figure,
    Frame,
    Table,
    drawing,
    number,
    text_of,
    time_ticks,
)
from iotune.html_report.time_bins import BINS, TimeBins
from iotune.reports.tables import seconds_text, size_text

_LEFT = 74.0
_COARSE = 8  # columns of the table
_TITLES = ("read", "written")
_VIEWS = ("as the program asked for them", "as they reached the file system")


def heat_figures(
    bins: TimeBins, rows: RankRows, axis_seconds: float, width: float = WIDTH
) -> list[Figure]:
    """A figure for each direction, and again below the libraries where that looks different.

    The time axis ends at `axis_seconds`, which is not before the run's end. Processes that are no
    rank and moved nothing (launchers, shells) have no row.
    """
    kept = [
        at
        for at, label in enumerate(rows.labels)
        if label[0].isdigit() or bins.bytes[:, :, at].any()
    ]
    moved = bins.bytes[:, :, kept]
    shown = replace(rows, labels=tuple(rows.labels[at] for at in kept))
    found = []
    for view in range(len(_VIEWS)):
        for direction in (1, 0):
            cells = moved[view, direction]
            if not cells.any() or (view and _alike(cells, moved[0, direction])):
                continue
            found.append(_figure(bins, shown, cells, (view, direction), axis_seconds, width))
    return found


def _alike(cells: np.ndarray, others: np.ndarray) -> bool:
    """Whether two figures would look the same."""
    moved = max(float(cells.sum()), float(others.sum()))
    return float(np.abs(cells - others).sum()) < 0.02 * moved


def _figure(
    bins: TimeBins,
    rows: RankRows,
    cells: np.ndarray,
    shown: tuple[int, int],
    axis_seconds: float,
    wide: float,
) -> Figure:
    view, direction = shown
    row_height = max(5.0, min(26.0, 340 / rows.count))
    frame = Frame(_LEFT, 8, wide - _LEFT - RIGHT, row_height * rows.count, axis_seconds, rows.count)
    place = (
        f'x="{number(frame.left)}" y="{number(frame.top)}" '
        f'width="{number(frame.x(bins.elapsed_seconds) - frame.left)}" '
        f'height="{number(frame.height)}"'
    )
    body = frame.box() + image(cells, direction, place)
    body += frame.x_axis(
        time_ticks(axis_seconds, int(wide / 110)), "time since the run's first call"
    )
    body += _rank_axis(frame, rows)
    body += f'<rect class="hover" {place}/>'
    most = float(cells.max())
    busiest = int(cells.sum(axis=1).argmax())
    when = int(cells.sum(axis=0).argmax())
    width = bins.bin_seconds
    says = (
        f"{size_text(float(cells.sum()))} {_TITLES[direction]}; most between "
        f"{seconds_text(when * width)} and {seconds_text((when + 1) * width)}, and most by "
        f"{_row_name(rows, busiest)}. One cell lasts {seconds_text(width)}; the fullest holds "
        f"{size_text(most)}."
    )
    return Figure(
        title=f"Bytes {_TITLES[direction]} by rank and time, {_VIEWS[view]}",
        svg=drawing(wide, frame.top + frame.height + 46, body),
        says=says,
        table=_table(bins, rows, cells, direction),
        note=_note(bins, rows),
        keys=((f"ramp-{'write' if direction else 'read'}", f"little to {size_text(most)}"),),
        kind="heat",
        values={
            "labels": [_row_name(rows, at) for at in range(rows.count)],
            "bin": width,
            "cells": [[round(value) for value in line] for line in cells.tolist()],
        },
    )


def _note(bins: TimeBins, rows: RankRows) -> str:
    parts = []
    share = bins.approximate_share
    if share > 0.001:
        parts.append(
            f"Times of {share:.0%} of the bytes are interpolated between the first start and the "
            "last end of their pattern; iotune run --timing call keeps the time of every call."
        )
    if bins.binned_share > 0.001:
        parts.append(
            f"Of {bins.binned_share:.0%} of the bytes it is known in which 64th to 32nd of their "
            "process's time they moved."
        )
    if rows.per_row > 1:
        parts.append(f"A row is {rows.per_row} neighbouring ranks.")
    return " ".join(parts)


def _row_name(rows: RankRows, at: int) -> str:
    label = rows.labels[at]
    if not label[0].isdigit():
        return label
    return f"ranks {label}" if "–" in label else f"rank {label}"


def _rank_axis(frame: Frame, rows: RankRows) -> str:
    each = max(1, -(-rows.count // max(1, int(frame.height / 16))))
    height = frame.height / rows.count
    parts = []
    for at in range(0, rows.count, each):
        y = frame.top + height * (at + 0.5)
        parts.append(
            f'<text class="t" x="{number(frame.left - 9)}" y="{number(y + 4)}" '
            f'text-anchor="end">{text_of(short_label(rows.labels[at]))}</text>'
        )
    middle = number(frame.top + frame.height / 2)
    parts.append(
        f'<text class="label" transform="translate(14 {middle}) rotate(-90)" '
        f'text-anchor="middle">rank</text>'
    )
    return f'<g class="axis">{"".join(parts)}</g>'


def _table(bins: TimeBins, rows: RankRows, cells: np.ndarray, direction: int) -> Table:
    coarse = cells.reshape(rows.count, _COARSE, BINS // _COARSE).sum(axis=2)
    width = bins.bin_seconds * (BINS // _COARSE)
    times = [seconds_text(at * width) for at in range(_COARSE + 1)]
    return Table(
        caption=f"Bytes {_TITLES[direction]} by rank, in eighths of the run's time",
        columns=("rank", "in all", *(f"{a} to {b}" for a, b in zip(times, times[1:]))),
        rows=tuple(
            (rows.labels[at], size_text(float(line.sum())), *(size_text(float(v)) for v in line))
            for at, line in enumerate(coarse)
        ),
    )
