"""Transfers of a run that one call begins and another completes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from iotune.replay.event import Event, Kind, Row

_MOST_PENDING = 64


class Requests:
    """What a process has begun and not waited for.

    A trace has no waits of MPI. Where MPI-IO makes a non-blocking transfer by aio, its aio_return
    tells when the program waited; else it is done before what must find it done: the file's sync,
    next view and close, or, so that no replay holds ever more, the _MOST_PENDING-th after it.
    """

    def __init__(self) -> None:
        self._count = 0
        self._pending: dict[int, Event] = {}  # in the order of their beginning
        self._below: dict[tuple[int, int], tuple[Event, int]] = {}  # of a thread: its last by MPI
        self._aio: dict[tuple[int, ...], list[int]] = {}

    def begin(self, event: Event) -> None:
        """`event` begins a transfer: it gets a number."""
        self._count += 1
        event.request = self._count
        self._pending[self._count] = event
        if event.kind.mpi:
            self._below[(event.process, event.thread)] = (event, self._count)

    def forget(self, event: Event) -> None:
        """It is not begun after all."""
        self._pending.pop(event.request or 0, None)

    def has_aio(self, process: int, place: Sequence[int], request: int) -> None:
        """An aio of this process on (file, bytes, offset) is the request's."""
        self._aio.setdefault((process, *place), []).append(request)

    def around(self, row: Row) -> int | None:
        """The non-blocking transfer of MPI-IO whose own doing a call of POSIX is."""
        event, number = self._below.get((row.process, row.thread), (None, 0))
        inside = event is not None and event.start_ns <= row.start_ns <= event.end_ns
        return number if inside and row.level > 0 else None

    def returned(self, row: Row, place: Sequence[int]) -> Iterator[Event]:
        """An aio_return: what was begun first at that place is waited for."""
        waiting = self._aio.get((row.process, *place))
        if waiting:
            yield from self._wait(waiting.pop(0), row.start_ns, row.end_ns)

    def before(self, process: int, mpi: bool, handle: int, at_ns: int) -> Iterator[Event]:
        """What a call on this open file must find done."""
        for number, event in list(self._pending.items()):
            if (event.process, event.kind.mpi, event.handle) == (process, mpi, handle):
                yield from self._wait(number, at_ns, at_ns)

    def too_many(self, process: int, at_ns: int) -> Iterator[Event]:
        """The oldest of many. What is collective may have to wait for other ranks: never that."""
        mine = [
            number
            for number, event in self._pending.items()
            if event.process == process and not event.kind.collective
        ]
        if len(mine) > _MOST_PENDING:
            yield from self._wait(mine[0], at_ns, at_ns)

    def all(self) -> Iterator[Event]:
        """What is left when the trace ends."""
        for number, event in list(self._pending.items()):
            yield from self._wait(number, event.end_ns, event.end_ns)

    def _wait(self, number: int, start_ns: int, end_ns: int) -> Iterator[Event]:
        event = self._pending.pop(number, None)
        if event is not None:
            yield dataclasses.replace(
                event,
                kind=Kind("wait", mpi=event.kind.mpi),
                start_ns=start_ns,
                end_ns=end_ns,
                length=None,
            )
