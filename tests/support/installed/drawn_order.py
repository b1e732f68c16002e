"""Draws MPI programs on paper: accesses in loops, messages with wildcards, groups, collectives,
syncs, opens and closes. The same seed draws the same program.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from pathlib import Path

from support.installed.paper_parts import ANY_SOURCE, ANY_TAG, UNDEFINED, Comm, File
from support.installed.paper_run import PaperRun

BYTES = 48  # of a file that anything happens in
TAGS = 2
BLOCKING = (
    *("MPI_Barrier", "MPI_Barrier", "MPI_Allreduce", "MPI_Allgather", "MPI_Alltoall"),
    *("MPI_Bcast", "MPI_Scatter", "MPI_Reduce", "MPI_Gather", "MPI_Scan", "MPI_Exscan"),
)
STARTED = ("MPI_Ibarrier", "MPI_Iallreduce", "MPI_Ibcast", "MPI_Ireduce", "MPI_Iallgather")

Recipe = Callable[[int], None]  # makes its calls, in a loop for the k-th time


class DrawnProgram:
    """Draws action after action, and puts each down at once."""

    def __init__(self, seed: int, trace: Path) -> None:
        self.draw = random.Random(seed)
        self.ranks = self.draw.randint(2, 8 if seed % 4 == 0 else 4)
        self.run = PaperRun(trace, self.ranks, below=self.draw.random() < 0.5)
        self.comms = [self.run.world]
        self.paths = [f"/paper/{name}" for name in self.draw.choice(("a", "a", "ab"))]
        self.together: list[dict[int, File]] = []  # files that a communicator opened
        self.atomic = self.draw.random() < 0.3
        self.children: list[tuple[int, int]] = []  # parent, child

    def put_down(self) -> None:
        """The whole program, to its trace."""
        with self.run:
            for rank in range(self.ranks):
                if self.draw.random() < 0.9:
                    self.run.open(rank, self.draw.choice(self.paths))
            for _ in range(self.draw.randint(8, 30)):
                if self.draw.random() < 0.3:
                    recipes = [self.recipe() for _ in range(self.draw.randint(1, 4))]
                    for k in range(self.draw.randint(2, 6)):
                        for recipe in recipes:
                            recipe(k)
                else:
                    self.recipe()(0)
            self.finish()

    def recipe(self) -> Recipe:
        """One action; who takes part and what is moved is drawn here."""
        kinds: list[tuple[Callable[[], Recipe], int]] = [
            (self.accesses, 8), (self.published, 5), (self.published_together, 4),
            (self.message, 4), (self.exchange, 1), (self.probed, 1), (self.persistent, 1),
            (self.sends, 1), (self.receives, 3),
            (self.posts, 2), (self.completes, 6), (self.collective, 4), (self.started, 1),
            (self.opens, 2), (self.closes, 1), (self.syncs, 3), (self.opens_together, 3),
            (self.syncs_together, 2), (self.closes_together, 1), (self.atomicity, 1),
            (self.makes_comms, 1), (self.forks, 1),
        ]  # fmt: skip
        (kind,) = self.draw.choices([k for k, _ in kinds], [w for _, w in kinds])
        return kind()

    def rank(self) -> int:
        return self.draw.randrange(self.ranks)

    def comm(self) -> Comm:
        return self.draw.choice(self.comms)

    # --- files
    def accesses(self) -> Recipe:
        rank = self.rank()
        begin, length = self.draw.randrange(BYTES), self.draw.randint(1, 8)
        stride = self.draw.choice((0, length, self.draw.randint(1, 16), -length))
        count, shift = self.draw.choice((1, 1, 2, 3, 8)), self.draw.choice((0, 0, 8, 16))
        write, which = self.draw.random() < 0.6, self.draw.random()

        def go(k: int) -> None:
            files = self.run.processes[rank].files
            if not files:
                return
            file = files[int(which * len(files))]
            access = self.run.mpi_access if file.handle else self.run.access
            for i in range(count):
                at = begin + k * shift + i * stride
                if at >= 0:
                    access(rank, file, at, length, write)

        return go

    def published(self) -> Recipe:
        """What one rank writes another reads, more or less well parted."""
        writer, reader = self.rank(), self.rank()
        path = self.draw.choice(self.paths)
        begin, length, count = self.draw.randrange(BYTES), 8, self.draw.choice((1, 3))
        ended = self.draw.choice(("", "sync", "close", "close"))
        parted = self.draw.choice(("", "message", "MPI_Barrier", "MPI_Bcast", "MPI_Allreduce"))
        opened = self.draw.random() < 0.6

        def go(k: int) -> None:
            file = self.run.open(writer, path)
            for i in range(count):
                self.run.access(writer, file, begin + (k + i) * length, length, True)
            if ended == "sync":
                self.run.fsync(writer, file)
            if ended == "close":
                self.run.close(writer, file)
            if parted == "message":
                self.run.send(writer, self.run.world, reader, 0)
                if self.run.can_receive(reader, self.run.world, writer, 0):
                    self.run.receive(reader, self.run.world, writer, 0)
            elif parted:
                self.run.collective(self.run.world, parted, root=writer)
            found = [one for one in self.own_files(reader) if one.path == path]
            file = self.run.open(reader, path) if opened or not found else found[0]
            for i in range(count):
                self.run.access(reader, file, begin + (k + i) * length, length, False)
            for rank in {writer, reader}:
                while len(self.own_files(rank)) > 2:
                    self.run.close(rank, self.own_files(rank)[0])

        return go

    def published_together(self) -> Recipe:
        """The same with a file that ranks opened together: sync, order, sync, or less."""
        steps = [step for step in ("sync", "order", "sync") if self.draw.random() < 0.8]
        begin, turn, count = self.draw.randrange(BYTES), self.draw.randint(0, 3), 2

        def go(k: int) -> None:
            if not self.together:
                return
            files = self.together[-1]
            ranks = list(files)
            comm = files[ranks[0]].comm
            assert comm is not None
            for rank in ranks:
                at = begin + (k * len(ranks) + ranks.index(rank)) * 8
                self.run.mpi_access(rank, files[rank], at, 8, True)
            for step in steps:
                if step == "order":
                    self.run.collective(comm, "MPI_Barrier")
                else:
                    for rank in ranks:
                        self.run.mpi_sync(rank, files[rank])
            for rank in ranks:
                place = (ranks.index(rank) + turn) % len(ranks)
                for i in range(count):
                    at = begin + (k * len(ranks) + place) * 8 + 4 * i
                    self.run.mpi_access(rank, files[rank], at, 4, False)

        return go

    def own_files(self, rank: int) -> list[File]:
        return [file for file in self.run.processes[rank].files if not file.handle]

    def opens(self) -> Recipe:
        rank, path = self.rank(), self.draw.choice(self.paths)

        def go(_: int) -> None:
            if len(self.own_files(rank)) < 3:
                self.run.open(rank, path)

        return go

    def closes(self) -> Recipe:
        rank = self.rank()

        def go(_: int) -> None:
            if files := self.own_files(rank):
                self.run.close(rank, files[0])

        return go

    def syncs(self) -> Recipe:
        rank = self.rank()

        def go(_: int) -> None:
            if files := self.own_files(rank):
                self.run.fsync(rank, files[-1])

        return go

    def opens_together(self) -> Recipe:
        comm = self.comm()
        path = "/paper/atomic" if self.atomic else self.draw.choice(self.paths)

        def go(_: int) -> None:
            if len(self.together) < (1 if self.atomic else 3):
                self.together.append(self.run.mpi_open(comm, path))

        return go

    def each_together(self, what: Callable[[int, File], None]) -> None:
        if self.together:
            for rank, file in self.together[0].items():
                what(rank, file)

    def syncs_together(self) -> Recipe:
        return lambda _: self.each_together(self.run.mpi_sync)

    def atomicity(self) -> Recipe:
        """Atomic mode, in programs that leave their one file of MPI-IO open in it."""

        def go(_: int) -> None:
            if self.atomic:
                self.each_together(lambda rank, file: self.run.set_atomicity(rank, file, True))

        return go

    def closes_together(self) -> Recipe:
        def go(_: int) -> None:
            if not self.atomic:
                self.close_together()

        return go

    def close_together(self) -> None:
        self.each_together(self.run.mpi_close)
        self.together = self.together[1:]

    # --- messages
    def pattern(self, source: int, tag: int) -> tuple[int, int]:
        """What a receive asks for that may get this."""
        return (
            ANY_SOURCE if self.draw.random() < 0.4 else source,
            ANY_TAG if self.draw.random() < 0.3 else tag,
        )

    def message(self) -> Recipe:
        comm = self.comm()
        source, to = (self.draw.randrange(len(comm.members)) for _ in "ab")
        tag = self.draw.randrange(TAGS)
        asked = self.pattern(source, tag)

        def go(_: int) -> None:
            self.run.send(comm.members[source], comm, to, tag)
            if self.run.can_receive(comm.members[to], comm, *asked):
                self.run.receive(comm.members[to], comm, *asked)

        return go

    def two_of(self, comm: Comm) -> tuple[int, int] | None:
        if len(comm.members) < 2:
            return None
        one, other = self.draw.sample(comm.members, 2)
        return one, other

    def exchange(self) -> Recipe:
        comm = self.comm()
        ranks, tag = self.two_of(comm), self.draw.randrange(TAGS)

        def go(_: int) -> None:
            if ranks is not None and all(self.run.quiet(rank, comm) for rank in ranks):
                self.run.exchange(ranks, comm, tag)

        return go

    def probed(self) -> Recipe:
        rank, comm = self.rank(), self.comm()
        between = self.accesses()

        def go(k: int) -> None:
            if self.run.can_receive(rank, comm, ANY_SOURCE, ANY_TAG):
                word, found = self.run.probe(rank, comm, ANY_SOURCE, ANY_TAG)
                between(k)
                self.run.receive_probed(rank, word, found)

        return go

    def persistent(self) -> Recipe:
        comm = self.comm()
        ranks, tag, between = self.two_of(comm), self.draw.randrange(TAGS), self.accesses()

        def go(_: int) -> None:
            if ranks is not None and self.run.quiet(ranks[1], comm):
                steps = [partial(between, k) for k in range(3)]
                self.run.again_and_again(*ranks, comm, tag, steps)

        return go

    def sends(self) -> Recipe:
        comm = self.comm()
        source, to = (self.draw.randrange(len(comm.members)) for _ in "ab")
        tag, name = (
            self.draw.randrange(TAGS),
            self.draw.choice(("MPI_Send", "MPI_Ssend", "MPI_Isend", "MPI_Issend")),
        )

        def go(_: int) -> None:
            sender = comm.members[source]
            waits = name == "MPI_Ssend" and not self.run.is_awaited(sender, comm, to, tag)
            self.run.send(sender, comm, to, tag, "MPI_Send" if waits else name)

        return go

    def receives(self) -> Recipe:
        rank, comm = self.rank(), self.comm()
        asked = self.pattern(self.draw.randrange(len(comm.members)), self.draw.randrange(TAGS))

        def go(_: int) -> None:
            if self.run.can_receive(rank, comm, *asked):
                self.run.receive(rank, comm, *asked)

        return go

    def posts(self) -> Recipe:
        comm = self.comm()
        rank = self.draw.choice(comm.members)
        asked = self.pattern(self.draw.randrange(len(comm.members)), self.draw.randrange(TAGS))

        def go(_: int) -> None:
            if len(self.run.processes[rank].posted) < 4:
                self.run.post(rank, comm, *asked)

        return go

    def completes(self) -> Recipe:
        rank = self.rank()
        name = self.draw.choice(
            ("Wait", "Test", "Waitall", "Testall", "Waitany", "Testany", "Waitsome", "Testsome")
        )

        def go(_: int) -> None:
            pending = self.run.processes[rank].pending
            ready = [request for request in pending if request.ready]
            if not ready:
                return
            if name in ("Wait", "Test"):
                given = ready[:1]
            elif name.endswith("all"):
                given = ready
            else:  # what is not ready stays
                given = list(pending)
            self.run.complete(rank, given, f"MPI_{name}")

        return go

    # --- collectives
    def collective(self) -> Recipe:
        comm, name = self.comm(), self.draw.choice(BLOCKING)
        root, count = self.draw.randrange(len(comm.members)), int(self.draw.random() < 0.8)

        def go(_: int) -> None:
            self.run.collective(comm, name, root=root, count=count)

        return go

    def started(self) -> Recipe:
        comm, name = self.comm(), self.draw.choice(STARTED)
        root, count = self.draw.randrange(len(comm.members)), int(self.draw.random() < 0.8)

        def go(_: int) -> None:
            self.run.collective(comm, name, root=root, count=count)

        return go

    def makes_comms(self) -> Recipe:
        comm, dup = self.comm(), self.draw.random() < 0.3
        colours = {rank: self.draw.choice((0, 1, 1, UNDEFINED)) for rank in comm.members}
        keys = {rank: self.draw.randint(-2, 2) for rank in comm.members}

        def go(_: int) -> None:
            if len(self.comms) < 5:
                made = [self.run.dup(comm)] if dup else self.run.split(comm, colours, keys)
                self.comms += made

        return go

    # --- children
    def forks(self) -> Recipe:
        rank, path = self.rank(), self.draw.choice(self.paths)
        places = [(self.draw.randrange(BYTES), self.draw.random() < 0.6) for _ in range(3)]

        def go(_: int) -> None:
            if len(self.children) >= 2:
                return
            child = self.run.fork(rank)
            file = self.run.open(child, path)
            for at, write in places:
                self.run.access(child, file, at, 8, write)
            self.run.close(child, file)
            self.children.append((rank, child))

        return go

    def finish(self) -> None:
        """Whatever is under way ends: no message without a receive, no request without an end."""
        for parent, child in self.children:
            if self.draw.random() < 0.7:
                self.run.wait(parent, child)
        processes = self.run.processes
        for rank in range(self.ranks):
            while posted := processes[rank].posted:
                asked = posted[0]
                assert asked.comm is not None
                source = max(asked.source, 0)
                self.run.send(asked.comm.members[source], asked.comm,
                              asked.comm.rank_of(rank), max(asked.tag, 0))  # fmt: skip
        for rank in range(self.ranks):
            while arrived := processes[rank].arrived:
                first = arrived[0]
                self.run.receive(rank, first.comm, first.source, first.tag)
        for rank in range(self.ranks):
            if pending := list(processes[rank].pending):
                self.run.complete(rank, pending, "MPI_Waitall")
        while self.together:
            self.close_together()
        for rank in range(self.ranks):
            for file in self.own_files(rank):
                self.run.close(rank, file)


def draw_trace(seed: int, trace: Path) -> None:
    """The trace of the program that this seed draws."""
    DrawnProgram(seed, trace).put_down()
