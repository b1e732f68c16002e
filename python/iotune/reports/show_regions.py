"""The program's regions, for people: a section of what `iotune show` prints."""

from __future__ import annotations

from collections.abc import Sequence

from iotune.reports.tables import (
    Column,
    count_text,
    paragraph,
    seconds_text,
    share_text,
    size_text,
    table,
)
from iotune.talk import data
from iotune.traces.summary import RegionPattern

_SHOWN = 40
_COLUMNS = [
    Column("  region"),
    Column("entered", number=True, bare=True),
    Column("processes", number=True, spare=1),
    Column("time", number=True),
    Column("one entry", number=True, spare=2),
    Column("in I/O", number=True),
    Column("written", number=True),
    Column("read", number=True),
    Column("calls", number=True, spare=3),
]


def print_regions(regions: Sequence[RegionPattern], everything: bool = False) -> None:
    """Print them as a table; of many those that took longest, unless `everything` is asked for."""
    shown = list(regions) if everything else longest(regions, _SHOWN)
    data()
    print("regions of the program")
    table(_COLUMNS, [_row(one) for one in shown], indent=2)
    left = len(regions) - len(shown)
    if left:
        paragraph(
            f"{count_text(left, 'region')} of less time not shown (--all shows all)", indent=4
        )
    unended = sum(one.open for one in regions)
    if unended:
        noun = "entry was" if unended == 1 else "entries were"
        paragraph(f"{unended} {noun} not ended: no time is known of them", indent=4)


def longest(regions: Sequence[RegionPattern], most: int) -> list[RegionPattern]:
    """At most so many of them, in their order, each with those around it."""
    kept: set[tuple[str, ...]] = set()
    for one in sorted(regions, key=lambda one: -one.slowest_seconds):
        around = {tuple(one.path[:depth]) for depth in range(1, len(one.path) + 1)}
        if len(kept | around) <= most:
            kept |= around
    return [one for one in regions if tuple(one.path) in kept]


def entry_text(one: RegionPattern) -> str:
    """What one entry took, from the least to the most."""
    if one.entered - one.open < 1:
        return "–"
    least, most = seconds_text(one.least_seconds), seconds_text(one.largest_seconds)
    return least if least == most else f"{least} to {most}"


def io_share_text(one: RegionPattern) -> str:
    """Its share of time in calls on files."""
    return share_text(one.io_seconds / one.seconds) if one.seconds > 0 else "–"


def _row(one: RegionPattern) -> list[str]:
    return [
        "  " * len(one.path) + one.name,
        str(one.entered),
        str(one.processes),
        seconds_text(one.slowest_seconds) if one.seconds > 0 else "–",
        entry_text(one),
        io_share_text(one),
        size_text(one.bytes_written) if one.bytes_written else "–",
        size_text(one.bytes_read) if one.bytes_read else "–",
        str(one.calls),
    ]
