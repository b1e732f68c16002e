"""The program's regions in a trace (include/iotune.h), entry by entry."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from iotune import core
from iotune.traces.call_filter import LAYERS, CallFilter
from iotune.traces.call_meaning import meaning_of
from iotune.traces.calls import CallReader

_BEGIN, _END, _SUM = "region_begin", "region_end", "region_sum"  # what they note down
_COLUMNS = ("rank", "process", "thread", "call", "start_ns", "arguments")
_NO_VALUE = -(2**63)


@dataclass(frozen=True)
class RegionEntry:
    """One entry of a region, or the sum of many: the first 256 of a thread are kept one by one."""

    rank: int  # -1: not a rank of MPI_COMM_WORLD
    process: int  # index into the trace's processes
    thread: int
    path: tuple[str, ...]  # names, the outermost first; the last one is its own
    value: int | None  # of a sum the first one's
    entered: int  # entries that this represents
    begin_ns: int  # after the run's first call
    end_ns: int  # of a sum the last one's end; of an open region its begin
    region_ns: int  # in it; of a sum all entries together
    io_ns: int  # of that in calls on files
    calls: int  # outermost ones
    bytes_read: int
    bytes_written: int
    is_open: bool = False  # it was not ended: the process was killed, or the mark is missing

    @property
    def name(self) -> str:
        """Its own name."""
        return self.path[-1]

    @property
    def is_sum(self) -> bool:
        """Whether it represents more than one entry."""
        return self.entered > 1


# As `iotune export --regions` writes them; None where there is no value.
REGION_COLUMNS = (
    *("rank", "process", "thread", "region", "depth", "value", "entered", "begin_ns", "end_ns"),
    *("region_ns", "io_ns", "calls", "bytes_read", "bytes_written", "is_open"),
)
JOINT = " / "


def row_of(entry: RegionEntry) -> dict[str, Any]:
    """An entry by REGION_COLUMNS."""
    reported = {"region": JOINT.join(entry.path), "depth": len(entry.path) - 1}
    return {name: reported.get(name, getattr(entry, name, None)) for name in REGION_COLUMNS}


class _Thread:
    """The names of its regions by number, and those that are open."""

    def __init__(self) -> None:
        self.names: dict[int, tuple[str, int]] = {}
        self.open: list[tuple[int, int, int | None]] = []  # number, begin, value

    def end(self, number: int) -> None:
        """With it end those within it; none where its begin was lost, or lies before a fork."""
        opened = [one for one, _, _ in self.open]
        if number in opened:
            del self.open[len(opened) - 1 - opened[::-1].index(number) :]

    def path(self, number: int) -> tuple[str, ...]:
        found: list[str] = []
        while number in self.names and len(found) < 64:
            name, number = self.names[number]
            found.append(name)
        return tuple(reversed(found))


def each_region(
    path: str | os.PathLike[str], ranks: tuple[tuple[int, int], ...] = ()
) -> Iterator[RegionEntry]:
    """The entries in the order of their ends, of each process; what was not ended comes last."""
    things = {
        name: meaning_of(name).thing
        for name in (str(one["name"]) for one in core.call_table() if one["layer"] == LAYERS[-1])
    }
    names = tuple(name for name, thing in things.items() if thing in (_BEGIN, _END, _SUM))
    wanted = CallFilter(ranks=ranks, names=names)
    threads: dict[tuple[int, int, int], _Thread] = {}
    for batch in CallReader(path, wanted, _COLUMNS):
        for row in zip(*(batch.values(column) for column in _COLUMNS)):
            rank, process, number, call, at_ns, text = row
            thread = threads.setdefault((rank, process, number), _Thread())
            reported = json.loads(text)
            region = reported["region"]
            thread.names[region] = (reported["name"], reported["parent"])
            if things[call] == _BEGIN:
                thread.open.append((region, at_ns, _value(reported["value"])))
                continue
            begin_ns, end_ns, value, entered = at_ns - reported["region_ns"], at_ns, None, 1
            if things[call] == _SUM:
                begin_ns = at_ns - reported["before_ns"]
                end_ns = begin_ns + reported["span_ns"]
                value, entered = _value(reported["first_value"]), reported["count"]
            else:
                value = _value(reported["value"])
                thread.end(region)
            yield RegionEntry(
                rank, process, number, thread.path(region), value, entered, begin_ns, end_ns,
                reported["region_ns"], reported["io_ns"], reported["calls"], reported["bytes_read"],
                reported["bytes_written"],
            )  # fmt: skip
    for (rank, process, number), thread in threads.items():
        for region, at_ns, value in thread.open:
            yield RegionEntry(
                rank, process, number, thread.path(region), value, 1, at_ns, at_ns, 0, 0, 0, 0, 0,
                is_open=True,
            )  # fmt: skip


def _value(number: int) -> int | None:
    return None if number == _NO_VALUE else int(number)
