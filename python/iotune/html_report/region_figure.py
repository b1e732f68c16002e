"""The program's regions: when they ran, on the time axis of other figures, and what they did."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from iotune.html_report.svg import (
    RIGHT,
    WIDTH,
    Figure,
    Frame,
    Table,
    counted,
    drawing,
    number,
    text_of,
    time_ticks,
)
from iotune.reports.show_regions import entry_text, io_share_text, longest
from iotune.reports.tables import seconds_text, size_text
from iotune.traces.regions import JOINT, RegionEntry
from iotune.traces.summary import RegionPattern

_LEFT = 74.0  # as the figures of ranks over time have it
_LANES, _ROWS = 12, 100
_LANE, _BAR = 34.0, 14.0


def region_figure(
    regions: Sequence[RegionPattern],
    entries: Iterable[RegionEntry],
    axis_seconds: float,
    wide: float = WIDTH,
) -> Figure | None:
    """A lane for each region: where any thread of any process was in it.

    The time axis ends at `axis_seconds`. None where no region was ended.
    """
    shown = [one for one in longest(regions, _LANES) if one.seconds > 0]
    if not shown:
        return None
    lanes = {tuple(one.path): at for at, one in enumerate(shown)}
    frame = Frame(_LEFT, 8, wide - _LEFT - RIGHT, _LANE * len(shown), axis_seconds, 1)
    spans: list[list[tuple[float, float]]] = [[] for _ in shown]
    summed = 0
    for one in entries:
        lane = lanes.get(one.path)
        if lane is None or one.is_open:
            continue
        summed += one.entered if one.is_sum else 0
        ends = frame.x(min(one.end_ns / 1e9, axis_seconds))
        spans[lane].append((frame.x(max(0.0, one.begin_ns / 1e9)), ends))
    parts = [frame.box()]
    for lane, pattern in enumerate(shown):
        top = frame.top + _LANE * lane
        name = "  " * (len(pattern.path) - 1) + pattern.name
        parts.append(
            f'<text class="t strong" x="{number(frame.left + 4 + 12 * (len(pattern.path) - 1))}" '
            f'y="{number(top + 14)}">{text_of(_short(name.strip()))}</text>'
        )
        for begin, end in _joined(spans[lane]):
            parts.append(
                f'<rect class="tuned" x="{number(begin)}" y="{number(top + 18)}" '
                f'width="{number(max(end - begin, 1))}" height="{number(_BAR)}"/>'
            )
    axis = frame.x_axis(
        time_ticks(axis_seconds, int(wide / 110)), "time since the run's first call"
    )
    longest_one = max(shown, key=lambda one: one.slowest_seconds)
    most_io = max(shown, key=lambda one: one.io_seconds)
    says = (
        f"{longest_one.name} took longest: {seconds_text(longest_one.slowest_seconds)} in "
        f"{counted(longest_one.entered, 'entry', 'entries')}. Most of the time in I/O was in "
        f"{most_io.name}: {seconds_text(most_io.io_seconds)}, {io_share_text(most_io)} of its own."
    )
    note = (
        f"{counted(summed, 'entry', 'entries')} beyond the first 256 of a thread were recorded as "
        "sums: their bar reaches from the first to the last one." if summed else ""
    )  # fmt: skip
    return Figure(
        title="When the program was in which region",
        svg=drawing(wide, frame.top + frame.height + 46, "".join(parts) + axis),
        says=says,
        note=note,
    )


def region_table(regions: Sequence[RegionPattern]) -> Table:
    """What was read and written in each."""
    return Table(
        "Regions that the program marked; what is inside of a region counts for it, too",
        ("region", "entered", "processes", "time", "one entry", "in I/O", "written", "read",
         "calls", "not ended"),
        tuple(
            (
                JOINT.join(one.path),
                f"{one.entered:,}",
                f"{one.processes:,}",
                seconds_text(one.slowest_seconds) if one.seconds > 0 else "–",
                entry_text(one),
                io_share_text(one),
                size_text(one.bytes_written),
                size_text(one.bytes_read),
                f"{one.calls:,}",
                f"{one.open:,}" if one.open else "–",
            )
            for one in longest(regions, _ROWS)
        ),
    )  # fmt: skip


def _short(name: str, most: int = 60) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _joined(spans: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Spans that touch, or whose gap would not be seen, as one."""
    found: list[tuple[float, float]] = []
    for begin, end in sorted(spans):
        if found and begin - found[-1][1] < 0.75:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((begin, end))
    return found
