"""Gathering under AddressSanitizer, UndefinedBehaviorSanitizer and ThreadSanitizer.

libiotune-gather.so and the programs are built with them. libiotune.so is the ordinary one, whose
memory between threads ThreadSanitizer does not understand: what it says of that is left out.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from support.mpis import Mpi, compiled, find_mpi, hdf5_flags, use
from support.place import Place, main

CHECKS = {"address": "address,undefined", "thread": "thread"}
RANKS = 2
A_RUN, RUNS = 25, 8
ALL_CALLS = 3  # of drawn_files.c
ENVIRONMENT = {
    # The run time is the program's, behind libiotune.so. Leaks are MPI's.
    "ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0:exitcode=99",
    # UCX stands in front of madvise, which a thread calls when ThreadSanitizer has forgotten it.
    "UCX_MEM_MMAP_HOOK_MODE": "none", "UCX_MEM_EVENTS": "n",
}  # fmt: skip


def library(place: Place, sanitizer: str, folder: Path) -> Path:
    """libiotune.so beside the library under the sanitizer, in a folder."""
    target = f"iotune-gather-{sanitizer}"
    built = subprocess.run(["cmake", "--build", str(place.build), "--target", target],
                           capture_output=True, text=True, check=False)  # fmt: skip
    assert built.returncode == 0, built.stdout[-4000:]
    for one in (place.library, place.build / "sanitized" / sanitizer / "libiotune-gather.so"):
        shutil.copy(one, folder)
    needed = subprocess.run(["readelf", "-d", str(folder / "libiotune-gather.so")],
                            capture_output=True, text=True, check=True).stdout  # fmt: skip
    assert {"address": "libasan", "thread": "libtsan"}[sanitizer] in needed, needed
    return folder / place.library.name


def sanitized(sanitizer: str) -> Callable[[Place], None]:
    def case(place: Place) -> None:
        mpi = find_mpi("mpich-4")
        if mpi is None:
            return
        use(place, mpi)
        with tempfile.TemporaryDirectory() as folder:
            place.library = library(place, sanitizer, Path(folder))
            ignored = Path(folder) / "ignored"
            ignored.write_text("called_from_lib:libiotune.so\n")
            os.environ.update(ENVIRONMENT, TSAN_OPTIONS=f"suppressions={ignored}:exitcode=99")
            runs(place, mpi, sanitizer)

    return case


def runs(place: Place, mpi: Mpi, sanitizer: str) -> None:
    flags = ["-g", f"-fsanitize={CHECKS[sanitizer]}"]
    held: Counter[str] = Counter()

    def run(program: Path, *words: object, mode: str = "memory") -> None:
        here = place.scratch / "files"
        shutil.rmtree(here, ignore_errors=True)
        here.mkdir()
        done = place.mpi(RANKS, program, *words, cwd=here, IOTUNE_GATHER=mode,
                         IOTUNE_DB="none", seconds=240)  # fmt: skip
        # 1: another byte. test_drawn_files.py judges that: MPI writes some wrong by itself.
        assert done.status in (0, 1), (words, done.status, done.err.decode()[-4000:])
        assert b"Sanitizer" not in done.err and b"runtime error" not in done.err, done.err
        notes = [dict(one["arguments"]) for one in place.calls()
                 if one["name"] == "iotune_gather"]  # fmt: skip
        held[program.name] += sum(one["held"] for one in notes)

    run(compiled(place, mpi, "gathered_threads.c", *flags), "f", 500)
    program = compiled(place, mpi, "drawn_files.c", *flags)
    for number in range(RUNS):
        words = (".", 1 + number * A_RUN, A_RUN, 0, 1, ALL_CALLS)
        run(program, *words, mode=("memory", "log")[number % 2])
    hdf5 = hdf5_flags("hdf5-mpich")
    if hdf5 is not None:
        program = compiled(place, mpi, "drawn_hdf5.c", *flags, *hdf5)
        for seed in range(1, 21):
            run(program, "f.h5", seed, 100)
    assert all(calls > 1000 for calls in held.values()), held


if __name__ == "__main__":
    main({sanitizer: sanitized(sanitizer) for sanitizer in CHECKS})
