"""Plans of POSIX and MPI-IO calls (kernels/replay_calls/CALL_PLAN.md) out of traces.

The trace is read three times, call by call: for views, for what files and groups must be like,
and for the calls. Memory grows with files, not with calls.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from iotune.errors import Error
from iotune.replay.event import Event, Kind, View
from iotune.replay.event_reader import EventReader
from iotune.traces.call_filter import call_filter, time_ns
from iotune.traces.call_meaning import meanings
from iotune.traces.trace import Trace

VERSION_LINE = "iotune-calls 1"
LAYERS = ("mpi", "posix")


def pause_rule(text: str) -> Callable[[int], int]:
    """What becomes of the time between two calls, in ns: `keep`, `none`, `x0.5`, or a time.

    Raises ValueError for anything else.
    """
    if text == "none":
        return lambda gap: 0
    if text == "keep":
        return lambda gap: gap
    if text.startswith("x"):
        try:
            factor = float(text[1:])
        except ValueError:
            factor = -1.0
        if not 0 <= factor <= 1e6:
            raise ValueError(f"{text!r}: a factor is like x0.5")
        return lambda gap: round(gap * factor)
    fixed = time_ns(text)
    return lambda gap: fixed


@dataclass
class CallPlan:
    """What a written plan needs to be run."""

    ranks: int
    calls: int = 0
    files: int = 0
    needed_bytes: int = 0  # on the storage
    notes: list[str] = field(default_factory=list)


def write_call_plan(
    trace: Trace,
    to: IO[str],
    layer: str | None = None,
    only_file: str | None = None,
    ranks: int | None = None,
    pause: Callable[[int], int] = lambda gap: 0,
) -> CallPlan:
    """Write the plan of a trace's outermost calls of MPI-IO, POSIX and stdio.

    `layer`: all calls of that one instead, whatever they are inside of. On another number of
    ranks than the trace's, rank r's calls are made by rank r modulo `ranks`, in the order of
    their starts, and collective ones are made independent. Raises Error where nothing is left.
    """
    wanted = call_filter(layer=("posix", "stdio", "mpi", "iotune"), file=only_file)
    reader = EventReader(trace.path, wanted, layer)
    own = reader.ranks
    survey = _Survey(ranks is None or ranks == own)
    for event in reader.events():
        survey.add(event)
    if not survey.transfers:
        what = f" on {only_file}" if only_file else ""
        raise Error(f"{trace.path}: no call of MPI-IO or POSIX{what} to replay")
    survey.end()
    plan = CallPlan(ranks or own, files=len(survey.files), needed_bytes=survey.needed_bytes())
    writer = _Writer(to, plan, survey, pause)
    writer.head()
    for event in reader.events():
        writer.add(event)
    writer.end()
    plan.notes = _notes(reader.left_out, survey, plan.ranks != own)
    return plan


def _notes(left_out: Counter[str], survey: _Survey, other_ranks: bool) -> list[str]:
    notes = [f"{count} call(s) left out: {why}" for why, count in sorted(left_out.items())]
    if survey.ungrouped:
        notes.append(
            f"{survey.ungrouped} open(s) are made by each rank for itself: "
            + (
                "the number of ranks is another one"
                if other_ranks
                else "its ranks' collective calls do not match"
            )
        )
    return notes


@dataclass
class _File:
    name: str  # in the replay's directory
    number: int
    prepared: int = 0
    written_end: int = 0
    written: int = 0


@dataclass
class _Group:
    number: int = -1
    collectives: dict[int, int] = field(default_factory=dict)  # by rank
    on_comm_self: bool = False

    @property
    def by_one(self) -> bool:
        """Whether the program opened it so that a rank's collective calls are its own."""
        return self.on_comm_self or len(self.collectives) == 1

    @property
    def calls_match(self) -> bool:
        """Whether the ranks' collective calls match."""
        return not self.by_one and len(set(self.collectives.values())) == 1


class _Opens:
    """Which of its rank's opens of a path an open file is: a rank's k-th is the others' k-th."""

    def __init__(self) -> None:
        self._count: Counter[tuple[int, str]] = Counter()
        self._open: dict[tuple[int, int], tuple[str, int]] = {}

    def key(self, event: Event) -> tuple[str, int]:
        who = (event.process, event.handle)
        if event.kind.does == "open" or who not in self._open:
            count = self._count[(event.rank, event.path)]
            self._count[(event.rank, event.path)] += 1
            self._open[who] = (event.path, count)
        key = self._open[who]
        if event.kind.does == "close":
            del self._open[who]
        return key


class _Survey:
    """What must be known before the first call is written."""

    def __init__(self, collective: bool):
        self.files: dict[str, _File] = {}
        self.groups: dict[tuple[str, int], _Group] = {}
        self.transfers = 0
        self.ungrouped = 0
        self._collective = collective
        self._opens = _Opens()
        self._threads: dict[int, int] = {}  # the one that makes collective calls, by process
        self._many_threads = False

    def add(self, event: Event) -> None:
        file = self.files.get(event.path)
        if file is None:
            base = re.sub(r"[^A-Za-z0-9_-]", "_", Path(event.path).name)[-100:]
            file = _File(f"f{len(self.files)}-{base}", len(self.files))
            self.files[event.path] = file
        if event.length is not None:
            self.transfers += 1
            if event.is_write:
                file.written_end = max(file.written_end, event.file_end)
                file.written += event.length
            elif event.file_end > file.written_end:
                file.prepared = max(file.prepared, event.file_end)
        if not event.kind.mpi:
            return
        group = self.groups.setdefault(self._opens.key(event), _Group())
        count = group.collectives.setdefault(event.rank, 0)
        if event.kind.collective:
            group.collectives[event.rank] = count + 1
            group.on_comm_self |= event.on_comm_self
            if self._threads.setdefault(event.process, event.thread) != event.thread:
                self._many_threads = True

    def end(self) -> None:
        """Number the groups whose collective calls can be replayed."""
        matching = [group for group in self.groups.values() if group.calls_match]
        if self._many_threads or not self._collective:
            self.ungrouped = len(matching)
            matching = []
        else:
            self.ungrouped = sum(
                not group.calls_match and not group.by_one for group in self.groups.values()
            )
        for number, group in enumerate(matching):
            group.number = number

    def needed_bytes(self) -> int:
        return sum(
            min(max(file.prepared, file.written_end), file.prepared + file.written)
            for file in self.files.values()
        )


