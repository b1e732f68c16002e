"""A table with a head line; columns in docs/import.md. Also what `iotune export` writes."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from iotune.errors import Error
from iotune.importing.lines import UTF8_MARK, Malformed, lines_of, quoted, seconds_ns, whole
from iotune.importing.nesting import LoggedCall
from iotune.importing.placing import Beside, ByLevel, ByTime, Placer
from iotune.importing.plain_rows import take_plain_rows
from iotune.importing.sink import (
    MOST_RANK,
    MPI_IO,
    POSIX,
    READ,
    STDIO,
    WRITE,
    AccessSink,
    kind_of,
    mpi_kind_of,
)
from iotune.importing.table_head import Head, head_named, head_of, is_head, rows_of

_MOST_LEVEL = 8
_MOST_LINE_BYTES = 16 << 20  # an export's row has a call's whole selection
_LAYERS = {b"posix": POSIX, b"stdio": STDIO, b"mpi": MPI_IO, b"mpiio": MPI_IO}


def read(log: Path, sink: AccessSink) -> None:
    """Put all rows of `log` into the sink."""
    csv.field_size_limit(_MOST_LINE_BYTES)
    rows = _Rows(log)
    try:
        head = rows.head() if sink.columns is None else rows.named(sink.columns)
        times = _Times(head.places)
        if not times.starts:
            sink.notes.append(
                "no column 'start': calls have the order of their lines, and no times"
            )
        placer: Placer
        if head.is_export:
            placer = ByLevel(sink)
        else:
            placer = ByTime(sink) if times.starts and "layer" in head.places else Beside(sink)
        rows.go_on(*take_plain_rows(log, head, sink, rows.next_byte()))
        for row in rows.below(head):
            _add(row, sink, head, times, placer)
        placer.end()
    except (Malformed, csv.Error) as problem:
        raise Error(f"{log}:{max(rows.line, 1)}: {problem}") from None


class _Rows:
    """Rows, and the line at which the reader stands."""

    def __init__(self, log: Path):
        self.line = 0
        self._log = log
        self._end = 0  # of the line, in bytes
        self._lines = self._numbered()
        self._first: bytes | None = None  # of the rows, where it was read to find the head

    def head(self) -> Head:
        """The head line, in a comment or not. Raises Malformed."""
        commented: Head | None = None
        for line in self._lines:
            if not line.strip():
                continue
            if line.startswith(b"#"):
                bare = line.lstrip(b"#").rstrip(b"\r\n")
                commented = head_of(bare) if is_head(bare) else commented
                continue
            if commented is None or is_head(line.rstrip(b"\r\n")):
                return head_of(line.rstrip(b"\r\n"))
            self._first = line
            return commented
        if commented is None:
            raise Malformed("empty")
        return commented

    def named(self, columns: str) -> Head:
        """The columns as the user named them, with the first row's separator. Raises Malformed."""
        for line in self._lines:
            if line.strip() and not line.startswith(b"#"):
                if not is_head(line.rstrip(b"\r\n")):
                    self._first = line
                return head_named(columns, line.rstrip(b"\r\n"))
        raise Malformed("empty")

    def next_byte(self) -> int:
        """Where the first row begins."""
        return self._end - len(self._first or b"")

    def go_on(self, byte: int, lines: int) -> None:
        """Leave out so many lines: the row at `byte` is the next."""
        if byte == self.next_byte():
            return
        self.line += lines - (0 if self._first is None else 1)
        self._first = None
        self._end = byte
        self._lines = self._numbered()

    def below(self, head: Head) -> Iterator[_Row]:
        """All rows. Raises Malformed, csv.Error."""
        for words in rows_of(self._texts(), head.separator, exact=head.is_export):
            if not words:
                continue
            if len(words) > head.width and any(word.strip() for word in words[head.width :]):
                raise Malformed(f"{len(words)} columns, and the head line has {head.width}")
            yield _Row(words, head)

    def _texts(self) -> Iterator[str]:
        # With their ends: a quoted name may have some within.
        if self._first is not None:
            yield self._first.decode("utf-8", "surrogateescape")
        for line in self._lines:
            yield line.decode("utf-8", "surrogateescape")

    def _numbered(self) -> Iterator[bytes]:
        behind = (self._end, self.line)
        for number, line in lines_of(self._log, _MOST_LINE_BYTES, with_ends=True, behind=behind):
            self.line = number
            self._end += len(line)
            yield line.removeprefix(UTF8_MARK) if number == 1 else line


