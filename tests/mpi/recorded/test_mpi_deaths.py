"""However an MPI run ends, each call of each rank is kept, with its arguments: n of n."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

from support.place import Place, collect, main
from support.planned_mpi_calls import compare, planned, recorded

HOW = ("finalize", "abort", "kill", "segv", "no-finalize", "no-finalize-_exit", "late",
       "late-_exit", "late-kill")  # fmt: skip

# MPICH's launcher ends with 0 or, one run in 30 even on a quiet machine, with 1 where ranks leave
# at once without MPI_Finalize, iotune or not.
UNFINALIZED = ("no-finalize", "no-finalize-_exit")


def death(how: str, place: Place) -> None:
    seed = random.SystemRandom().randrange(2**31)
    print("seed", seed)
    # A name that MPI-IO does not take for a file system's prefix.
    files = place.scratch / "files"
    files.mkdir()
    program = place.bin / "mpi_deaths"
    bare = place.mpi(2, program, files, how, seed, preload=False)
    done = place.mpi(2, program, files, how, seed, IOTUNE_TRACE=None, IOTUNE_DB="none")
    if how in UNFINALIZED:
        assert {bare.status, done.status} <= {0, 1}, (bare, done)
    else:
        assert done.status == bare.status, (bare, done)
    assert done.said() == [], done.said()
    want = planned(done.out)
    assert want == planned(bare.out) and len({rank for rank, _ in want}) == 2, want.keys()
    if not collect(place):
        return
    assert place.leftovers() == [], place.leftovers()
    made = compare(recorded(place, sorted(place.traces())), want)
    for file in place.traces():
        for head in place.heads(file):
            assert head["dropped"] == 0 and head["damage"] == [], head
    print(f"{how}: kept {made} of {made}")


CASES: dict[str, Callable[[Place], None]] = {how: partial(death, how) for how in HOW}

if __name__ == "__main__":
    main(CASES)
