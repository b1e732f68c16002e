"""Which call was made inside which one, for the rows of a table.

Each placer takes rows in the table's order and hands them to the sink, inner calls first.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from iotune.importing.nesting import LoggedCall, Nesting
from iotune.importing.sink import CLOSE, MPI_IO, OPEN, AccessSink

# Calls that wait to be sorted by their times: memory stays bounded.
_MOST_HELD = 1 << 17


class Placer(Protocol):
    """Takes calls of processes; end() hands on what is held. Both raise Malformed."""

    def add(self, process: int, call: LoggedCall, thread: int, level: int) -> None: ...
    def end(self) -> None: ...


class Beside:
    """Each call stands by itself."""

    def __init__(self, sink: AccessSink):
        self._sink = sink

    def add(self, process: int, call: LoggedCall, thread: int, level: int) -> None:
        """Hand it on."""
        _tell_place(self._sink, process, call)
        _put(self._sink, process, call, None, 0)

    def end(self) -> None:
        """Nothing is held."""


class ByTime:
    """A call of POSIX or stdio that lies within one of MPI-IO is taken for its doing."""

    def __init__(self, sink: AccessSink):
        self._sink = sink
        self._held: dict[int, list[LoggedCall]] = {}
        self._count = 0

    def add(self, process: int, call: LoggedCall, thread: int, level: int) -> None:
        """Hold it."""
        self._held.setdefault(process, []).append(call)
        self._count += 1
        if self._count >= _MOST_HELD:
            self.end()

    def end(self) -> None:
        """Hand on all, process by process in the order of time."""
        held, self._held, self._count = self._held, {}, 0
        for process, calls in held.items():
            calls.sort(key=lambda one: (one.start_ns, -one.end_ns, one.layer != MPI_IO))
            nesting = Nesting(self._sink, process)
            for call in calls:
                nesting.add(call)
            nesting.end()


class ByLevel:
    """The table has each call's thread and level, each call before those made inside of it."""

    def __init__(self, sink: AccessSink):
        self._sink = sink
        self._around: dict[tuple[int, int], list[_Open]] = {}

    def add(self, process: int, call: LoggedCall, thread: int, level: int) -> None:
        """Hand on what ended before it, and hold it until what is inside of it is known."""
        stack = self._around.setdefault((process, thread), [])
        while stack and not _is_around(stack[-1], call, level):
            self._put_last(process, stack)
        if stack:
            outer = stack[-1]
            if not outer.has_inner and outer.call.kind not in (OPEN, CLOSE):
                # Where the file was not seen to be opened, it is opened before what runs inside.
                start = outer.call.start_ns
                opened = replace(outer.call, kind=OPEN, offset=0, length=0, end_ns=start)
                _put(self._sink, process, opened, outer.thread, outer.layers)
            outer.has_inner = True
            layers = outer.layers | 1 << outer.call.layer
            stack.append(_Open(call, level, outer.thread, layers))
        else:
            _tell_place(self._sink, process, call)
            own = self._sink.thread(process, call.start_ns, max(call.start_ns, call.end_ns))
            stack.append(_Open(call, level, own, 0))

    def end(self) -> None:
        """Hand on all."""
        for (process, _), stack in self._around.items():
            while stack:
                self._put_last(process, stack)

    def _put_last(self, process: int, stack: list[_Open]) -> None:
        last = stack.pop()
        _put(self._sink, process, last.call, last.thread, last.layers)


class _Open:
    """A call whose inner calls may still come."""

    __slots__ = ("call", "has_inner", "layers", "level", "thread")

    def __init__(self, call: LoggedCall, level: int, thread: int, layers: int):
        self.call = call
        self.level = level
        self.thread = thread
        self.layers = layers
        self.has_inner = False


def _is_around(outer: _Open, call: LoggedCall, level: int) -> bool:
    """Whether the call was made inside of `outer`: what was may have been left out of the table."""
    if outer.level >= level or outer.call.layer == call.layer:
        return False
    return outer.level + 1 == level or call.start_ns <= outer.call.end_ns


def _tell_place(sink: AccessSink, process: int, call: LoggedCall) -> None:
    # Before the call's thread is taken, for it is noted down where the thread stands.
    if call.placed is not None:
        sink.hide_mpi_positions(process, call.path, not call.placed)


def _put(sink: AccessSink, process: int, call: LoggedCall, thread: int | None, layers: int) -> None:
    sink.add(
        *(process, call.kind, call.path, call.offset, call.length, call.start_ns, call.end_ns),
        thread=thread,
        layer=call.layer,
        collective=call.collective,
        layers=layers,
    )
