"""Calls of MPI-IO around those of POSIX: a trace has inner calls before the outer one."""

from __future__ import annotations

from dataclasses import dataclass, replace

from iotune.importing.sink import CLOSE, IN_MPI_IO, MPI_IO, OPEN, POSIX, AccessSink

_MOST_INSIDE = 1 << 16  # of one call: memory stays bounded


@dataclass(frozen=True)
class LoggedCall:
    """An access as the log has it."""

    kind: int
    path: bytes
    offset: int
    length: int
    start_ns: int
    end_ns: int
    layer: int = POSIX
    collective: bool = False
    placed: bool | None = None  # of MPI-IO: whether its place is known; None: as the sink was set


class Nesting:
    """Takes a process's calls in the order of their starts, of equal ones the longest first."""

    def __init__(self, sink: AccessSink, process: int):
        self._sink = sink
        self._process = process
        self._outer: LoggedCall | None = None
        self._inside: list[LoggedCall] = []

    def add(self, call: LoggedCall) -> None:
        """Raises Malformed, also for calls that were given before it."""
        outer = self._outer
        if (
            outer is not None
            and call.layer != MPI_IO
            and outer.start_ns <= call.start_ns
            and call.end_ns <= outer.end_ns
            and call.start_ns <= call.end_ns
            and len(self._inside) < _MOST_INSIDE
        ):
            self._inside.append(call)
            return
        self.end()
        if call.layer == MPI_IO:
            self._outer = call
        else:
            self._put(call, None, 0)

    def end(self) -> None:
        """Hand on what is held."""
        outer, inside = self._outer, self._inside
        self._outer, self._inside = None, []
        if outer is None:
            return
        if outer.placed is not None:
            self._sink.hide_mpi_positions(self._process, outer.path, not outer.placed)
        thread = self._sink.thread(self._process, outer.start_ns, max(outer.start_ns, outer.end_ns))
        if inside and outer.kind not in (OPEN, CLOSE):
            # Where the file was not seen to be opened, it is opened before what runs inside.
            opened = replace(outer, kind=OPEN, offset=0, length=0, end_ns=outer.start_ns)
            self._put(opened, thread, 0)
        for call in sorted(inside, key=lambda one: one.end_ns):
            self._put(call, thread, IN_MPI_IO)
        self._put(outer, thread, 0)

    def _put(self, call: LoggedCall, thread: int | None, layers: int) -> None:
        self._sink.add(
            self._process,
            call.kind,
            call.path,
            call.offset,
            call.length,
            call.start_ns,
            call.end_ns,
            thread=thread,
            layer=call.layer,
            collective=call.collective,
            layers=layers,
        )
