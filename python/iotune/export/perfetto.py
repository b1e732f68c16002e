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
from iotune.traces.call_filter import CallFilter
from iotune.traces.calls import CallBatch, CallReader

_BATCH_ROWS = 1 << 13
_COLUMNS = (
    *("process", "thread", "level", "start_ns", "duration_ns", "time_kind", "layer", "call"),
    *("file", "dataset", "offset_bytes", "length_bytes", "result", "arguments", "selection"),
)


def write(path: Path, wanted: CallFilter, limit: int | None, to: BinaryIO) -> Exported:
    """Write the events, one a line."""
    reader = CallReader(path, wanted, _COLUMNS, limit, _BATCH_ROWS)
    told = {"trace": path.name, "start_unix_ns": reader.run_start_unix_ns}
    to.write(
        b'{"displayTimeUnit": "ns", "otherData": '
        + json.dumps(told).encode()
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
    to.write(b"\n]}\n")
    return Exported(count, reader.losses)


class _Track:
    """A thread: its slices may only follow each other, or lie one inside the other."""

    def __init__(self, process: int, thread: int):
        self.process = process
        self.thread = thread
        self._around: list[tuple[int, int]] = []  # level and end of the slices around
        self._free_ns = 0  # where the next slice beside the last one may begin

    def place(self, level: int, start_ns: int, end_ns: int) -> tuple[int, int]:
        """Where the slice goes: interpolated times may overlap, slices may not."""
        while self._around and self._around[-1][0] >= level:
            self._free_ns = self._around.pop()[1]
        start_ns = max(start_ns, self._free_ns)
        if self._around:
            start_ns = min(start_ns, self._around[-1][1])
            end_ns = min(end_ns, self._around[-1][1])
        end_ns = max(start_ns, end_ns)
        self._around.append((level, end_ns))
        self._free_ns = start_ns
        return start_ns, end_ns


class _Tracks:
    """All threads; 0 is no number of a process or thread there."""

    def __init__(self, processes: list[dict[str, Any]]):
        self._processes = processes
        self._named: set[int] = set()
        self._tracks: dict[tuple[int, int], _Track] = {}

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
            told = self._processes[process]
            rank = told.get("rank", -1)
            order = rank if rank >= 0 else len(self._processes) + process
            events.append(_meta(track, "process_name", {"name": _process_name(told)}))
            events.append(_meta(track, "process_sort_index", {"sort_index": order}))
        events.append(_meta(track, "thread_name", {"name": f"thread {thread}"}))
        return track, events


def _process_name(told: dict[str, Any]) -> str:
    program = Path(str(told.get("program", ""))).name or "process"
    place = f"{program}, pid {told.get('pid', '?')} on {told.get('host', '?')}"
    rank = told.get("rank", -1)
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
        told = json.dumps({name: value for name, value in known.items() if value is not None})
        more = f', "arguments": {arguments}' + (f', "selection": {selection}' if selection else "")
        yield (
            f'{{"ph": "X", "name": {json.dumps(call)}, "cat": "{layer}", '
            f'"pid": {track.process}, "tid": {track.thread}, "ts": {_microseconds(begin_ns)}, '
            f'"dur": {_microseconds(end_ns - begin_ns)}, "args": {told[:-1]}{more}}}}}'
        )


def _microseconds(ns: int) -> str:
    return f"{ns // 1000}.{ns % 1000:03d}"
