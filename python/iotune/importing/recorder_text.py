"""Recorder's text form: what recorder2text writes into _text/, a file a rank (N.txt).

A line is `start end name level type ( arguments )`; earlier versions write
`start end result name ( arguments )`. Times are seconds. Where the first argument of a POSIX call
is a path, it replaces the descriptor; earlier ones have the descriptor, which the result of its
open tells. Positions of read, write, fread and fwrite follow from the calls before them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from iotune.errors import Error
from iotune.importing.lines import Malformed, lines_of, quoted, seconds_ns, whole
from iotune.importing.nesting import LoggedCall, Nesting
from iotune.importing.sink import (
    CLOSE,
    MPI_IO,
    OPEN,
    POSIX,
    READ,
    SYNC,
    WRITE,
    AccessSink,
    function_of,
    kind_of,
)
from iotune.traces.call_meaning import Meaning, meaning_of

_LINE = re.compile(
    rb"(?P<start>[\d.]+) (?P<end>[\d.]+) "
    rb"(?:(?P<result>\S+) (?P<old>[A-Za-z_]\w*)|(?P<name>\S+) -?\d+ -?\d+)"
    rb" ?\((?P<arguments>.*)\)\s*"
)
_O_CREAT, _O_TRUNC, _O_APPEND = 0o100, 0o1000, 0o2000
_MPI_SEEK_SET, _MPI_SEEK_CUR = 600, 602  # MPICH's and Open MPI's
_TYPE_BYTES = {
    **dict.fromkeys((b"MPI_BYTE", b"MPI_CHAR", b"MPI_SIGNED_CHAR", b"MPI_UNSIGNED_CHAR"), 1),
    **dict.fromkeys((b"MPI_SHORT", b"MPI_UNSIGNED_SHORT"), 2),
    **dict.fromkeys((b"MPI_INT", b"MPI_UNSIGNED", b"MPI_FLOAT", b"MPI_INTEGER", b"MPI_REAL"), 4),
    **dict.fromkeys((b"MPI_LONG", b"MPI_UNSIGNED_LONG", b"MPI_DOUBLE", b"MPI_LONG_LONG"), 8),
    **dict.fromkeys((b"MPI_LONG_LONG_INT", b"MPI_DOUBLE_PRECISION"), 8),
}
# How Recorder writes the calls that are understood. Arguments before, and arguments behind, the
# descriptor or path of each. A path may hold blanks.
_AROUND = {
    **dict.fromkeys(("read", "write"), (0, 2)),
    **dict.fromkeys(("pread", "pwrite"), (0, 3)),
    **dict.fromkeys(("readv", "writev"), (0, 2)),
    **dict.fromkeys(("fread", "fwrite"), (3, 0)),
    **dict.fromkeys(("lseek", "fseek", "fseeko"), (0, 2)),
    **dict.fromkeys(("close", "fclose", "fsync", "fdatasync"), (0, 0)),
}
_OPENS = ("open", "openat", "creat", "fopen")  # each in a way of its own: _open


def is_call(line: bytes) -> bool:
    """Whether a line is one of Recorder's."""
    return _LINE.fullmatch(line) is not None


def read(log: Path, sink: AccessSink) -> None:
    """Put all calls into the sink; `log` is a rank's file or the folder of all."""
    files = list(_rank_files(log))
    for rank, path in files:
        try:
            _RankFile(path, sink, rank).run()
        except Malformed as problem:
            raise Error(f"{path}: {problem}") from None


def _rank_files(log: Path) -> Iterator[tuple[int, Path]]:
    if not log.is_dir():
        yield (int(log.stem) if log.stem.isdigit() and len(log.stem) < 8 else 0), log
        return
    folder = log / "_text" if (log / "_text").is_dir() else log
    found = sorted(
        (int(path.stem), path)
        for path in folder.glob("*.txt")
        if path.stem.isdigit() and len(path.stem) < 8
    )
    if not found:
        raise Error(f"{log}: no files 0.txt, 1.txt, …: recorder2text writes them")
    yield from found


@dataclass
class _Stream:
    """An open descriptor or stream, or in the newer form all of a path."""

    path: bytes
    position: int = 0
    append: bool = False


@dataclass
class _MpiFile:
    path: bytes
    position: int | None = 0  # in elements of the view
    displacement: int = 0
    element_bytes: int | None = 1  # None: the view is not known


@dataclass
class _Line:
    start_ns: int
    end_ns: int
    name: str
    result: bytes | None
    arguments: list[bytes]

    def number(self, place: int, name: str) -> int:
        """An argument, counted from the front or (negative) from behind."""
        try:
            return whole(self.arguments[place], name, -(1 << 62))
        except IndexError:
            raise Malformed(f"{self.name} with {len(self.arguments)} argument(s)") from None


