"""Under views of random datatypes the trace tells where in the file each write really went."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path

from support.mpis import NAMES, compiled, find_mpi, use
from support.place import Place, main, not_verified
from support.preloaded import Done, Hang

ROUNDS, SEEDS, MOST_SEEDS = 20, 4, 20
KINDS = {0, 1, 2}  # of iotune_view (recorder/FORMAT.md)
SECONDS_BARE = 10
DEPTH = 5
# ROMIO of MPICH 4.0 loops over, or puts into wrong places, what MPICH 5 writes right.
DEPTH_MPICH_4 = 2
WRITES = ("MPI_File_write", "MPI_File_write_all", "MPI_File_write_at")


def data_of(number: int, size: int) -> bytes:
    return bytes((131 * number + 7 * i + i // 251) % 255 + 1 for i in range(size))


def bare_seed(place: Place, program: Path, depth: int) -> int | None:
    """A seed whose types the MPI itself can write: some loop or crash in ROMIO and OMPIO."""
    for _ in range(5):
        seed = random.SystemRandom().randrange(2**31)
        done: Done | None = None
        try:
            done = place.mpi(
                2, program, "b", seed, ROUNDS, depth, preload=False, seconds=SECONDS_BARE
            )
        except Hang:
            pass
        for written in place.scratch.glob("b.*"):
            written.unlink()
        if done is not None and done.status == 0:
            return seed
        print("seed", seed, "does not run bare")
    return None


def views(place: Place, name: str) -> None:
    mpi = find_mpi(name)
    if mpi is None:
        return
    use(place, mpi)
    program = compiled(place, mpi, "mpi_views.c")
    depth = DEPTH_MPICH_4 if mpi.name == "mpich-4" else DEPTH
    kinds: set[int] = set()
    compared = drawn = 0
    # A few seeds may draw none of a kind.
    while drawn < SEEDS or (not kinds >= KINDS and drawn < MOST_SEEDS):
        drawn += 1
        seed = bare_seed(place, program, depth)
        if seed is not None:
            print("seed", seed)
            files, found = check(place, program, seed, depth)
            compared += files
            kinds |= found
    if compared < ROUNDS:
        not_verified(f"views under {name}: it writes only {compared} of the files itself")
    else:
        assert kinds >= KINDS, kinds


def check(place: Place, program: Path, seed: int, depth: int) -> tuple[int, set[int]]:
    """How many files were compared, and which kinds of views they had."""
    place.clear()
    done = place.right(place.mpi(2, program, "v", seed, ROUNDS, depth))
    calls = place.calls()
    compared = 0
    for rank in (0, 1):
        said = [line.split() for line in done.out.decode().splitlines()]
        said = [words[1:] for words in said if int(words[0]) == rank]
        writes = [c for c in calls if c["rank"] == rank and c["name"] in WRITES]
        assert len(said) == len(writes)
        files = set()
        for (file, number, size), call in zip(said, writes):
            found = call["extents"]
            # Of the most irregular ones only the beginning is kept, and that is said.
            cut = "too irregular" in found["unknown"]
            assert cut or found["unknown"] == "", (file, call)
            contents = (place.scratch / file).read_bytes()
            got = b"".join(contents[at : at + length] for at, length in found["pieces"])
            # What lies between is undefined: data sieving may leave anything there.
            data = data_of(int(number), int(size))
            assert got == (data[: len(got)] if cut else data), (file, call)
            files.add(file)
        compared += len(files)
    for written in place.scratch.glob("v.*"):
        written.unlink()
    return compared, {c["arguments"]["kind"] for c in calls if c["name"] == "iotune_view"}


if __name__ == "__main__":
    main({name: partial(views, name=name) for name in NAMES})
