"""Transfers through shared file pointers: what MPI-IO did below them tells where they went."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from iotune.replay.event import Event, Row, View


@dataclass
class _Waiting:
    """A transfer whose place is looked for among the calls of its thread inside of it."""

    event: Event
    view: View
    level: int
    first: int | None = None  # byte of the file
    end: int = 0


class SharedPointers:
    """Holds back what a process does behind such a transfer until its place is known.

    The pointer is other ranks' doing, and no call's argument or result. But what MPI-IO reads or
    writes for it, in the same thread and before it returns, lies there; where that is not the
    transfer's own part (two-phase I/O gives a rank other ranks' bytes) or is not in the trace,
    `lost` is reported.
    """

    def __init__(self, lost: Callable[[Event], None]):
        self._lost = lost
        self._waiting: dict[tuple[int, int], _Waiting] = {}  # of each process's threads
        self._held: dict[int, list[Event]] = {}  # by process

    def begin(self, event: Event, view: View, level: int) -> None:
        """The place of `event`, which is passed on next, is to be found."""
        self._waiting[(event.process, event.thread)] = _Waiting(event, view, level)

    def look(self, row: Row) -> Iterator[Event]:
        """Before anything else is made of a row; what need not wait any longer."""
        who = (row.process, row.thread)
        waiting = self._waiting.get(who)
        if waiting is None:
            return
        if row.level <= waiting.level:
            yield from self._settle(who)
        elif (
            row.file == waiting.event.path
            and row.means.below_mpi
            and row.offset is not None
            and row.length is not None
            and row.means.writes == waiting.event.is_write
        ):
            first = waiting.first
            waiting.first = row.offset if first is None else min(first, row.offset)
            waiting.end = max(waiting.end, row.offset + row.length)

    def passed(self, event: Event) -> Iterator[Event]:
        """The event, or nothing as long as it has to wait."""
        held = self._held.get(event.process)
        if held is None and not any(one.event is event for one in self._waiting.values()):
            yield event
        else:
            self._held.setdefault(event.process, []).append(event)

    def end(self) -> Iterator[Event]:
        """All that is left when the trace ends."""
        for who in list(self._waiting):
            yield from self._settle(who)

    def _settle(self, who: tuple[int, int]) -> Iterator[Event]:
        waiting = self._waiting.pop(who)
        event = waiting.event
        place = _place(waiting)
        if place is None:
            self._held[event.process].remove(event)
            self._lost(event)
        else:
            event.offset = place
            element = max(waiting.view.element_bytes, 1)
            event.file_end = waiting.view.end_of(place * element + (event.length or 0))
        held = self._held.pop(event.process)
        unsettled = [one.event for one in self._waiting.values()]
        for at, one in enumerate(held):
            if any(one is of for of in unsettled):
                self._held[event.process] = held[at:]
                return
            yield one


def _place(waiting: _Waiting) -> int | None:
    """Where the transfer began, in elements of the view."""
    event, view = waiting.event, waiting.view
    if not event.length:
        return 0
    if waiting.first is None:
        return None
    begin = view.data_at(waiting.first)
    if begin is None or begin % max(view.element_bytes, 1):
        return None
    end = view.place_of(begin + event.length - 1) + 1
    # A read may have met the file's end.
    whole = waiting.end <= end if not event.is_write else waiting.end == end
    return begin // max(view.element_bytes, 1) if whole else None
