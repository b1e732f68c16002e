"""A plain CSV with a head line; columns in docs/import.md. Also what `iotune export` writes."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from iotune.errors import Error
from iotune.importing.lines import Malformed, lines_of, quoted, seconds_ns, whole
from iotune.importing.sink import READ, WRITE, AccessSink, kind_of

_MOST_RANK = (1 << 31) - 1
_ALIASES = {
    **dict.fromkeys(("file", "path", "filename"), "file"),
    **dict.fromkeys(("op", "operation", "call"), "op"),
    **dict.fromkeys(("offset", "offset_bytes"), "offset"),
    **dict.fromkeys(("length", "length_bytes", "size", "bytes"), "length"),
    **dict.fromkeys(("host", "hostname"), "host"),
    **{name: name for name in ("rank", "pid", "start", "end", "duration", "layer")},
    **{name: name for name in ("start_ns", "end_ns", "duration_ns", "process")},
}


def columns_of(head: list[str]) -> dict[str, int]:
    """Where the columns stand that are known. Raises Malformed for what is missing or twice."""
    places: dict[str, int] = {}
    for place, name in enumerate(head):
        known = _ALIASES.get(name.strip().lower())
        if known is None:
            continue
        if known in places:
            raise Malformed(f"two columns say the {known}")
        places[known] = place
    for name in ("file", "op", "offset", "length"):
        if name not in places:
            raise Malformed(f"no column {name!r}")
    return places


def read(log: Path, sink: AccessSink) -> None:
    """Put all rows of `log` into the sink."""
    rows = _Rows(log)
    try:
        head = next(rows.reader, None)
        if head is None:
            raise Malformed("empty")
        places = columns_of(head)
        any_call = "call" in (name.strip().lower() for name in head)
        times = _Times(places)
        if not times.starts:
            sink.notes.append(
                "no column 'start': calls have the order of their lines, and no times"
            )
        for row in rows.reader:
            if row:
                _add(_Row(row, places), sink, any_call, times)
    except (Malformed, csv.Error) as problem:
        raise Error(f"{log}:{max(rows.line, 1)}: {problem}") from None


class _Rows:
    """Rows, and the line at which the reader stands."""

    def __init__(self, log: Path):
        self.line = 0
        self.reader = csv.reader(self._texts(log), strict=True)

    def _texts(self, log: Path) -> Iterator[str]:
        for number, line in lines_of(log):
            self.line = number
            if number == 1:
                line = line[3:] if line.startswith(b"\xef\xbb\xbf") else line
            yield line.decode("utf-8", "surrogateescape") + "\n"


class _Row:
    def __init__(self, words: list[str], places: dict[str, int]):
        self._words = words
        self._places = places

    def word(self, name: str) -> bytes:
        place = self._places.get(name)
        if place is None:
            return b""
        if place >= len(self._words):
            raise Malformed(f"{len(self._words)} columns, and {name!r} is the {place + 1}th")
        return os.fsencode(self._words[place].strip())

    def time(self, name: str) -> int | None:
        """Nanoseconds of a column in seconds, or of the one that ends in _ns."""
        readers: list[tuple[str, Callable[[bytes, str], int]]] = [
            (name + "_ns", whole),
            (name, seconds_ns),
        ]
        for column, reader in readers:
            if column in self._places and (word := self.word(column)):
                return reader(word, f"the {name}")
        return None


class _Times:
    """When calls were, as far as a table tells it; else their lines' order, a nanosecond apart."""

    def __init__(self, places: dict[str, int]):
        self.starts = bool({"start", "start_ns"} & places.keys())
        self._ends = bool({"end", "end_ns"} & places.keys())
        self._lasts = bool({"duration", "duration_ns"} & places.keys())
        self._newest_ns = 0
        self._end_ns: dict[int, int] = {}  # of the last call of each process

    def of(self, row: _Row, process: int) -> tuple[int, int]:
        """Start and end in ns. Raises Malformed."""
        duration = row.time("duration") if self._lasts else None
        end = row.time("end") if self._ends and self.starts else None
        if self.starts:
            start = row.time("start")
            if start is None:
                raise Malformed("no start")
            if end is None and duration is None and (self._ends or self._lasts):
                raise Malformed("no end and no duration")
            return start, start + (duration or 0) if end is None else end
        start = max(self._newest_ns + 1, self._end_ns.get(process, 0))
        self._newest_ns = start
        self._end_ns[process] = start + (duration or 0)
        return start, start + (duration or 0)


def _add(row: _Row, sink: AccessSink, any_call: bool, times: _Times) -> None:
    op = row.word("op").decode("utf-8", "backslashreplace")
    kind = kind_of(op)
    layer = row.word("layer") or b"posix"
    mpi_io = layer in (b"mpi", b"mpiio")
    if layer not in (b"posix", b"stdio", b"mpi", b"mpiio", b"hdf5", b"iotune"):
        raise Malformed(f"the layer is {quoted(layer)}: posix, stdio or mpiio")
    if kind is None and not any_call:
        wrong = quoted(row.word("op"))
        raise Malformed(f"the operation is {wrong}: read, write, open, close, sync")
    moves = kind in (READ, WRITE)
    # In a table of all calls many are of no file, or failed.
    if any_call and (
        kind is None
        or not row.word("file")
        or (moves and not (row.word("offset") and row.word("length")))
    ):
        sink.left_out[op[:30]] += 1
        return
    assert kind is not None
    rank = row.word("rank")
    pid = row.word("pid") or row.word("process")
    number = whole(rank, "the rank", -1, _MOST_RANK) if rank else -1
    host = row.word("host")
    who = (host, number, pid)
    process = sink.process(
        who, None if number < 0 else number, whole(pid, "the pid") if pid else 0, host
    )
    start, end = times.of(row, process)
    sink.add(
        process,
        kind,
        row.word("file"),
        whole(row.word("offset"), "the offset") if moves else 0,
        whole(row.word("length"), "the length") if moves else 0,
        start,
        end,
        mpi_io=mpi_io,
    )