class _Writer:
    def __init__(self, to: IO[str], plan: CallPlan, survey: _Survey, pause: Callable[[int], int]):
        self._to = to
        self._plan = plan
        self._survey = survey
        self._pause = pause
        self._opens = _Opens()
        self._views: dict[View, int] = {}
        self._last_end: dict[int, int] = {}
        # By process and handle: the rank that has it, its slot, and whether it is MPI's.
        self._slots: dict[tuple[int, bool, int], tuple[int, int]] = {}
        self._free: dict[int, list[int]] = {}
        self._next: Counter[int] = Counter()
        # By the events' numbers: those of the rank, which come again once they are waited for.
        self._requests: dict[int, int] = {}
        self._free_requests: dict[int, list[int]] = {}
        self._next_request: Counter[int] = Counter()

    def head(self) -> None:
        print(f"{VERSION_LINE}\nranks {self._plan.ranks}", file=self._to)
        for file in self._survey.files.values():
            print(f"file {file.number} {file.name} {file.prepared}", file=self._to)
        for group in self._survey.groups.values():
            if group.number >= 0:
                ranks = " ".join(map(str, sorted(group.collectives)))
                print(f"group {group.number} {ranks}", file=self._to)

    def add(self, event: Event) -> None:
        rank = event.rank % self._plan.ranks
        mpi = event.kind.mpi
        group, by_one = -1, False
        if mpi:
            opened = self._survey.groups[self._opens.key(event)]
            group, by_one = opened.number, opened.by_one
        pause = 0
        if rank in self._last_end:
            pause = self._pause(max(0, event.start_ns - self._last_end[rank]))
        self._last_end[rank] = max(self._last_end.get(rank, 0), event.end_ns)
        who = (event.process, mpi, event.handle)
        if who not in self._slots:
            # Opened before the trace began, or by a call that was left out.
            self._open(who, rank, event.path, group, pause)
            pause = 0
        if event.kind.does == "open":
            return
        slot = self._slots[who][1]
        kind = event.kind
        if group < 0 and not by_one and mpi:
            if kind.split == "end":
                return
            kind = kind.independent
        if event.view is not None:
            number = self._views.get(event.view)
            if number is None:
                number = self._views[event.view] = len(self._views)
                words = " ".join(map(str, event.view.words()))
                print(f"view {number} {words}", file=self._to)
            self._line(rank, kind, slot, number, pause)
        elif event.length is not None:
            numbers = [event.offset, event.length]
            if event.request is not None:
                numbers.append(self._begun(rank, event.request))
            self._line(rank, kind, slot, *numbers, pause)
        elif event.request is not None:
            self._line(rank, kind, self._done(rank, event.request), pause)
        else:
            self._line(rank, kind, slot, pause)
        if kind.does == "close":
            self._forget(who)

    def end(self) -> None:
        """Close what the trace did not: shared files in one order on all ranks."""
        left = sorted(self._slots.items(), key=lambda item: (not item[0][1], item[1][1]))
        for who, (rank, slot) in left:
            self._line(rank, Kind("close", mpi=who[1]), slot, 0)

    def _open(
        self, who: tuple[int, bool, int], rank: int, path: str, group: int, pause: int
    ) -> None:
        free = self._free.setdefault(rank, [])
        slot = free.pop() if free else self._next[rank]
        if slot == self._next[rank]:
            self._next[rank] += 1
        self._slots[who] = (rank, slot)
        number = self._survey.files[path].number
        if who[1]:
            self._line(rank, Kind("open", mpi=True), slot, number, group, pause)
        else:
            self._line(rank, Kind("open"), slot, number, pause)

    def _begun(self, rank: int, request: int) -> int:
        free = self._free_requests.setdefault(rank, [])
        if not free:
            free.append(self._next_request[rank])
            self._next_request[rank] += 1
        self._requests[request] = free.pop()
        return self._requests[request]

    def _done(self, rank: int, request: int) -> int:
        number = self._requests.pop(request)
        self._free_requests[rank].append(number)
        return number

    def _forget(self, who: tuple[int, bool, int]) -> None:
        rank, slot = self._slots.pop(who)
        self._free[rank].append(slot)

    def _line(self, rank: int, kind: Kind, *numbers: int) -> None:
        self._plan.calls += 1
        print(rank, kind.word, *numbers, file=self._to)


def has_hdf5_transfers(trace: Trace, only_file: str | None) -> bool:
    """Whether plan_trace finds something to replay."""
    transfers = [one.name for one in meanings().values() if one.of_hdf5 and one.transfer]
    found = trace.each_call(call=transfers, file=only_file, limit=1)
    return next(found, None) is not None
