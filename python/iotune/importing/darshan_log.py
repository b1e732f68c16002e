"""Darshan's logs, by PyDarshan: counters as totals, and calls where the log has them (DXT).

PyDarshan is C underneath and trusts a log; so a process of its own reads it (darshan_worker), and
what that says is checked here. DXT keeps the extents of MPI-IO's requests, not where data lie under
a view: where POSIX was traced too and moved other bytes, the positions of MPI-IO are marked as
unknown. So are those that old versions did not record. Whether a transfer was collective the
counters of MPI-IO say, by file and direction.
"""

from __future__ import annotations

import contextlib
import gzip
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote_to_bytes

from iotune.errors import Error
from iotune.importing.darshan_said import say_of_log
from iotune.importing.darshan_text import DarshanText
from iotune.importing.darshan_totals import DarshanTotals
from iotune.importing.lines import (
    LARGEST_TIME_NS,
    MOST_LINE_BYTES,
    Malformed,
    is_packed,
    open_log,
)
from iotune.importing.nesting import LoggedCall, Nesting
from iotune.importing.sink import MPI_IO, POSIX, READ, WRITE, AccessSink

_MOST_HELD = 1 << 20  # calls of one rank that are sorted together


def read_text(log: Path, sink: AccessSink) -> None:
    """Put what darshan-parser or darshan-dxt-parser wrote into the sink."""
    text = DarshanText(log)
    try:
        _Reader(log, sink).run(text.words())
    except (Malformed, ValueError) as problem:
        raise Error(f"{log}:{max(text.line, 1)}: {problem}") from None


def read(log: Path, sink: AccessSink) -> None:
    """Put all segments of `log` into the sink, rank by rank."""
    if not _installed():
        raise Error(f"{log}: reading Darshan's logs needs PyDarshan: pip install 'iotune[darshan]'")
    reader = _Reader(log, sink)
    try:
        with _unpacked(log) as bare, contextlib.closing(_worker_lines(bare)) as lines:
            reader.run(lines)
    except (Malformed, ValueError, IndexError, OverflowError) as problem:
        where = f"record {reader.record}" if reader.record else "its head"
        raise Error(f"{log}: {where}: {problem}") from None


@contextlib.contextmanager
def _unpacked(log: Path) -> Iterator[Path]:
    """The log, or what gzip packed in a file of its own: PyDarshan reads no packed ones."""
    if not is_packed(log):
        yield log
        return
    with tempfile.NamedTemporaryFile(suffix=".darshan") as bare, open_log(log) as packed:
        try:
            shutil.copyfileobj(packed, bare)
        except (EOFError, zlib.error, gzip.BadGzipFile) as problem:
            raise Malformed(f"packed by gzip, and damaged: {problem}") from None
        bare.flush()
        yield Path(bare.name)


def _installed() -> bool:
    try:
        return importlib.util.find_spec("darshan") is not None
    except (ImportError, ValueError):
        return False


