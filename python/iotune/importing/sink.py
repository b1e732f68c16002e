"""Where the readers of logs put what they find."""

from __future__ import annotations

import functools
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

from iotune.importing.lines import LARGEST_OFFSET, LARGEST_TIME_NS, Malformed, quoted
from iotune.traces.call_meaning import meanings

# recorder/write/access_writer.h, AccessKind
READ, WRITE, OPEN, CLOSE, SYNC = range(5)
# recorder/call_table.h, Layer
MPI_IO, STDIO, POSIX = range(1, 4)
IN_MPI_IO = 1 << MPI_IO  # mask of the layers around a call: FORMAT.md, EVENTS

_MOST_PROCESSES = 1 << 20
MOST_PATH_BYTES = 4096
MOST_RANK = (1 << 31) - 1

_BY_VERB = {
    **{"reads": READ, "writes": WRITE, "opens": OPEN, "creates": OPEN},
    **{"closes": CLOSE, "syncs": SYNC},
}
# Operations of FUSE that no function of POSIX is called as.
_OF_FUSE = {"read_buf": READ, "write_buf": WRITE, "create": OPEN, "release": CLOSE, "sync": SYNC}


@functools.cache
def _kinds() -> dict[str, int]:
    """What functions of POSIX and stdio do to a file, and operations of FUSE."""
    found = (one for one in meanings().values() if one.below_mpi and one.thing == "file")
    return {one.name: _BY_VERB[one.verb] for one in found if one.verb in _BY_VERB} | _OF_FUSE


@functools.cache
def _mpi_kinds() -> dict[str, tuple[int, bool]]:
    """What functions of MPI-IO do, by their names in lower case, and whether all ranks together."""
    found = (one for one in meanings().values() if one.of_mpi_file and one.thing == "file")
    return {
        one.name.lower(): (_BY_VERB[one.verb], one.transfer and one.collective)
        for one in found
        if one.verb in _BY_VERB
    }


def mpi_kind_of(operation: str) -> tuple[int | None, bool]:
    """What a function of MPI-IO is here, and whether it is collective; None as of kind_of()."""
    return _mpi_kinds().get(operation.strip().lower(), (None, False))


def function_of(operation: str) -> str:
    """The function that a tool names: without FUSE-Tracer's trc_, underscores and 64."""
    word = operation.strip().lower().lstrip("_").removeprefix("trc_")
    return word[:-2] if word.endswith("64") else word


def kind_of(operation: str) -> int | None:
    """What an operation is here; None for one that moves nothing."""
    return _kinds().get(function_of(operation))


