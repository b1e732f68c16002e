"""Calls as a time line: Chrome's trace events in JSON, which Perfetto's user interface opens.

A process of the run is a process there, named by its rank; a call is a slice, inside the slice
of the call that it was made in.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from iotune import core
from iotune.export import Exported
from iotune.export.nested_times import NestedTimes
from iotune.traces.call_filter import CallFilter
from iotune.traces.calls import CallBatch, CallReader
from iotune.traces.regions import JOINT, each_region

_BATCH_ROWS = 1 << 13
_REGION_TRACKS = 1_000_000  # added to a thread's number: more than there are threads
_COLUMNS = (
    *("process", "thread", "level", "start_ns", "duration_ns", "time_kind", "layer", "call"),
    *("file", "dataset", "offset_bytes", "length_bytes", "result", "arguments", "selection"),
)


def write(path: Path, wanted: CallFilter, limit: int | None, to: BinaryIO) -> Exported:
    """Write the events, one a line."""
    reader = CallReader(path, wanted, _COLUMNS, limit, _BATCH_ROWS)
    reported = {"trace": path.name, "start_unix_ns": reader.run_start_unix_ns}
    to.write(
        b'{"displayTimeUnit": "ns", "otherData": '
        + json.dumps(reported).encode()
        + b', "traceEvents": ['
    )
    tracks = _Tracks(core.processes(path))
    count = 0
    before = b"\n"
    for batch in reader:
        count += batch.rows
        for line in _events(batch, tracks):
            to.write(before + line.encode("utf-8", "backslashreplace"))
            before = b",\n"
    for line in _regions(path, wanted, tracks):
        to.write(before + line.encode("utf-8", "backslashreplace"))
        before = b",\n"
    to.write(b"\n]}\n")
    return Exported(count, reader.losses)


class _Track(NestedTimes):
    """A thread: its slices may only follow each other, or lie one inside the other."""

    def __init__(self, process: int, thread: int):
        super().__init__()
        self.process = process
        self.thread = thread


class _Tracks:
    """All threads; 0 is no number of a process or thread there."""

    def __init__(self, processes: list[dict[str, Any]]):
        self._processes = processes
        self._named: set[int] = set()
        self._tracks: dict[tuple[int, int], _Track] = {}
        self._with_regions: set[_Track] = set()

    def of(self, process: int, thread: int) -> tuple[_Track, list[str]]:
        """The thread, and the events that name it where it is new."""
        track = self._tracks.get((process, thread))
        if track is not None:
            return track, []
        track = _Track(process + 1, len(self._tracks) + 1)
        self._tracks[process, thread] = track
        events = []
        if process not in self._named:
            self._named.add(process)
            reported = self._processes[process]
            rank = reported.get("rank", -1)
            order = rank if rank >= 0 else len(self._processes) + process
            events.append(_meta(track, "process_name", {"name": _process_name(reported)}))
            events.append(_meta(track, "process_sort_index", {"sort_index": order}))
        events.append(_meta(track, "thread_name", {"name": f"thread {thread}"}))
        return track, events

    def region_track(self, track: _Track, thread: int) -> list[str]:
        """The events that name the track of a thread's regions where it is new."""
        if track in self._with_regions:
            return []
        self._with_regions.add(track)
        beside = _Track(track.process, track.thread + _REGION_TRACKS)
        return [_meta(beside, "thread_name", {"name": f"regions of thread {thread}"})]


def _regions(path: Path, wanted: CallFilter, tracks: _Tracks) -> Iterator[str]:
    """The program's regions of the ranks and times that are wanted, beside their threads' calls.

    Sums of many entries are slices that may overlap (asynchronous events).
    """
    entries = [
        one
        for one in each_region(path, wanted.ranks)
        if one.begin_ns < wanted.until_ns and (one.is_open or one.end_ns >= wanted.from_ns)
    ]
    # A slice before those that lie in it.
    for number, one in enumerate(sorted(entries, key=lambda one: (one.begin_ns, len(one.path)))):
        track, names = tracks.of(one.process, one.thread)
        yield from names
        yield from tracks.region_track(track, one.thread)
        reported = {
            "region": JOINT.join(one.path),
            "value": one.value,
            "io_ns": one.io_ns,
            "calls": one.calls,
            "bytes_read": one.bytes_read,
            "bytes_written": one.bytes_written,
        }
        event: dict[str, Any] = {"cat": "region", "pid": track.process}
        if one.is_sum:
            reported |= {"entered": one.entered, "region_ns": one.region_ns}
            event |= {"name": f"{one.name} ({one.entered} entries)", "id": number}
            event |= {"tid": track.thread}
            yield _at({**event, "ph": "b", "args": reported}, one.begin_ns)
            yield _at({**event, "ph": "e"}, one.end_ns)
            continue
        event |= {"name": one.name, "tid": track.thread + _REGION_TRACKS, "args": reported}
        if one.is_open:
            yield _at({**event, "ph": "B"}, one.begin_ns)
        else:
            span = f'"dur": {_microseconds(one.end_ns - one.begin_ns)}, '
            yield _at({**event, "ph": "X"}, one.begin_ns, span)


def _at(event: dict[str, Any], ns: int, more: str = "") -> str:
    return f'{{"ts": {_microseconds(ns)}, {more}{json.dumps(event)[1:]}'


def _process_name(reported: dict[str, Any]) -> str:
    program = Path(str(reported.get("program", ""))).name or "process"
    place = f"{program}, pid {reported.get('pid', '?')} on {reported.get('host', '?')}"
    rank = reported.get("rank", -1)
    return f"rank {rank} ({place})" if rank >= 0 else place


def _meta(track: _Track, name: str, arguments: dict[str, Any]) -> str:
    return json.dumps(
        {"ph": "M", "name": name, "pid": track.process, "tid": track.thread, "args": arguments}
    )


def _events(batch: CallBatch, tracks: _Tracks) -> Iterator[str]:
    for row in zip(*(batch.values(column) for column in _COLUMNS)):
        process, thread, level, start_ns, duration_ns, kind, layer, call, *about = row
        track, names = tracks.of(process, thread)
        yield from names
        begin_ns, end_ns = track.place(level, start_ns, start_ns + duration_ns)
        file, dataset, offset_bytes, length_bytes, result, arguments, selection = about
        known = {
            "file": file,
            "dataset": dataset,
            "offset_bytes": offset_bytes,
            "length_bytes": length_bytes,
            "result": result,
            "time_kind": kind,
        }
        if (begin_ns, end_ns - begin_ns) != (start_ns, duration_ns):
            known |= {"start_ns": start_ns, "duration_ns": duration_ns}
        reported = json.dumps({name: value for name, value in known.items() if value is not None})
        more = f', "arguments": {arguments}' + (f', "selection": {selection}' if selection else "")
        yield (
            f'{{"ph": "X", "name": {json.dumps(call)}, "cat": "{layer}", '
            f'"pid": {track.process}, "tid": {track.thread}, "ts": {_microseconds(begin_ns)}, '
            f'"dur": {_microseconds(end_ns - begin_ns)}, "args": {reported[:-1]}{more}}}}}'
        )


def _microseconds(ns: int) -> str:
    return f"{ns // 1000}.{ns % 1000:03d}"
