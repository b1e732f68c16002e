"""Drawn programs of MPI-IO with gathering on: none hangs, crashes or has another byte.

programs/gathered/drawn_files.c draws them, and knows what must be in their files. `many-*` is the
soak: COUNTS says how many programs. One that is wrong without iotune, too, is counted apart.
"""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from support.mpis import Mpi, compiled, find_mpi, use
from support.place import Place, main
from support.preloaded import Hang

MODES = ("memory", "log")
RANKS = (2, 3, 4)
A_RUN = 25  # programs
SECONDS = 240  # of a run, on a machine with ten others' work
# Of the program's CALLS: at shared pointers, nonblocking collective.
SHARED, NONBLOCKING = 1, 2
BARE = "wrong without iotune"  # in one of so many bare runs
BARE_REPEATS = 5
KINDS = ("hung", "crashed", "different", BARE)
SEED = re.compile(rb"^seed (\d+)$", re.MULTILINE)


@dataclass(frozen=True)
class Arm:
    """Under which MPI-IO, and how many programs the soak draws for each mode."""

    mpi: str
    programs: int
    calls: int
    io: str | None = None  # of Open MPI


ARMS = {
    "mpich-4": Arm("mpich-4", 1000, SHARED | NONBLOCKING),
    "mpich-5": Arm("mpich-5", 200, SHARED | NONBLOCKING),
    # Its nonblocking collective calls crash in this ROMIO without iotune.
    "openmpi-4-romio": Arm("openmpi-4", 1000, SHARED, "romio321"),
    "openmpi-4": Arm("openmpi-4", 200, 0, "ompio"),
}


class Drawn:
    """One MPI's programs, in runs."""

    def __init__(self, place: Place, arm: Arm, mpi: Mpi) -> None:
        use(place, mpi)
        self.place, self.arm = place, arm
        self.program = compiled(place, mpi, "drawn_files.c")
        self.found: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.once: list[str] = []  # wrong in a run of several programs alone

    def job(self, mode: str | None, ranks: int, seeds: range, job: int, jobs: int) -> str:
        """One launch: "" where all was right, else what was not and of which seed."""
        here = self.place.scratch / "files"
        try:
            done = self.place.mpi(
                ranks, self.program, here, seeds.start, len(seeds), job, jobs, self.arm.calls,
                preload=mode is not None, shim=True, seconds=SECONDS,
                IOTUNE_GATHER=mode, IOTUNE_DB="none", OMPI_MCA_io=self.arm.io,
                IOTUNE_TRACE=self.place.scratch / f"{job}.iotrace",
            )  # fmt: skip
        except Hang as hang:
            return f"hung: {str(hang)[-1500:]}"
        if done.status == 0:
            return ""
        last = SEED.findall(done.out)[-1:] or [b"none"]
        what = "different" if done.status == 1 and b"not " in done.err else "crashed"
        return f"{what} at seed {last[0].decode()}: {done.err.decode(errors='replace')[-1500:]}"

    def run(self, modes: tuple[str | None, ...], ranks: int, seeds: range) -> str:
        """A job of each mode at once, on the same files."""
        here = self.place.scratch / "files"
        shutil.rmtree(here, ignore_errors=True)
        here.mkdir()
        with ThreadPoolExecutor(len(modes)) as pool:
            jobs = [pool.submit(self.job, mode, ranks, seeds, i, len(modes))
                    for i, mode in enumerate(modes)]  # fmt: skip
            return next((said for one in jobs if (said := one.result())), "")

    def play(self, modes: tuple[str, ...], ranks: int, seeds: range) -> None:
        """All of the seeds at once; where something is wrong each by itself, with judges."""
        said = self.run(modes, ranks, seeds)
        if said and len(seeds) > 1:
            before = sum(self.found[kind] for kind in KINDS)
            for seed in seeds:
                self.play(modes, ranks, range(seed, seed + 1))
            if sum(self.found[kind] for kind in KINDS) == before:
                self.once.append(f"{modes}, {ranks} ranks, seeds from {seeds.start}: {said}")
            return
        self.found["programs"] += len(seeds)
        if not said:
            return
        bare = tuple(None for _ in modes)
        if any(self.run(bare, ranks, seeds) for _ in range(BARE_REPEATS)):
            self.found[BARE] += 1
            return
        self.found[said.split(" ", 1)[0].rstrip(":")] += 1
        self.wrong.append(f"{modes}, {ranks} ranks, seed {seeds.start}: {said}")

    def end(self) -> None:
        counted = ", ".join(f"{self.found[kind]} {kind}" for kind in KINDS)
        print(f"{self.found['programs']} programs: {counted}")
        for said in self.once:
            print(f"not seen again: {said}")
        assert not self.wrong, "\n".join(self.wrong)


def drawn(name: str, play: Callable[[Drawn], None]) -> Callable[[Place], None]:
    def case(place: Place) -> None:
        mpi = find_mpi(ARMS[name].mpi)
        if mpi is None:
            return
        programs = Drawn(place, ARMS[name], mpi)
        play(programs)
        programs.end()

    return case


def few(programs: Drawn) -> None:
    """The part for every check, and whether anything was held in it."""
    programs.play(("memory",), 2, range(1, 26))
    calls = programs.place.calls(programs.place.scratch / "0.iotrace")
    held = [dict(call["arguments"]) for call in calls if call["name"] == "iotune_gather"]
    assert sum(one["held"] for one in held) > 1000, held
    if programs.arm.io != "ompio":
        assert sum(one["exchange_calls"] for one in held) > 0, held
    programs.play(("log",), 4, range(26, 41))
    programs.play(("memory", "log"), 2, range(41, 51))


def many(programs: Drawn) -> None:
    """IOTUNE_DRAWN_FROM: another first seed."""
    first = int(os.environ.get("IOTUNE_DRAWN_FROM", "1000"))
    end = first + int(os.environ.get("IOTUNE_DRAWN_PROGRAMS", str(programs.arm.programs)))
    for i, seed in enumerate(range(first, end, A_RUN)):
        seeds = range(seed, min(seed + A_RUN, end))
        for mode in MODES:
            if i % 5 == 4:
                programs.play((mode, MODES[i % 2]), 2, seeds)
            else:
                programs.play((mode,), RANKS[i % len(RANKS)], seeds)


if __name__ == "__main__":
    main({
        **{f"few-{name}": drawn(name, few) for name in ARMS},
        **{f"many-{name}": drawn(name, many) for name in ARMS},
    })  # fmt: skip