class AccessSink:
    """Checks what a log says, and hands it to the native writer."""

    def __init__(self, writer: Any, log: Path, run: str):
        self._writer = writer
        self._log = log
        self._run = run
        self._processes: dict[Any, int] = {}
        self._ranks: set[int] = set()
        self._hidden: set[tuple[int, bytes]] = set()  # process and file: MPI-IO's places
        self.accesses = 0
        self.notes: list[str] = []  # for who imports the log
        self.losses: list[str] = []  # what is missing of the run: the trace keeps it
        self.totals: dict[str, Any] | None = None  # traces/log_totals.py has their form
        self.start_ns = 0  # of the run, since 1970, where the log says it
        self.version = ""  # of the log's format
        self.columns: str | None = None  # of a table without a head line, as the user names them
        self._modes: dict[tuple[bytes, bool], str] = {}  # by file, and whether it is written
        self.left_out: Counter[str] = Counter()
        self.ranks = 0  # as the log says it; else the highest that was seen, and one
        self.program = self._log.name
        self.arguments: list[str] = []

    def process(self, who: Any, rank: int | None, pid: int = 0, host: bytes = b"") -> int:
        """The number of a process; without a rank it gets the next one. Raises Malformed."""
        known = self._processes.get(who)
        if known is not None:
            return known
        if rank is None:
            rank = len(self._processes)
        if not 0 <= rank < _MOST_PROCESSES or len(self._processes) >= _MOST_PROCESSES:
            raise Malformed(f"rank {rank}: more than {_MOST_PROCESSES} ranks cannot be")
        if self.ranks and rank >= self.ranks:
            raise Malformed(f"rank {rank} of a run of {self.ranks}")
        self._ranks.add(rank)
        number: int = self._writer.add_process(
            {b"rank": b"%d" % rank, b"pid": b"%d" % pid, b"host": host, b"rank_from": b"log"}
        )
        self._processes[who] = number
        return number

    def thread(self, process: int, start_ns: int, end_ns: int) -> int:
        """A thread that is free for a call and all that runs inside it. Raises Malformed."""
        try:
            return int(self._writer.take_thread(process, start_ns, end_ns))
        except ValueError as problem:
            raise Malformed(str(problem)) from None

    def add(
        self,
        process: int,
        kind: int,
        path: bytes,
        offset: int,
        length: int,
        start_ns: int,
        end_ns: int,
        thread: int | None = None,
        layer: int = POSIX,
        collective: bool = False,
        layers: int = 0,
    ) -> None:
        """One access; an inner one before those around it. Raises Malformed, Error."""
        if not path or len(path) > MOST_PATH_BYTES:
            raise Malformed(f"a path of {len(path)} bytes")
        if offset < 0 or length < 0 or offset + length > LARGEST_OFFSET:
            raise Malformed(f"offset {offset} and length {length} cannot be")
        if end_ns < start_ns:
            raise Malformed(f"ends {(start_ns - end_ns) / 1e9:g} s before it starts")
        if start_ns < 0 or end_ns > LARGEST_TIME_NS:
            raise Malformed("its time cannot be")
        try:
            self._writer.add(
                process,
                -1 if thread is None else thread,
                kind,
                path,
                offset,
                length,
                start_ns,
                end_ns,
                layer,
                collective,
                layers,
            )
        except ValueError as problem:
            raise Malformed(f"{problem}: {quoted(path)}") from None
        if kind <= WRITE:
            self.accesses += 1

    def add_all(
        self, processes: Any, kinds: Any, paths: list[bytes], names: Any, places: tuple[Any, ...]
    ) -> int:
        """Add checked reads and writes of POSIX, one after the other, and return how many.

        Arrays of a number for each: of its process, its kind, its name among `paths`; `places` are
        offset, length, start and end. Fewer than all where one cannot be. Raises Error.
        """
        count = int(self._writer.add_all(processes, kinds, paths, names, *places))
        self.accesses += count
        return count

    def note_mode(self, path: bytes, kind: int, mode: str) -> None:
        """Say whether MPI-IO's transfers of a file were collective: independent, mixed, unknown.

        Of those that are mixed or unknown the calls say nothing; who calls add() passes False then.
        """
        if mode in ("mixed", "unknown"):
            self._modes[path, kind == WRITE] = mode

    def hide_mpi_positions(self, process: int, path: bytes, hidden: bool = True) -> None:
        """Where MPI-IO's accesses of this file lie is not known from here on; or it is again."""
        if ((process, path) in self._hidden) == hidden:
            return
        (self._hidden.add if hidden else self._hidden.discard)((process, path))
        self._writer.hide_mpi_positions(process, path, hidden)

    def said_left_out(self) -> list[str]:
        """What was passed over, and how often, in one line or none."""
        if not self.left_out:
            return []
        what = ", ".join(f"{name} ({count})" for name, count in self.left_out.most_common(5))
        more = ", …" if len(self.left_out) > 5 else ""
        return [f"{self.left_out.total()} record(s) left out: {what}{more}"]

    def end(self, format: str) -> None:
        """Tell all processes of the run, once it is known; the first one has what the log said."""
        self.notes += self.said_left_out()
        if not self._processes:
            # Of totals alone: no rank, for of none there is a call.
            self._processes[None] = self._writer.add_process(
                {b"rank": b"-1", b"pid": b"0", b"host": b"", b"rank_from": b"log"}
            )
        size = max(self.ranks, max(self._ranks, default=0) + 1)
        argv = "\0".join(self.arguments or [self.program])
        shared = {
            b"size": b"%d" % size,
            b"run": self._run.encode(),
            b"program": os.fsencode(self.program),
            b"argv": os.fsencode(argv),
            b"cwd": b"/",
        }
        for number in self._processes.values():
            for key, value in shared.items():
                self._writer.set_attribute(number, key, value)
        said = self._said_of_log(format)
        self._writer.set_attribute(min(self._processes.values()), b"log", said)

    def _said_of_log(self, format: str) -> bytes:
        modes = [
            [os.fsdecode(path), "write" if writes else "read", mode]
            for (path, writes), mode in sorted(self._modes.items())
        ]
        if any(mode == "unknown" for _, _, mode in modes):
            self.losses.append(
                "the log does not say which transfers of MPI-IO were collective: their mode is "
                "unknown"
            )
        said = {
            **{"format": format, "format_version": self.version, "has_calls": self.accesses > 0},
            **{"start_ns": self.start_ns, "losses": self.losses, "modes": modes},
            **(self.totals or {}),
        }
        return json.dumps(said, separators=(",", ":")).encode()
