"""dftracer's events (.pfw, .pfw.gz): a line a call, in the form of Chrome's traces.

    {"name":"read","cat":"POSIX","pid":7,"tid":7,"ts":12,"dur":3,"ph":"X","args":{"fhash":…,"ret":…}}

Times are microseconds. A file's name stands among the arguments, or is named by a hash that an
event `FH` explains. Positions follow from the calls before them, where a call has no offset.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from iotune.errors import Error
from iotune.importing.lines import Malformed, lines_of, quoted
from iotune.importing.sink import CLOSE, OPEN, POSIX, READ, STDIO, SYNC, WRITE, AccessSink, kind_of

_LAYERS = {"POSIX": POSIX, "STDIO": STDIO}
_LATEST_US = 1 << 52
_SEEKS = ("lseek", "lseek64", "fseek", "fseeko")


def is_event(line: bytes) -> bool:
    """Whether a line is one of dftracer's events."""
    event = _event(line)
    return event is not None and {"name", "cat", "pid", "ph"} <= event.keys()


def _event(line: bytes) -> dict[str, Any] | None:
    text = line.strip().rstrip(b",").rstrip(b"]").strip()
    if not text.startswith(b"{"):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def read(log: Path, sink: AccessSink) -> None:
    """Put all events of files into the sink; each process becomes a rank, in their order."""
    reader = _Reader(sink)
    for number, line in lines_of(log, 1 << 20):
        if line.strip() in (b"", b"[", b"]", b"[]"):
            continue
        event = _event(line)
        try:
            if event is None:
                raise Malformed(f"{quoted(line)} is no event of dftracer's: a JSON object a line")
            reader.take(event)
        except Malformed as problem:
            raise Error(f"{log}:{number}: {problem}") from None


class _Reader:
    def __init__(self, sink: AccessSink):
        self._sink = sink
        self._names: dict[str, str] = {}  # of files by their hash
        self._positions: dict[tuple[int, str], int] = {}
        self._ends: dict[str, int] = {}

    def take(self, event: dict[str, Any]) -> None:
        """An event. Raises Malformed."""
        arguments = event.get("args")
        arguments = arguments if isinstance(arguments, dict) else {}
        name = str(event.get("name", ""))
        if event.get("ph") == "M":
            if name in ("FH", "SH", "HH") and "value" in arguments:
                self._names[str(arguments["value"])] = str(arguments.get("name", ""))
            return
        layer = _LAYERS.get(str(event.get("cat", "")).upper())
        if layer is None:
            return  # the program's own functions
        path = self._path(arguments)
        kind = kind_of(name)
        if not path or (kind is None and name not in _SEEKS):
            self._sink.left_out[name[:30]] += 1
            return
        pid = _whole(event.get("pid", 0), "the pid", (1 << 31) - 1)
        start = _whole(event.get("ts"), "ts", _LATEST_US)
        end = start + _whole(event.get("dur", 0), "dur", _LATEST_US)
        process = self._sink.process(pid, None, pid)
        result = arguments.get("ret", arguments.get("res"))
        moved = 0 if result is None else _signed(result)
        if moved < 0:
            self._sink.left_out[f"{name[:30]}, failed"] += 1
            return
        offset = 0
        if kind in (READ, WRITE):
            moved = self._moved(arguments, moved, result is None, layer)
            offset = self._offset(pid, path, name, arguments, moved, kind == WRITE)
            if not moved:
                return
        elif kind is None:
            self._positions[pid, path] = self._sought(pid, path, name, arguments, moved)
            return
        elif kind == OPEN:
            self._positions[pid, path] = 0
        assert kind in (READ, WRITE, OPEN, CLOSE, SYNC)
        length = moved if kind in (READ, WRITE) else 0
        self._sink.add(
            *(process, kind, path.encode("utf-8", "surrogateescape"), offset, length),
            *(start * 1000, end * 1000),
            layer=layer,
        )

    def _path(self, arguments: dict[str, Any]) -> str:
        for key in ("fname", "filename", "path"):
            if arguments.get(key):
                return str(arguments[key])
        return self._names.get(str(arguments.get("fhash", "")), "")

    @staticmethod
    def _moved(arguments: dict[str, Any], result: int, missing: bool, layer: int) -> int:
        """Bytes: the result, of stdio items; what was asked for where there is none."""
        size = _signed(arguments.get("size", 1) or 1)
        if layer == STDIO and not missing:
            return result * size
        if not missing:
            return result
        items = size if layer == STDIO else 1
        return _signed(arguments.get("count", arguments.get("nbyte", 0))) * items

    def _offset(
        self, pid: int, path: str, name: str, arguments: dict[str, Any], moved: int, writes: bool
    ) -> int:
        if name.startswith(("pread", "pwrite")) and "offset" in arguments:
            return _whole(arguments["offset"], "the offset", 1 << 62)
        at = self._positions.get((pid, path), 0)
        self._positions[pid, path] = at + moved
        if writes:
            self._ends[path] = max(self._ends.get(path, 0), at + moved)
        return at

    def _sought(
        self, pid: int, path: str, name: str, arguments: dict[str, Any], result: int
    ) -> int:
        if name.startswith("lseek"):
            return result
        offset, whence = _signed(arguments.get("offset", 0)), _signed(arguments.get("whence", 0))
        base = {0: 0, 1: self._positions.get((pid, path), 0)}.get(whence, self._ends.get(path, 0))
        return max(0, base + offset)


def _signed(value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        raise Malformed(f"{str(value)[:40]!r} is no number") from None


def _whole(value: Any, name: str, most: int) -> int:
    found = _signed(value)
    if not 0 <= found <= most:
        raise Malformed(f"{name} is {found}, not from 0 to {most}")
    return found
