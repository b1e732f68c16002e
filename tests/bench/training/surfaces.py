"""Measure the response surfaces that searches and models are compared on (not a benchmark).

    .venv/bin/python tests/run.py tests/bench/training/surfaces.py measure disk --minutes 60
    .venv/bin/python tests/run.py tests/bench/training/surfaces.py status
    .venv/bin/python tests/run.py tests/bench/training/surfaces.py pack disk

Goes on from build/bench/surfaces/STORAGE.trials, to which every replay is added at once, or where
that is not there from what is kept; `pack` compresses it to surfaces/STORAGE.trials.gz beside this
file. Nothing else may run meanwhile. Each storage, made so:

disk: the own disk of this machine (ext4), two ranks. nodes, nodes8, nodes16: by 4, 8 and 16 ranks
on four fake nodes (tests/testbed/fake_nodes). cephfs: four ranks on two fake nodes with clients of
their own, four OSDs of 30 MB/s, a directory of one stripe over one OSD (tests/testbed/cephfs up).
"""

from __future__ import annotations

import argparse
import gzip
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path

from iotune.models.survey.measure import Asked, TooSlow, measure_pattern
from iotune.models.survey.trials import Journal, Surface, parse_trials, read_trials

from bench.training.surface_patterns import SurfacePattern, surface_patterns
from iotune import Error
from iotune.replay.mpi import find_mpi
from support.repository import ROOT, TESTBEDS, TESTS

KEPT = TESTS / "bench" / "training" / "surfaces"
WORK = ROOT / "build" / "bench" / "surfaces"
TESTBED = Path(os.environ.get("IOTUNE_TESTBED", "/var/tmp/iotune-cephfs"))


# Of one pattern before the next one has its turn.
_MOST_SECONDS_AT_ONCE = 240.0


@dataclass(frozen=True)
class Place:
    """A storage, what starts ranks there, and how many."""

    folder: Path
    launcher: str
    ranks: int
    most_bytes: int = 32 << 20
    most_seconds: float = 10.0  # of one file: slower patterns are left out, and listed
    dense: bool = True  # eight patterns with 240 settings; else all have 40


def places() -> dict[str, Place]:
    """By name. `nodes8` and `nodes16` judge models that were fitted on fewer ranks."""
    local = WORK / "files"
    return {
        "disk": Place(local, "mpirun.mpich", 2),
        "nodes": Place(local, str(TESTBEDS / "local_nodes"), 4, 16 << 20),
        "nodes8": Place(local, str(TESTBEDS / "local_nodes"), 8, 16 << 20, dense=False),
        "nodes16": Place(local, str(TESTBEDS / "local_nodes"), 16, 16 << 20, dense=False),
        "cephfs": Place(
            TESTBED / "mnt" / "narrow",
            str(TESTBEDS / "cephfs_mpirun"),
            4,
            8 << 20,
            3.0,
            dense=False,
        ),  # fmt: skip
    }


def wanted_of(place: Place) -> list[SurfacePattern]:
    """The patterns of a storage."""
    found = surface_patterns(place.ranks, place.most_bytes)
    return found if place.dense else [replace(one, dense=False) for one in found]


def load(storage: str) -> list[Surface]:
    """What was measured: the work in progress where there is some, else what is kept."""
    fresh, kept = WORK / f"{storage}.trials", KEPT / f"{storage}.trials.gz"
    if fresh.exists():
        return read_trials(fresh)
    if kept.exists():
        return parse_trials(gzip.decompress(kept.read_bytes()).decode(), str(kept))
    return []


def measure(storage: str, minutes: float, only: str) -> None:
    """Everything that is not there yet, the patterns that teach before those that judge."""
    place = places()[storage]
    if storage != "cephfs":
        place.folder.mkdir(parents=True, exist_ok=True)
    os.environ["IOTUNE_MPIRUN"] = place.launcher
    WORK.mkdir(parents=True, exist_ok=True)
    fresh, kept = WORK / f"{storage}.trials", KEPT / f"{storage}.trials.gz"
    if kept.exists() and not fresh.exists():
        fresh.write_bytes(gzip.decompress(kept.read_bytes()))
    journal, mpi = Journal(fresh), find_mpi()
    until = time.monotonic() + 60 * minutes
    slow = too_slow(storage)
    for repeats in (1, 2, 3, 5):  # an early stop leaves all surfaces, with fewer repeats
        for one in wanted_of(place):
            if only in one.name and one.name not in slow and time.monotonic() < until:
                _measure_one(one, place, mpi, journal, min(repeats, one.repeats), until)


def _measure_one(
    one: SurfacePattern, place: Place, mpi: object, journal: Journal, repeats: int, until: float
) -> None:
    asked = Asked(one.points, repeats, one.dense, until=until, most_seconds=place.most_seconds)
    began = time.monotonic()
    try:
        surface = measure_pattern(
            one.name, one.pattern, one.datasets, place.folder, mpi, journal, asked,  # type: ignore[arg-type]
            lambda text: None,
        )  # fmt: skip
        passed = time.monotonic() - began
        print(f"{one.name}: {len(surface.trials)} trials, {passed:.0f} s", flush=True)
    except Error as problem:
        print(f"{one.name}: {problem}", flush=True)
        if isinstance(problem, TooSlow):
            with journal.path.with_suffix(".slow").open("a") as file:
                print(one.name, file=file)


def too_slow(storage: str) -> set[str]:
    """Patterns that this storage is too slow for."""
    path = WORK / f"{storage}.slow"
    return set(path.read_text().splitlines()) if path.exists() else set()


def status() -> None:
    """How far each storage is."""
    for storage, place in places().items():
        surfaces = {one.subject.name: one for one in load(storage)}
        wanted = wanted_of(place)
        trials = sum(len(one.trials) for one in surfaces.values())
        can_gain = sum(
            max((sorted(x)[len(x) // 2] for x in one.ratios().values()), default=1) >= 1.3
            for one in surfaces.values()
        )
        print(f"{storage}: {len(surfaces)} of {len(wanted)} patterns, {trials} trials, "
              f"{can_gain} patterns gain 1.3 or more")  # fmt: skip


def pack(storage: str) -> None:
    """Keep what was measured beside the benchmark."""
    KEPT.mkdir(exist_ok=True)
    content = (WORK / f"{storage}.trials").read_bytes()
    (KEPT / f"{storage}.trials.gz").write_bytes(gzip.compress(content, mtime=0))


def main() -> None:
    """See the top."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("measure", "status", "pack"))
    parser.add_argument("storage", nargs="?", choices=tuple(places()), default="disk")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--only", default="", help="patterns whose names have this")
    options = parser.parse_args()
    if options.what == "measure":
        measure(options.storage, options.minutes, options.only)
    elif options.what == "pack":
        pack(options.storage)
    else:
        status()


if __name__ == "__main__":
    main()
