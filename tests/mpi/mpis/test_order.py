"""What orders ranks is recorded where IOTUNE_ORDER asks for it, as the program itself saw it; else
the program calls its MPI by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from support.mpis import NAMES, compiled, find_mpi, linked_folders, use
from support.place import Place, main, not_verified

PARTS = {
    "blocking": "order_calls.c",
    "requests": "order_requests.c",
    "collectives": "order_collectives.c",
    "communicators": "order_communicators.c",
}
# Of what order_calls.c calls directly; a barrier is also for the log store.
LEFT = {
    *("MPI_Send", "MPI_Recv", "MPI_Sendrecv", "MPI_Sendrecv_replace", "MPI_Probe", "MPI_Iprobe"),
    *("MPI_Mprobe", "MPI_Improbe", "MPI_Mrecv", "MPI_Imrecv", "MPI_Wait"),
}
# To itself, of each rank of order_calls.c.
MESSAGES = 300_000
# What the programs say where an MPI may have left anything.
ANYTHING = -999

Calls = list[tuple[str, list[int]]]


def said(place: Place, rank: int) -> Calls:
    lines = (place.scratch / f"said.{rank}").read_text().splitlines()
    return [(name, [int(n) for n in numbers]) for name, *numbers in map(str.split, lines)]


def recorded(place: Place, rank: int) -> Calls:
    """Calls of MPI, but for its begin and end."""
    return [(call["name"], call["numbers"]) for call in place.calls()
            if call["rank"] == rank and call["name"].startswith("MPI_")
            and call["name"] not in ("MPI_Init", "MPI_Finalize")]  # fmt: skip


def is_as_said(found: tuple[str, list[int]], expected: tuple[str, list[int]]) -> bool:
    numbers = list(zip(found[1], expected[1]))
    same = all(one == other or other == ANYTHING for one, other in numbers)
    return found[0] == expected[0] and len(found[1]) == len(expected[1]) and same


def part(place: Place, name: str, what: str) -> None:
    mpi = find_mpi(name)
    if mpi is None:
        return
    use(place, mpi)
    program = compiled(place, mpi, PARTS[what])
    # What the program says it writes by a call for each number.
    place.right(place.mpi(2, program, what, IOTUNE_ORDER=1, IOTUNE_DB="none",
                          IOTUNE_EXCLUDE=f"{place.scratch}/said.*"), what)  # fmt: skip
    assert {head["attributes"]["order"] for head in place.heads()} == {"yes"}
    assert {head["dropped"] for head in place.heads()} == {0}
    for rank in (0, 1):
        found, expected = recorded(place, rank), said(place, rank)
        # The program's own.
        worlds = {head["attributes"]["comm_world"] for head in place.heads()
                  if head["attributes"]["rank"] == str(rank)}  # fmt: skip
        assert worlds == {str(comm) for comm in found[-1][1][:1]}
        assert found.pop()[0] == "MPI_Barrier"
        for one, other in zip(found, expected):
            assert is_as_said(one, other), (rank, one, other)
        assert len(found) == len(expected)


def left(place: Place, name: str) -> None:
    """Without IOTUNE_ORDER nothing is recorded, and calls after the first go past us."""
    mpi = find_mpi(name)
    if mpi is None:
        return
    use(place, mpi)
    program = compiled(place, mpi, "order_calls.c", "-Wl,-z,lazy", "-ldl")
    for order, ours in ((1, LEFT), (0, set()), (None, set())):
        done = place.right(place.mpi(2, program, "where", IOTUNE_ORDER=order, IOTUNE_DB="none"))
        lines = [line.split(" ", 1) for line in done.out.decode().splitlines()]
        where = {name: Path(library).name for name, library in lines}
        assert where.keys() >= LEFT, where
        met = {name for name in LEFT if where[name] == place.library.name}
        assert met == ours, (order, where)
        assert order or not recorded(place, 0), recorded(place, 0)
        place.clear()


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_times(one) for key, one in value.items()
                if key != "run_id" and not key.endswith(("ns", "seconds"))}  # fmt: skip
    return [without_times(one) for one in value] if isinstance(value, list) else value


def analysed(place: Place) -> None:
    """What a run did to its files is the same with what orders its ranks and without."""
    mpi = find_mpi("mpich-4")
    if mpi is None:
        return
    use(place, mpi)
    program = compiled(place, mpi, "order_calls.c", "-ldl")
    summaries = []
    for order in (1, 0):
        place.clear()
        (place.scratch / "data.bin").unlink(missing_ok=True)
        place.right(place.mpi(2, program, "files", IOTUNE_ORDER=order, IOTUNE_DB="none",
                              IOTUNE_EXCLUDE="*/said.*"))  # fmt: skip
        summaries.append(without_times(place.summary()))
        calls = [head["calls"] for head in place.heads()]
        assert [count > MESSAGES for count in calls] == 2 * [bool(order)], calls
        # Regular messages are loops.
        assert not order or place.trace.stat().st_size < 2 * 65536, place.trace.stat()
    assert summaries[0] == summaries[1], summaries


def inside(place: Place) -> None:
    """What MPI does to files inside a call that orders ranks stands there as without order."""
    mpi = find_mpi("mpich-4")
    if mpi is None:
        return
    use(place, mpi)
    program = compiled(place, mpi, "order_calls.c", "-ldl")
    written = []
    for order in (1, 0):
        place.clear()
        place.right(place.mpi(2, program, "waits", IOTUNE_ORDER=order, IOTUNE_DB="none",
                              IOTUNE_EXCLUDE="*/said.*"))  # fmt: skip
        written.append([(call["rank"], call["name"], call["keys"], call["numbers"])
                        for call in place.calls()
                        if call["name"] in ("write", "pwrite", "pwritev")])  # fmt: skip
        assert {keys[0] % 2 for _, _, keys, _ in written[-1]} == {0, 1}, written[-1]
    assert sorted(written[0]) == sorted(written[1]), written


def fortran(place: Place, name: str) -> None:
    """Each binding's calls stand there once, whichever of MPI's names it calls below."""
    mpi = find_mpi(name)
    if mpi is None:
        return
    if not mpi.fortran():
        not_verified(f"{name} has no Fortran compiler here")
        return
    use(place, mpi)
    folders = linked_folders(mpi)
    for binding in (1, 2, 3):
        flags = ["-cpp", f"-DBINDING={binding}", "-fallow-argument-mismatch", *folders]
        program = compiled(place, mpi, "order_fortran.f90", *flags, compiler=mpi.fortran())
        place.clear()
        place.right(place.mpi(2, program, IOTUNE_ORDER=1, IOTUNE_DB="none"))
        for rank in (0, 1):
            names, numbers = zip(*recorded(place, rank))
            first = "MPI_Recv" if rank else "MPI_Send"
            assert names == (first, "MPI_Irecv", "MPI_Isend", "MPI_Waitall", "MPI_Barrier"), names
            if rank == 1:
                assert numbers[0][:3] == [1, -2, -1] and numbers[0][4:] == [0, 0, 7], numbers[0]
            # Both requests, and of the receive what it got.
            assert numbers[3][:2] == [2, 2] and numbers[3][5:7] == [1 - rank, 8], numbers[3]


if __name__ == "__main__":
    cases: dict[str, Callable[[Place], None]] = {"analysed": analysed, "inside": inside}
    for name in NAMES:
        cases |= {f"{what}-{name}": partial(part, name=name, what=what) for what in PARTS}
        cases[f"left-{name}"] = partial(left, name=name)
        cases[f"fortran-{name}"] = partial(fortran, name=name)
    main(cases)