@dataclass
class _RankFile:
    path: Path
    sink: AccessSink
    rank: int
    streams: dict[bytes, _Stream] = field(default_factory=dict)
    mpi_files: dict[bytes, _MpiFile] = field(default_factory=dict)
    unclaimed: list[_MpiFile] = field(default_factory=list)
    hidden: set[bytes] = field(default_factory=set)  # files with places that are not known
    sizes: dict[bytes, int] = field(default_factory=dict)

    def run(self) -> None:
        process = self.sink.process(self.rank, self.rank)
        self._process = process
        self._nesting = Nesting(self.sink, process)
        at = 0
        try:
            for number, text in lines_of(self.path):
                at = number
                if text.strip():
                    self._take(_parsed(text))
            self._nesting.end()
        except Malformed as problem:
            raise Error(f"{self.path}:{at}: {problem}") from None

    def _take(self, line: _Line) -> None:
        if line.end_ns < line.start_ns:
            raise Malformed(f"ends {(line.start_ns - line.end_ns) / 1e9:g} s before it starts")
        if line.name.startswith("MPI_File_"):
            self._mpi(line)
        elif line.name.removesuffix("64") in _AROUND or function_of(line.name) in _OPENS:
            self._posix(line, line.name.removesuffix("64"))
        else:
            self.sink.left_out[line.name] += 1

    def _put(
        self, line: _Line, kind: int, path: bytes, offset: int, length: int, mpi: bool = False
    ) -> None:
        means = meaning_of(line.name)
        if kind in (READ, WRITE):
            self.sizes[path] = max(self.sizes.get(path, 0), offset + length)
        self._nesting.add(
            LoggedCall(
                *(kind, path, offset, length, line.start_ns, line.end_ns),
                layer=MPI_IO if mpi else POSIX,
                collective=mpi and means.transfer and means.collective,
            )
        )

    def _leave_out(self, line: _Line, why: str) -> None:
        self.sink.left_out[f"{line.name}, {why}"] += 1

    # POSIX and stdio

    def _posix(self, line: _Line, name: str) -> None:
        if line.result is not None and line.result.startswith(b"-"):
            return self._leave_out(line, "failed")
        if function_of(name) in _OPENS:
            return self._open(line, name)
        before, behind = _AROUND[name]
        words = line.arguments
        if len(words) <= before + behind:
            raise Malformed(f"{name} with {len(words)} argument(s)")
        who = b" ".join(words[before : len(words) - behind])
        stream = self.streams.get(who)
        if stream is None:
            if who.lstrip(b"-").isdigit() or who.startswith(b"0x"):
                return self._leave_out(line, "of a file that was not opened")
            stream = self.streams[who] = _Stream(who)
        kind = kind_of(name)
        if kind == CLOSE:
            self.streams.pop(who)
        if kind in (CLOSE, SYNC):
            return self._put(line, int(kind or CLOSE), stream.path, 0, 0)
        if name in ("lseek", "fseek", "fseeko"):
            return self._seek(line, stream)
        assert kind is not None
        length = self._length(line, name)
        if name in ("pread", "pwrite"):
            return self._put(line, kind, stream.path, line.number(-1, "the offset"), length)
        if stream.append and kind == WRITE:
            stream.position = self.sizes.get(stream.path, 0)
        offset = stream.position
        self._put(line, kind, stream.path, offset, length)
        stream.position = offset + length
        return None

    def _length(self, line: _Line, name: str) -> int:
        if name in ("fread", "fwrite"):
            asked = line.number(1, "the size") * line.number(2, "the count")
        elif name in ("readv", "writev"):
            asked = line.number(-2, "the length")
        else:
            asked = line.number(-2 if name in ("pread", "pwrite") else -1, "the length")
        # Some versions have 0 here whatever the call returned.
        got = line.result
        if got is not None and got.isdigit() and 0 < int(got[:19]) < asked and name[0] != "f":
            return int(got[:19])
        return asked

    def _open(self, line: _Line, name: str) -> None:
        words = list(line.arguments)
        append = truncates = False
        if name == "fopen":
            append = bool(words) and words[-1].startswith(b"a")
            truncates = bool(words) and words[-1].startswith(b"w")
            words = words[:-1]
        elif name in ("creat", "creat64"):
            truncates, words = True, words[:-1]
        else:
            flags = -1
            if len(words) > 2 and words[-1].isdigit() and words[-2].isdigit():
                flags = int(words[-2][:19])
            if flags >= 0 and flags & _O_CREAT:
                words = words[:-2]
            elif len(words) > 1 and words[-1].isdigit():
                flags = int(words[-1][:19])
                words = words[:-1]
            append = flags >= 0 and bool(flags & _O_APPEND)
            truncates = flags >= 0 and bool(flags & _O_TRUNC)
            if name.startswith("openat") and len(words) > 1:
                words = words[1:]
        path = b" ".join(words)
        if not path:
            raise Malformed(f"{line.name} without a path")
        if truncates:
            self.sizes[path] = 0
        # One that appends is read from the beginning on.
        self.streams[path if line.result is None else line.result] = _Stream(path, 0, append)
        self._put(line, OPEN, path, 0, 0)

    def _seek(self, line: _Line, stream: _Stream) -> None:
        offset, whence = line.number(-2, "the offset"), line.number(-1, "whence")
        base = {0: 0, 1: stream.position, 2: self.sizes.get(stream.path, 0)}.get(whence)
        if base is None:
            raise Malformed(f"whence is {whence}")
        if base + offset < 0:
            raise Malformed(f"a seek to {base + offset}")
        stream.position = base + offset
        result = line.result or b""
        if line.name.startswith("lseek") and result.isdigit() and 0 < int(result[:19]) <= 1 << 62:
            stream.position = int(result[:19])  # some versions have 0 whatever it returned
        elif whence == 2:
            self._leave_out(line, "from an end that the log may not know")

    # MPI-IO

    def _mpi(self, line: _Line) -> None:
        words, means = line.arguments, meaning_of(line.name)
        if means.opens_file:
            if len(words) < 5:
                raise Malformed(f"{line.name} with {len(words)} argument(s)")
            opened = _MpiFile(b" ".join(words[1:-3]))
            self.mpi_files[words[-1]] = opened
            # Some versions have the handle's address here and its value later.
            self.unclaimed.append(opened)
            return self._put(line, OPEN, opened.path, 0, 0, True)
        closes, seeks = means.does("closes", "file"), means.does("seeks", "file")
        new_view = means.does("changes", "view")
        known = means.transfer or not means.shared and (closes or seeks or new_view)
        if not known:
            self.sink.left_out[line.name] += 1
            return None
        if not words:
            raise Malformed(f"{line.name} without arguments")
        file = self._mpi_file(words[0])
        if file is None:
            return self._leave_out(line, "of a file that was not opened")
        if closes:
            self.mpi_files = {k: one for k, one in self.mpi_files.items() if one is not file}
            return self._put(line, CLOSE, file.path, 0, 0, True)
        if new_view:
            return self._mpi_view(words, file)
        return self._mpi_seek(line, file) if seeks else self._mpi_transfer(line, means, file)

    def _mpi_seek(self, line: _Line, file: _MpiFile) -> None:
        offset, whence = line.number(1, "the offset"), line.number(2, "whence")
        if whence in (0, _MPI_SEEK_SET):
            file.position = max(offset, 0)
        elif whence in (1, _MPI_SEEK_CUR):
            file.position = None if file.position is None else max(file.position + offset, 0)
        else:
            file.position = None  # from the end, which other ranks may have moved

    @staticmethod
    def _mpi_view(words: list[bytes], file: _MpiFile) -> None:
        """Types have names only: what is known is a view of nothing but elements of MPI's own."""
        displacement, element, tile, representation = ([*words, *[b""] * 5])[1:5]
        known = tile in _TYPE_BYTES and representation in (b"native", b"")
        file.position = 0
        file.element_bytes = _TYPE_BYTES.get(element) if known and displacement.isdigit() else None
        if file.element_bytes is not None:
            file.displacement = whole(displacement, "the displacement")

    def _hide(self, path: bytes, hidden: bool) -> None:
        if hidden != (path in self.hidden):
            self._nesting.end()
            self.sink.hide_mpi_positions(self._process, path, hidden)
            (self.hidden.add if hidden else self.hidden.discard)(path)

    def _mpi_transfer(self, line: _Line, means: Meaning, file: _MpiFile) -> None:
        at = means.offset is not None
        place = means.arguments.index("count")
        count = line.number(place, "the count")
        kind = line.arguments[place + 1] if len(line.arguments) > place + 1 else b""
        if kind not in _TYPE_BYTES:
            return self._leave_out(line, f"of {kind.decode('utf-8', 'backslashreplace')[:30]}")
        length, element = count * _TYPE_BYTES[kind], file.element_bytes
        # Where the pointer that all ranks share stands is other ranks' doing.
        position = None if means.shared else file.position
        if at:
            position = line.number(means.arguments.index("offset"), "the offset")
        self._hide(file.path, element is None or position is None)
        offset = position or 0
        if element is not None:
            offset = file.displacement + offset * element
        self._put(line, WRITE if means.writes else READ, file.path, offset, length, True)
        if not at and not means.shared and file.position is not None:
            file.position += length // (element or 1)
        return None

    def _mpi_file(self, handle: bytes) -> _MpiFile | None:
        found = self.mpi_files.get(handle)
        if found is None and len(self.unclaimed) == 1:
            found = self.mpi_files[handle] = self.unclaimed[0]
        if found is not None:
            self.unclaimed = [one for one in self.unclaimed if one is not found]
        return found


def _parsed(text: bytes) -> _Line:
    match = _LINE.fullmatch(text)
    if match is None:
        raise Malformed(f"{quoted(text)} is no call of Recorder's")
    return _Line(
        seconds_ns(match["start"], "the start"),
        seconds_ns(match["end"], "the end"),
        (match["name"] or match["old"]).decode("utf-8", "backslashreplace"),
        match["result"],
        match["arguments"].split(),
    )
