"""Decides every conflicting pair of a run under four models, one by one.

Nothing is clever here: each call is two moments, the order is a graph of them, its closure a set of
bits for each moment. What may take seconds for a hundred calls is the judge of `iotune verify`,
which finds the same by arithmetic.

    python3 tests/run.py tests/support/installed/brute_force.py TRACE
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support.installed.order_steps import (
    ALL_TO_ALL,
    FROM_ROOT,
    TO_ROOT,
    UPWARDS,
    Entry,
    History,
    Step,
    read_history,
)

MODELS = ("posix", "commit", "session", "mpiio")


class Order:
    """What happens before what, among the steps of all processes."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.first: list[int] = []  # the number of each process's first step
        count = 0
        for steps in history.steps:
            self.first.append(count)
            count += len(steps)
        self.after: list[set[int]] = [set() for _ in range(2 * count)]
        self._program_order()
        self._messages()
        self._collectives()
        self._children()
        self.reached = self._closure()

    def begin(self, process: int, step: int) -> int:
        return 2 * (self.first[process] + step)

    def end(self, process: int, step: int) -> int:
        return self.begin(process, step) + 1

    def before(self, process: int, step: int, other: int, later: int) -> bool:
        """Whether the first step has ended before the other process's begins."""
        return bool(self.reached[self.end(process, step)] >> self.begin(other, later) & 1)

    def before_end(self, process: int, step: int, other: int, later: int) -> bool:
        """Whether the first step has ended before the other process's ends."""
        return bool(self.reached[self.end(process, step)] >> self.end(other, later) & 1)

    def _each(self) -> Iterator[tuple[int, int, Step]]:
        for process, steps in enumerate(self.history.steps):
            for number, step in enumerate(steps):
                yield process, number, step

    def _program_order(self) -> None:
        for process, number, _ in self._each():
            self.after[self.begin(process, number)].add(self.end(process, number))
            if number > 0:
                self.after[self.end(process, number - 1)].add(self.begin(process, number))

    def _messages(self) -> None:
        """The k-th send from here to there is the k-th posted receive that got such a one."""
        sent: dict[Any, list[tuple[int, int | None]]] = defaultdict(list)  # begin, end
        posted: dict[Any, list[tuple[int, int]]] = defaultdict(list)
        members = self.history.members
        ended: dict[int, int] = {}  # by the identity of the receive, or the synchronous send
        for process, number, step in self._each():
            for one in [*step.completes, *step.sent]:
                ended[id(one)] = self.end(process, number)
        for process, number, step in self._each():
            for send in step.sends:
                if send.comm not in members:  # nobody knows its ranks
                    continue
                key = (send.comm, process, members[send.comm][send.to], send.tag)
                sent[key].append((self.begin(process, number), ended.get(id(send))))
            for receive in step.posts:
                if id(receive) in ended and receive.comm in members:
                    key = (
                        receive.comm,
                        members[receive.comm][receive.source],
                        process,
                        receive.tag,
                    )
                    posted[key].append((self.begin(process, number), ended[id(receive)]))
        for key, receives in posted.items():
            for (begin, send_end), (post, end) in zip(sent[key], receives):
                self.after[begin].add(end)
                if send_end is not None:
                    self.after[post].add(send_end)

    def _collectives(self) -> None:
        entered: dict[Any, dict[int, tuple[int, Entry]]] = defaultdict(dict)
        left: dict[Any, dict[int, int]] = defaultdict(dict)
        for process, number, step in self._each():
            for entry in step.enters:
                # What ran inside it lies behind the begin, though its steps stand before it.
                begin = self.begin(process, number - step.inside)
                entered[entry.comm, entry.number][process] = (begin, entry)
            for entry in step.leaves:
                left[entry.comm, entry.number][process] = self.end(process, number)
        for key, parts in entered.items():
            members = self.history.members.get(key[0], [])
            for giver, (begin, given) in parts.items():
                for getter, end in left[key].items():
                    known = giver in members and getter in members and giver != getter
                    if known and needs(given, members, giver, getter, parts[getter][1]):
                        self.after[begin].add(end)

    def _children(self) -> None:
        for process, number, step in self._each():
            for pid, forked in ((step.forks, True), (step.waits, False)):
                child = self.history.pids.get(pid) if pid is not None else None
                if child is None or not self.history.steps[child]:
                    continue
                if forked:
                    self.after[self.begin(process, number)].add(self.begin(child, 0))
                else:
                    last = len(self.history.steps[child]) - 1
                    self.after[self.end(child, last)].add(self.end(process, number))

    def _closure(self) -> list[int]:
        """For each moment the moments behind it, itself left out, as bits."""
        waiting = [0] * len(self.after)
        before: list[list[int]] = [[] for _ in self.after]
        for moment, later in enumerate(self.after):
            waiting[moment] = len(later)
            for one in later:
                before[one].append(moment)
        reached = [0] * len(self.after)
        ready = [moment for moment, n in enumerate(waiting) if n == 0]
        done = 0
        while ready:
            moment = ready.pop()
            done += 1
            for one in self.after[moment]:
                reached[moment] |= reached[one] | 1 << one
            for one in before[moment]:
                waiting[one] -= 1
                if waiting[one] == 0:
                    ready.append(one)
        assert done == len(self.after), "the trace says that something happens before itself"
        return reached


