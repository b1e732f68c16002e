"""Every MPI_File call of the table, issued with random arguments, stands in the trace with them."""

from __future__ import annotations

import random
import re
from functools import partial

from support.mpis import NAMES, Mpi, compiled, find_mpi, use
from support.place import Place, main
from support.repository import CALLS_TABLE

# What the program makes beside those that it prints.
NOT_PRINTED = {"MPI_File_close"}


def table() -> set[str]:
    """The MPI_File calls of calls.table."""
    text = CALLS_TABLE.read_text()
    return set(re.findall(r"^mpi\s+int\s+(MPI_File_\w+)", text, re.MULTILINE))


def calls(place: Place, name: str) -> None:
    mpi = find_mpi(name)
    if mpi is not None:
        use(place, mpi)
        check(place, mpi)


def check(place: Place, mpi: Mpi) -> None:
    program = compiled(place, mpi, "mpi_calls.c")
    seed = random.SystemRandom().randrange(2**31)
    print("seed", seed)
    done = place.right(place.mpi(2, program, "a.bin", seed), "mpi_calls")
    said: dict[int, list[tuple[str, list[int]]]] = {0: [], 1: []}
    for line in done.out.decode().splitlines():
        by, name, *numbers = line.split()
        if name in ("MPI_File_open", "MPI_File_seek"):
            numbers.append("-1")  # the place, where it is the file's end: none of these has it
        said[int(by)].append((name, [int(n) for n in numbers]))
    issued = {name for lines in said.values() for name, _ in lines}
    missing = table() - issued - NOT_PRINTED
    if mpi.name.startswith("openmpi"):  # of MPI 3: without large counts
        missing = {name for name in missing if not name.endswith("_c")}
    assert not missing, f"in the table, but not issued: {sorted(missing)}"
    names = {(c["rank"], *c["texts"]) for c in place.calls() if c["name"] == "MPI_File_delete"}
    assert names == {(0, "a.bin.0"), (1, "a.bin.1")}, names
    representations = [c["texts"] for c in place.calls() if c["name"] == "MPI_File_set_view"]
    assert representations == 12 * [["native"]], representations
    for rank, expected in said.items():
        recorded = [
            (c["name"], c["numbers"])
            for c in place.calls()
            if c["rank"] == rank and c["name"].startswith("MPI_File_")
            and c["name"] not in NOT_PRINTED
        ]  # fmt: skip
        assert recorded == expected, next(
            (pair for pair in zip(recorded, expected) if pair[0] != pair[1]),
            (len(recorded), len(expected)),
        )


if __name__ == "__main__":
    main({name: partial(calls, name=name) for name in NAMES})
