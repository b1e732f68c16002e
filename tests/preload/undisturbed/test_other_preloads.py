"""Other preloads before and behind: both see their calls, and nothing else changes."""

from __future__ import annotations

import glob
import shutil
import sys
import time
from collections import Counter
from pathlib import Path

from support import planned_mpi_calls as mpi_deaths
from support.place import Place, main, not_verified
from support.planned_calls import planned, recorded
from support.undisturbed import PYTHON, contents


def orders(place: Place, other: object) -> dict[str, list[object]]:
    return {"before": [other, place.library], "behind": [place.library, other]}


def counted(file: Path) -> Counter[str]:
    sums: Counter[str] = Counter()
    for line in file.read_text().splitlines():
        name, count = line.split()
        sums[name] += int(count)
    file.unlink()
    return sums


def wrapper(place: Place) -> None:
    """A tool of the same kind, POSIX."""
    other = place.build / "lib" / "libcounting_wrapper.so"
    counts = place.scratch / "counts"
    folder = place.scratch / "data"
    for order, preload in orders(place, other).items():
        place.clear()
        seen = []
        for loaded in ([other], preload):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            done = place.run(place.bin / "deaths", folder, "exit", 4711, preload=loaded,
                             COUNTS=counts, IOTUNE_TRACE=place.trace,
                             )  # fmt: skip
            made = [line.split()[2:] for line in done.out.decode().splitlines()]
            seen.append((done.status, made, done.err, contents(folder), counted(counts)))
        assert seen[0] == seen[1], (order, seen)
        want = planned(done.out)
        assert recorded(place, [place.trace]) == want, order
        numbers = seen[1][4]
        assert numbers["pread"] + numbers["pwrite"] == sum(map(len, want.values())), numbers
        print(f"{order}: both saw {dict(numbers)}")


def mpi_wrapper(place: Place) -> None:
    """The same around MPI-IO."""
    other = place.build / "lib" / "libcounting_wrapper.so"
    counts = place.scratch / "counts"
    for order, preload in orders(place, other).items():
        place.clear()
        folder = place.scratch / "files"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        done = place.mpi(2, place.bin / "mpi_deaths", folder, "finalize", 4711, preload=preload,
                         COUNTS=counts, IOTUNE_TRACE=place.trace,
                         IOTUNE_DB="none")  # fmt: skip
        place.right(done)
        assert done.said() == [], done.said()
        want = mpi_deaths.planned(done.out)
        mpi_deaths.compare(mpi_deaths.recorded(place, [place.trace]), want)
        ours = sum(len(made) for (_, name), made in want.items() if name == "MPI_File_write_at")
        got = counted(counts)["MPI_File_write_at"]
        assert got == ours, (order, got, ours)
        print(f"{order}: both saw {ours} MPI_File_write_at")


def jemalloc(place: Place) -> None:
    found = glob.glob("/usr/lib/*/libjemalloc.so.2")
    if not found:
        not_verified("libjemalloc2 is not here")
        return
    here = place.scratch / "here"
    alone: list[object] = [found[0]]
    for order, preload in {"alone": alone, **orders(place, found[0])}.items():
        seen = []
        for loaded in (list[object](), preload):
            place.clear()
            shutil.rmtree(here, ignore_errors=True)
            here.mkdir()
            python = place.run(sys.executable, "-c", PYTHON, cwd=here, preload=loaded,
                               IOTUNE_TRACE=None)  # fmt: skip
            threads = place.run(place.bin / "posix_calls", here / "data", "threads", cwd=here,
                                preload=loaded, IOTUNE_TRACE=place.trace,
                                )  # fmt: skip
            files = contents(here)
            files.pop("s.db")  # has a random part
            seen.append((python, threads, files))
        assert seen[0] == seen[1], (order, seen)
        if order != "alone":
            writes = [c for c in place.calls() if c["name"] == "pwrite"]
            assert len(writes) == 9000, (order, len(writes))


def false_clock(place: Place) -> None:
    """One that tells the program another time: a trace has the true one, and nobody waits."""
    other = place.build / "lib" / "libfalse_clock.so"
    folder = place.scratch / "data"
    for order, preload in orders(place, other).items():
        for clock in ("still", "past"):
            place.clear()
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            began = time.time()
            done = place.run(place.bin / "deaths", folder, "exit", 4711, preload=preload,
                             seconds=20, CLOCK=clock, IOTUNE_TRACE=place.trace)  # fmt: skip
            ended = time.time()
            assert done.err == b"", (order, clock, done.err)
            assert recorded(place, [place.trace]) == planned(done.out), (order, clock)
            starts = [float(call["line"].split()[0]) for call in place.calls()]
            assert began - 0.01 <= min(starts) <= max(starts) <= ended + 0.01, (order, clock)
            print(f"{order}, {clock}: true times")


if __name__ == "__main__":
    main({"wrapper": wrapper, "mpi-wrapper": mpi_wrapper, "jemalloc": jemalloc,
          "false-clock": false_clock})  # fmt: skip