class _Row:
    def __init__(self, words: list[str], head: Head):
        self._words = words
        self._places = head.places
        self._exact = head.is_export
        # Who has commas elsewhere may have them within numbers.
        self._decimal = b"." if head.separator == "," else b","

    def word(self, name: str) -> bytes:
        place = self._places.get(name)
        if place is None:
            return b""
        if place >= len(self._words):
            raise Malformed(f"{len(self._words)} columns, and {name!r} is the {place + 1}th")
        word = self._words[place]
        return os.fsencode(word if self._exact else word.strip())

    def time(self, name: str) -> int | None:
        """Nanoseconds of a column in seconds, or of the one that ends in _ns."""
        readers: list[tuple[str, Callable[[bytes, str], int]]] = [
            (name + "_ns", whole),
            (name, seconds_ns),
        ]
        for column, reader in readers:
            if column in self._places and (word := self.word(column)):
                return reader(word.replace(self._decimal, b"."), f"the {name}")
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


def _add(row: _Row, sink: AccessSink, head: Head, times: _Times, placer: Placer) -> None:
    op = row.word("op").decode("utf-8", "backslashreplace")
    word = row.word("layer") or b"posix"
    layer = _LAYERS.get(word)
    kind, collective = mpi_kind_of(op)
    unknown_mode = kind is None
    if kind is not None:
        layer = MPI_IO
    else:
        kind = kind_of(op)
    # A table of all calls has some of other layers.
    if layer is None and not (head.any_call and word in (b"hdf5", b"iotune", b"unknown")):
        raise Malformed(f"the layer is {quoted(word)}: posix, stdio or mpiio")
    if kind is None and not head.any_call:
        wrong = quoted(row.word("op"))
        raise Malformed(f"the operation is {wrong}: read, write, open, close, sync")
    moves = kind in (READ, WRITE)
    # In a table of all calls many are of no file, or failed. Of MPI-IO's the place may be unknown.
    needed = ["length"] if layer == MPI_IO else ["offset", "length"]
    if head.any_call and (
        kind is None
        or layer is None
        or not row.word("file")
        or (moves and not all(row.word(name) for name in needed))
    ):
        sink.left_out[op[:30]] += 1
        return
    assert kind is not None and layer is not None
    rank = row.word("rank")
    pid = row.word("pid") or row.word("process")
    number = whole(rank, "the rank", -1, MOST_RANK) if rank else -1
    host = row.word("host")
    who = (host, number, pid)
    process = sink.process(
        who, None if number < 0 else number, whole(pid, "the pid") if pid else 0, host
    )
    start, end = times.of(row, process)
    length = whole(row.word("length"), "the length") if moves else 0
    placed = None
    if moves and layer == MPI_IO:
        if unknown_mode:  # "write" may be either
            sink.note_mode(row.word("file"), kind, "unknown")
        placed = length == 0 or bool(row.word("offset"))
    offset = whole(row.word("offset"), "the offset") if moves and row.word("offset") else 0
    if moves and not row.word("offset") and not head.any_call:
        whole(b"", "the offset")  # says what is missing
    call = LoggedCall(
        *(kind, row.word("file"), offset, length, start, end),
        layer=layer,
        collective=collective,
        placed=placed,
    )
    thread = level = 0
    if head.is_export:
        thread = whole(row.word("thread"), "the thread", most=MOST_RANK)
        level = whole(row.word("level"), "the level", most=_MOST_LEVEL)
    placer.add(process, call, thread, level)