class _Reader:
    def __init__(self, log: Path, sink: AccessSink):
        self._log = log
        self._sink = sink
        self._zero_ns = 0
        self._ranks = 0
        self.record = 0  # that was read last
        self._rank = -1
        self._host = b""
        self._path = b""
        self._mpi_io = False
        self._held: list[LoggedCall] = []
        self._said_unplaced = False
        self._posix_files: set[bytes] = set()  # that POSIX was traced of, on any rank
        self._true: set[bytes] = set()  # files of which MPI-IO's extents are positions
        self._unplaced: set[bytes] = set()  # of this rank: MPI-IO's offsets are not in the log
        self._totals = DarshanTotals()
        self._traced: set[str] = set()  # paths of which there are calls
        self._modes: dict[tuple[bytes, int], str] = {}

    def run(self, lines: Iterable[list[str]]) -> None:
        """Take what the worker says, or a text in its words. Raises Malformed, ValueError."""
        ended = False
        for words in lines:
            ended = words[0] == "end"
            self._take(words)
        self._flush()
        if not ended:
            raise Malformed("ends before its end")
        self._sink.totals = self._totals.made()
        self._sink.start_ns = self._zero_ns
        say_of_log(self._sink, self._totals, self._traced)

    def _take(self, words: list[str]) -> None:
        kind = words[0]
        if kind in ("r", "w"):
            self._segment(words)
        elif kind == "record":
            self.record += 1
            _, module, rank, host, path = words
            if int(rank) != self._rank:
                self._flush()
            self._rank, self._host = int(rank), unquote_to_bytes(host)
            self._path = unquote_to_bytes(path)
            self._traced.add(os.fsdecode(self._path))
            self._mpi_io = module == "DXT_MPIIO"
            if not self._mpi_io:
                self._posix_files.add(self._path)
        elif kind == "job":
            self._zero_ns = int(words[1]) * 1_000_000_000 + int(words[2])
            self._ranks = int(words[3])
            command = unquote_to_bytes(words[4] if len(words) > 4 else "").split()
            if not 0 < self._ranks <= 1 << 20:
                raise Malformed(f"a run of {self._ranks} ranks")
            if not 0 <= self._zero_ns < LARGEST_TIME_NS:
                raise Malformed(f"the run began at {words[1]} s")
            self._sink.ranks = self._ranks
            if command:
                self._sink.program = os.fsdecode(command[0])
                self._sink.arguments = [os.fsdecode(word) for word in command]
            self._totals.ranks = self._ranks
        elif kind == "below":
            self._posix_files.add(unquote_to_bytes(words[1]))
        elif kind == "true":
            self._true.add(unquote_to_bytes(words[1]))
        elif kind == "fail":
            raise Malformed(" ".join(words[1:])[:300])
        else:
            self._take_total(kind, words)

    def _take_total(self, kind: str, words: list[str]) -> None:
        totals = self._totals
        if kind == "counted":
            self.record += 1
            _, module, rank, name, *counters = words
            totals.take(module, int(rank), _text(name), json.loads(" ".join(counters)))
        elif kind == "heat":
            said = json.loads(" ".join(words[3:]))
            totals.heat(_text(words[2]), said["width"], said["read"], said["write"])
        elif kind == "run":
            seconds = float(words[1])
            if not 0 <= seconds < 1e9:
                raise Malformed(f"a run of {words[1]} s")
            totals.seconds = seconds
            self._sink.version = _text(words[2])
        elif kind == "module":
            name = _text(words[1])
            totals.modules.append(name)
            if words[2] == "1":
                totals.cut.append(name)
        elif kind == "mount":
            totals.mounts.append((_text(words[1]), _text(words[2])))

    def _mode(self, kind: int) -> str:
        """Of MPI-IO's transfers in this direction of the file of the record."""
        key = (self._path, kind)
        if key not in self._modes:
            found = self._totals.mode(os.fsdecode(self._path), kind == WRITE)
            self._modes[key] = found
            self._sink.note_mode(self._path, kind, found)
        return self._modes[key]

    def _segment(self, words: list[str]) -> None:
        kind, offset, length, start, end = words
        if offset == "?" and self._mpi_io:
            self._unplaced.add(self._path)
            offset = "0"
        if int(offset) < 0 or int(length) < 0:
            raise Malformed(f"offset {offset} and length {length} cannot be")
        times = []
        for name, word in (("starts", start), ("ends", end)):
            seconds = float(word)
            if not 0 <= seconds < 1e9:  # also not a number
                raise Malformed(f"a call {name} {word} s after the run did")
            times.append(self._zero_ns + round(seconds * 1e9))
        way = READ if kind == "r" else WRITE
        self._held.append(
            LoggedCall(
                way,
                self._path,
                int(offset),
                int(length),
                times[0],
                times[1],
                MPI_IO if self._mpi_io else POSIX,
                collective=self._mpi_io and self._mode(way) == "collective",
            )
        )
        if len(self._held) >= _MOST_HELD:
            self._flush()

    def _flush(self) -> None:
        """Hand on what is held, in the order of time: records go by files."""
        held, self._held = self._held, []
        if not held:
            self._unplaced.clear()
            return
        process = self._sink.process(self._rank, self._rank, host=self._host)
        mpi_files = {call.path for call in held if call.layer == MPI_IO}
        untrue = (mpi_files & self._posix_files) - self._true
        for path in sorted(untrue | self._unplaced):
            self._sink.hide_mpi_positions(process, path)
        if self._unplaced and not self._said_unplaced:
            self._said_unplaced = True
            self._sink.notes.append("the offsets of MPI-IO were not recorded: their places are ?")
        self._unplaced.clear()
        held.sort(key=lambda call: (call.start_ns, -call.end_ns, call.layer != MPI_IO))
        nesting = Nesting(self._sink, process)
        for call in held:
            nesting.add(call)
        nesting.end()


def _text(word: str) -> str:
    return os.fsdecode(unquote_to_bytes(word))


def _worker_lines(log: Path) -> Generator[list[str], None, None]:
    """What the worker says. Raises Malformed where it failed, or was ended by a signal."""
    worker = Path(__file__).with_name("darshan_worker.py")
    with tempfile.TemporaryFile() as talk:
        process = subprocess.Popen(
            [sys.executable, "-I", str(worker), str(log)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=talk,
            cwd="/" if log.is_absolute() else None,
        )
        assert process.stdout is not None
        try:
            while line := process.stdout.readline(MOST_LINE_BYTES):
                yield line.decode("utf-8", "surrogateescape").split()
            status = process.wait()
            talk.seek(0)
            said = talk.read(4096).decode("utf-8", "replace").strip().splitlines()
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
    if status < 0:
        raise Malformed(f"PyDarshan crashed on it (signal {-status}): the log is damaged")
    if status > 0:
        raise Malformed(f"PyDarshan cannot read it: {said[-1][:200] if said else status}")
    # libdarshan-util says so and goes on as if the log ended there.
    errors = [line for line in said if line.startswith("Error")]
    if errors:
        raise Malformed(errors[0].removeprefix("Error: ")[:200])
