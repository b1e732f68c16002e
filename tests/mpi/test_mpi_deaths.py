"""However an MPI run ends, each call of each rank is kept, with its arguments: n of n."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "preload"))
from harness import Place, collect, main  # noqa: E402

HOW = ("finalize", "abort", "kill", "segv", "no-finalize", "no-finalize-_exit", "late",
       "late-_exit", "late-kill")  # fmt: skip

# MPICH's launcher ends with 0 or, one run in 30 even on a quiet machine, with 1 where ranks leave
# at once without MPI_Finalize, iotune or not.
UNFINALIZED = ("no-finalize", "no-finalize-_exit")

Calls = dict[tuple[int, str], list[tuple[int, int]]]


def planned(out: bytes) -> Calls:
    """By rank and function: size and place of what programs/mpi_deaths.c made of its seeds."""
    calls: Calls = {}
    for line in out.decode().splitlines():
        if not line.startswith("plan "):
            continue
        _, rank, which, seed, count = line.split()
        state = int(seed)
        made = calls.setdefault((int(rank), which), [])
        for _ in range(int(count)):
            words = []
            for _ in range(2):
                state = (state * 1664525 + 1013904223) % 2**32
                words.append(state >> 8)
            made.append((1 + words[0] % 64, words[1] % 4000))
    return calls


def recorded(place: Place, files: list[Path]) -> Calls:
    calls: Calls = {}
    for file in files:
        all_calls = place.calls(file)
        # Libraries write at the program's exit, too.
        ours = {(c["process"], c["keys"][0]) for c in all_calls
                if c["name"] == "iotune_file" and "/posix" in c["texts"][0]}  # fmt: skip
        for call in all_calls:
            arguments: dict[str, Any] = call["arguments"]
            name = call["name"]
            if name == "pwrite" and (call["process"], call["keys"][1]) in ours:
                what = (arguments["count"], arguments["offset"])
            elif name == "MPI_File_write_at" and call["depth"] == 0:
                what = (arguments["count"], arguments["offset"])
            elif name == "H5Dwrite":
                kind, n, start, _, count, block = arguments["extras"][4:10]
                assert (kind, n) == (2, 1), call
                what = (count * block, start)
            else:
                continue
            calls.setdefault((call["rank"], name), []).append(what)
    return calls


def compare(got: Calls, want: Calls) -> int:
    for key, made in want.items():
        kept = got.get(key, [])
        assert kept == made, (key, len(made), len(kept))
    assert got.keys() == want.keys(), got.keys()
    return sum(map(len, want.values()))


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
