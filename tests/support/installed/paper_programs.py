"""The small programs of tests/mpi/programs/order on paper: the same calls in the same places.

Where a race leaves open what comes first, one order of many is put down; the verdict is the same
in all of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from fcntl import F_RDLCK, F_UNLCK, F_WRLCK
from pathlib import Path

from support.installed.paper_parts import ANY_SOURCE, ANY_TAG, Comm, File
from support.installed.paper_run import PaperRun

PATH, BYTES, TAG, ANSWER = "/paper/shared.bin", 8, 5, 6


def written(run: PaperRun, rank: int, file: File, sync: bool = True) -> None:
    run.access(rank, file, 0, BYTES, True)
    if sync:
        run.fsync(rank, file)


def read(run: PaperRun, rank: int, file: File) -> None:
    run.access(rank, file, 0, BYTES, False)


def opened(run: PaperRun, flags: int = 0) -> list[File]:
    return [run.open(rank, PATH, flags=flags) for rank in range(run.ranks)]


def closed(run: PaperRun, files: list[File]) -> None:
    for rank, file in enumerate(files):
        run.close(rank, file)


def message(run: PaperRun, source: int, to: int, tag: int = TAG, comm: Comm | None = None) -> None:
    run.send(source, comm or run.world, to, tag)
    run.receive(to, comm or run.world, source, tag)


def missing_barrier(run: PaperRun, ordered: bool) -> None:
    files = opened(run)
    written(run, 0, files[0])
    if ordered:
        run.collective(run.world, "MPI_Barrier")
    read(run, 1, files[1])
    closed(run, files)


def barrier_without_sync(run: PaperRun, ordered: bool) -> None:
    files = opened(run)
    written(run, 0, files[0], sync=ordered)
    run.collective(run.world, "MPI_Barrier")
    read(run, 1, files[1])
    closed(run, files)


def stored_at_once(run: PaperRun, ordered: bool) -> None:
    files = opened(run, os.O_DSYNC if ordered else 0)
    written(run, 0, files[0], sync=False)
    run.collective(run.world, "MPI_Barrier")
    read(run, 1, files[1])
    closed(run, files)


def own_handles(run: PaperRun, rank: int) -> File:
    """By MPI_COMM_SELF."""
    return run.mpi_open(run.self_of(rank), PATH)[rank]


def sync_without_barrier(run: PaperRun, ordered: bool) -> None:
    files = [own_handles(run, rank) for rank in (0, 1)]
    run.mpi_access(0, files[0], 0, BYTES, True)
    run.mpi_sync(0, files[0])
    if ordered:
        run.collective(run.world, "MPI_Barrier")
    run.mpi_sync(1, files[1])
    run.mpi_access(1, files[1], 0, BYTES, False)
    for rank, file in enumerate(files):
        run.mpi_close(rank, file)


def sync_barrier_sync(run: PaperRun, ordered: bool) -> None:
    files = run.mpi_open(run.world, PATH)
    run.mpi_access(0, files[0], 0, BYTES, True)
    for rank, file in files.items():
        run.mpi_sync(rank, file)
    run.collective(run.world, "MPI_Barrier")
    for rank, file in files.items():
        if ordered:
            run.mpi_sync(rank, file)
    run.mpi_access(1, files[1], 0, BYTES, False)
    for rank, file in files.items():
        run.mpi_close(rank, file)


def other_communicator(run: PaperRun, ordered: bool) -> None:
    before, after = run.dup(run.world), run.dup(run.world)
    files = opened(run)
    run.send(0, before, 1, TAG)
    written(run, 0, files[0])
    run.send(0, after, 1, TAG)
    run.receive(1, after if ordered else before, 0, TAG)
    read(run, 1, files[1])
    run.receive(1, before if ordered else after, 0, TAG)
    closed(run, files)


def third_rank(run: PaperRun, ordered: bool) -> None:
    files = opened(run)
    written(run, 0, files[0])
    run.send(0, run.world, 2, TAG)
    if ordered:
        run.receive(2, run.world, 0, TAG)
    run.send(2, run.world, 1, TAG)
    if not ordered:
        run.receive(2, run.world, 0, TAG)
    run.receive(1, run.world, 2, TAG)
    read(run, 1, files[1])
    closed(run, files)


def wildcard(run: PaperRun, ordered: bool) -> None:
    first, second = (0, 2) if ordered else (2, 0)
    files = opened(run)
    written(run, 0, files[0])
    run.send(first, run.world, 1, TAG + first)
    run.receive(1, run.world, ANY_SOURCE, ANY_TAG)
    read(run, 1, files[1])
    message(run, 1, second, ANSWER)
    run.send(second, run.world, 1, TAG + second)
    run.receive(1, run.world, ANY_SOURCE, ANY_TAG)
    closed(run, files)


def unfinished_test(run: PaperRun, ordered: bool) -> None:
    files = opened(run)
    written(run, 0, files[0])
    request = run.post(1, run.world, 0, TAG)
    if ordered:
        run.send(0, run.world, 1, TAG)
        run.complete(1, [request], "MPI_Test")
        read(run, 1, files[1])
    else:  # a test that says false is not recorded
        read(run, 1, files[1])
        message(run, 1, 0, ANSWER)
        run.send(0, run.world, 1, TAG)
        run.complete(1, [request])
    closed(run, files)


def neighbours(run: PaperRun, ordered: bool) -> None:
    files = opened(run)
    for rank, file in enumerate(files):
        run.access(rank, file, rank * BYTES - (rank == 1 and not ordered), BYTES, True)
    closed(run, files)


def rewritten_header(run: PaperRun, ordered: bool) -> None:
    files = opened(run)
    for rank, file in enumerate(files):
        for step in range(2):
            run.access(rank, file, 0, BYTES, True)
            run.access(rank, file, (1 + rank + 2 * step) * BYTES, BYTES, True)
        run.fsync(rank, file)
        if ordered and rank == 0:
            message(run, 0, 1)
    closed(run, files)


def close_then_open(run: PaperRun, ordered: bool) -> None:
    file = run.open(0, PATH)
    written(run, 0, file, sync=False)
    run.close(0, file)
    if not ordered:
        file = run.open(1, PATH)
    run.collective(run.world, "MPI_Barrier")
    if ordered:
        file = run.open(1, PATH)
    read(run, 1, file)
    run.close(1, file)


def mpi_close_then_open(run: PaperRun, ordered: bool) -> None:
    file = own_handles(run, 0)
    run.mpi_access(0, file, 0, BYTES, True)
    run.mpi_close(0, file)
    if not ordered:
        file = own_handles(run, 1)
    run.collective(run.world, "MPI_Barrier")
    if ordered:
        file = own_handles(run, 1)
    run.mpi_access(1, file, 0, BYTES, False)
    run.mpi_close(1, file)


def joint_close(run: PaperRun, ordered: bool) -> None:
    written_together(run, ordered)
    file = run.open(1, PATH)
    read(run, 1, file)
    run.close(1, file)


def joint_close_then_open(run: PaperRun, ordered: bool) -> None:
    written_together(run, ordered)
    files = run.mpi_open(run.world, PATH)
    run.mpi_access(1, files[1], 0, BYTES, False)
    for rank, file in files.items():
        run.mpi_close(rank, file)


def written_together(run: PaperRun, barrier: bool) -> None:
    """By rank 0, through a handle of all that all close."""
    files = run.mpi_open(run.world, PATH)
    run.mpi_access(0, files[0], 0, BYTES, True)
    for rank, file in files.items():
        run.mpi_close(rank, file)
    if barrier:
        run.collective(run.world, "MPI_Barrier")


def locked(run: PaperRun, ordered: bool) -> None:
    files = opened(run)
    run.lock(0, files[0], BYTES, F_WRLCK)
    written(run, 0, files[0], sync=ordered)
    run.lock(0, files[0], BYTES, F_UNLCK)
    run.collective(run.world, "MPI_Barrier")
    run.lock(1, files[1], BYTES, F_RDLCK)
    read(run, 1, files[1])
    run.lock(1, files[1], BYTES, F_UNLCK)
    closed(run, files)


def truncated(run: PaperRun, ordered: bool) -> None:
    files = opened(run)
    run.truncate(0, files[0])
    if ordered:
        run.close(0, files[0])
    run.collective(run.world, "MPI_Barrier")
    own = run.open(1, PATH)
    written(run, 1, own, sync=False)
    run.close(1, own)
    run.close(1, files[1])
    if not ordered:
        run.close(0, files[0])


def atomic_mode(run: PaperRun, ordered: bool) -> None:
    files = run.mpi_open(run.world, PATH)
    for rank, file in files.items():
        if ordered:
            run.set_atomicity(rank, file, True)
    run.mpi_access(0, files[0], 0, BYTES, True)
    run.collective(run.world, "MPI_Barrier")
    run.mpi_access(1, files[1], 0, BYTES, False)
    for rank, file in files.items():
        run.mpi_close(rank, file)


def forked(run: PaperRun, ordered: bool) -> None:
    file = run.open(0, PATH)
    if ordered:
        written(run, 0, file)
    child = run.fork(0)
    own = run.open(child, PATH)
    read(run, child, own)
    run.access(child, own, 64, BYTES, True)
    run.fsync(child, own)
    run.close(child, own)
    if not ordered:
        written(run, 0, file)
        run.access(0, file, 64, BYTES, False)
    run.wait(0, child)
    if ordered:
        run.access(0, file, 64, BYTES, False)
    run.close(0, file)


def rooted(name: str, root_if_ordered: int) -> Callable[[PaperRun, bool], None]:
    def program(run: PaperRun, ordered: bool) -> None:
        files = opened(run)
        written(run, 0, files[0])
        run.collective(run.world, name, root=root_if_ordered if ordered else 1 - root_if_ordered)
        read(run, 1, files[1])
        closed(run, files)

    return program


def scan_upwards(run: PaperRun, ordered: bool) -> None:
    writer = 0 if ordered else 1
    files = opened(run)
    written(run, writer, files[writer])
    run.collective(run.world, "MPI_Exscan")
    read(run, 1 - writer, files[1 - writer])
    closed(run, files)


def empty_allreduce(run: PaperRun, ordered: bool) -> None:
    files = opened(run)
    written(run, 0, files[0])
    run.collective(run.world, "MPI_Allreduce", count=int(ordered))
    read(run, 1, files[1])
    closed(run, files)


def waited_ibarrier(run: PaperRun, ordered: bool) -> None:
    files = opened(run)
    written(run, 0, files[0])
    requests = run.collective(run.world, "MPI_Ibarrier")
    if not ordered:
        read(run, 1, files[1])
    for rank, request in requests.items():
        run.complete(rank, [request])
    if ordered:
        read(run, 1, files[1])
    closed(run, files)


def split_barrier(run: PaperRun, ordered: bool) -> None:
    files = opened(run)
    apart = 2 if ordered else 1
    parts = run.split(
        run.world, {rank: int(rank == apart) for rank in range(3)}, {r: -r for r in range(3)}
    )
    written(run, 0, files[0])
    for part in parts:
        run.collective(part, "MPI_Barrier")
    read(run, 1, files[1])
    closed(run, files)


def synchronous_send(run: PaperRun, ordered: bool) -> None:
    files = opened(run)
    if not ordered:  # it may end before the receive begins
        run.send(1, run.world, 0, TAG)
    written(run, 0, files[0])
    if ordered:
        run.synchronous(1, 0, run.world, TAG)
    else:
        run.receive(0, run.world, 1, TAG)
    read(run, 1, files[1])
    closed(run, files)


def cart_sub(run: PaperRun, ordered: bool) -> None:
    files = opened(run)
    (grid,) = run.make(run.world, "MPI_Cart_create", [range(4)])
    lines = run.make(grid, "MPI_Cart_sub", [(0, 1), (2, 3)] if ordered else [(0, 2), (1, 3)])
    written(run, 0, files[0])
    for line in lines:
        run.collective(line, "MPI_Barrier")
    read(run, 1, files[1])
    closed(run, files)


def group_barrier(run: PaperRun, ordered: bool) -> None:
    files = opened(run)
    (part,) = run.make(run.world, "MPI_Comm_create_group", [(1 if ordered else 2, 0)])
    written(run, 0, files[0])
    run.collective(part, "MPI_Barrier")
    read(run, 1, files[1])
    closed(run, files)


def read_then_write(run: PaperRun, ordered: bool) -> None:
    files = opened(run)
    read(run, 1, files[1])
    if ordered:
        message(run, 1, 0)
    written(run, 0, files[0], sync=False)
    closed(run, files)


PROGRAMS: dict[str, Callable[[PaperRun, bool], None]] = {
    **{one.__name__: one for one in (
        missing_barrier, barrier_without_sync, sync_without_barrier, sync_barrier_sync,
        other_communicator, third_rank, wildcard, unfinished_test, neighbours, rewritten_header,
        close_then_open, mpi_close_then_open, joint_close, joint_close_then_open, locked, truncated,
        atomic_mode, forked, scan_upwards, empty_allreduce, waited_ibarrier, split_barrier,
        cart_sub, group_barrier, synchronous_send, stored_at_once, read_then_write,
    )},
    "backward_bcast": rooted("MPI_Bcast", 0),
    "backward_reduce": rooted("MPI_Reduce", 1),
}  # fmt: skip


def put_down(name: str, ordered: bool, ranks: int, trace: Path, below: bool = True) -> None:
    """The trace of one form of a program."""
    with PaperRun(trace, ranks, below) as run:
        PROGRAMS[name](run, ordered)