def needs(given: Entry, members: list[int], giver: int, getter: int, got: Entry) -> bool:
    """Whether in a collective call the getter cannot leave before the giver has entered."""
    if given.call in ALL_TO_ALL:
        return not given.empty
    if given.call in FROM_ROOT:
        return members[given.root] == giver and not got.empty
    if given.call in TO_ROOT:
        return members[given.root] == getter and not given.empty
    assert given.call in UPWARDS, given.call
    return members.index(giver) < members.index(getter) and not given.empty


class Judge:
    """The four models."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.order = Order(history)

    def _next(self, process: int, step: int, file: str, what: set[str]) -> int | None:
        """The first step behind it that does one of these to the file."""
        steps = self.history.steps[process]
        return next((i for i in range(step + 1, len(steps))
                     if steps[i].file == file and what & steps[i].does), None)  # fmt: skip

    def _last(self, process: int, step: int, file: str, what: set[str]) -> int | None:
        steps = self.history.steps[process]
        return next((i for i in range(step - 1, -1, -1)
                     if steps[i].file == file and what & steps[i].does), None)  # fmt: skip

    def synchronised(self, model: str, process: int, step: int, other: int, later: int) -> bool:
        """Whether the first step is properly before the other process's."""
        first = self.history.steps[process][step].access
        second = self.history.steps[other][later].access
        assert first is not None and second is not None
        if model == "posix" or not first.write or (model == "commit" and first.stored):
            return self.order.before(process, step, other, later)
        file = first.file
        if model == "commit":
            commit = self._next(process, step, file, {"commit"})
            return commit is not None and self.order.before(process, commit, other, later)
        if model == "mpiio" and first.atomic and second.atomic:
            return self.order.before(process, step, other, later)
        closing, opening = {"close"}, {"open"}
        if model == "mpiio":
            closing, opening = {"mpi_sync", "mpi_close"}, {"mpi_sync", "mpi_open"}
        closed = self._next(process, step, file, closing)
        opened = self._last(other, later, file, opening)
        if closed is None or opened is None:
            return False
        # A joint MPI_File_open opens when its ranks have met; nobody promises that of its sync.
        if model == "session" and self.history.steps[other][opened].call == "MPI_File_open":
            return self.order.before_end(process, closed, other, opened)
        return self.order.before(process, closed, other, opened)

    def verdicts(self) -> dict[str, dict[str, int]]:
        """By file: `pairs`, and in each model those that are not properly synchronised."""
        accesses: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for process, steps in enumerate(self.history.steps):
            for number, step in enumerate(steps):
                if step.access is not None:
                    accesses[step.access.file].append((process, number))
        found = {}
        for file, own in sorted(accesses.items()):
            counts = dict.fromkeys(("pairs", *MODELS), 0)
            for i, a in enumerate(own):
                for b in own[i + 1 :]:
                    if not self._conflict(a, b):
                        continue
                    counts["pairs"] += 1
                    for model in MODELS:
                        right = self.synchronised(model, *a, *b) or self.synchronised(model, *b, *a)
                        counts[model] += not right
            found[file] = counts
        return found

    def _conflict(self, a: tuple[int, int], b: tuple[int, int]) -> bool:
        first = self.history.steps[a[0]][a[1]].access
        second = self.history.steps[b[0]][b[1]].access
        assert first is not None and second is not None
        together = first.begin < second.end and second.begin < first.end
        return a[0] != b[0] and together and (first.write or second.write)


def judge(trace: Path) -> dict[str, dict[str, int]]:
    """The verdicts on each file of a trace."""
    return Judge(read_history(trace)).verdicts()


if __name__ == "__main__":
    print(json.dumps(judge(Path(sys.argv[1])), indent=2))
