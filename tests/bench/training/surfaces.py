"""Measure the response surfaces that searches and models are compared on (not a benchmark).

    .venv/bin/python tests/run.py tests/bench/training/surfaces.py measure paced --minutes 40
    .venv/bin/python tests/run.py tests/bench/training/surfaces.py status
    .venv/bin/python tests/run.py tests/bench/training/surfaces.py pack paced

Goes on from build/bench/surfaces/STORAGE.trials, to which every replay is added at once, or where
that is not there from what is kept; `pack` compresses it to surfaces/STORAGE.trials.gz beside this
file. A setting is measured until its interval lies below the best's. Each storage, made so:

disk: the own disk of this machine (ext4), two ranks; nothing else may run meanwhile. paced,
paced16: by 8 ranks on one fake node and 16 on four, whose clients take their time by sleeping
(tests/testbed/paced), so that many ranks and some other work do not decide. cephfs: four ranks on
two fake nodes with clients of their own, four OSDs of 10 MB/s, a directory of one stripe over one
OSD (tests/testbed/cephfs up --rate 10M). nodes, nodes8, nodes16 are kept from before: patterns of
their own, on four fake nodes of this machine's disk.
"""

from __future__ import annotations

import argparse
import gzip
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from iotune.models.survey.measure import Asked, TooSlow, measure_pattern
from iotune.models.survey.trials import Journal, Surface, parse_trials, read_trials

from bench.training.surface_patterns import SURFACES as KEPT
from bench.training.surface_patterns import SurfacePattern, surface_patterns
from iotune import Error
from iotune.replay.mpi import Mpi, find_mpi
from support.repository import ROOT, TESTBEDS

WORK = ROOT / "build" / "bench" / "surfaces"
TESTBED = Path(os.environ.get("IOTUNE_TESTBED", "/var/tmp/iotune-cephfs"))

# Settings of a pattern beside the default, and how often those are measured that may be best. An
# early stop leaves all surfaces, with fewer repeats.
_POINTS = 40
_REPEATS = (1, 3, 6)


@dataclass(frozen=True)
class Place:
    """A storage, what starts ranks there, and how many."""

    folder: Path
    launcher: str
    ranks: int
    most_seconds: float = 10.0  # of one file: slower patterns are left out, and listed
    nodes: int = 0  # of a paced storage
    longer: int = 1  # files, so many times

    @property
    def patterns(self) -> list[SurfacePattern]:
        """All that are measured on it."""
        return surface_patterns(self.ranks, self.longer)


def places() -> dict[str, Place]:
    """By name: those that can be measured."""
    paced = str(TESTBEDS / "paced")

    def paced_folder(name: str) -> Path:
        return Path("/var/tmp") / f"iotune-{name}"

    return {
        "disk": Place(WORK / "files", "mpirun.mpich", 2, longer=8),
        "paced": Place(paced_folder("paced"), paced, 8, 3.0, nodes=1),
        "paced16": Place(paced_folder("paced16"), paced, 16, 3.0, nodes=4),
        "cephfs": Place(TESTBED / "mnt" / "narrow", str(TESTBEDS / "cephfs_mpirun"), 4, 6.0),
    }


def load(storage: str, kept: bool = False) -> list[Surface]:
    """What was measured: the work in progress where there is some, else, or at once, the kept."""
    fresh, packed = WORK / f"{storage}.trials", KEPT / f"{storage}.trials.gz"
    if fresh.exists() and not kept:
        return read_trials(fresh)
    if packed.exists():
        return parse_trials(gzip.decompress(packed.read_bytes()).decode(), str(packed))
    return []


@contextmanager
def _ready(place: Place) -> Iterator[Path]:
    """The folder to measure in, its storage started where it has to be."""
    os.environ["IOTUNE_MPIRUN"] = place.launcher
    # Beside a storage that sleeps, ranks that wait sleep too: else they take the cores.
    if place.folder.is_relative_to(ROOT):
        os.environ.pop("IOTUNE_YIELD_SLEEP_NS", None)
    else:
        os.environ["IOTUNE_YIELD_SLEEP_NS"] = "50000"
    if not place.nodes:
        if not place.launcher.endswith("cephfs_mpirun"):
            place.folder.mkdir(parents=True, exist_ok=True)
        yield place.folder
        return
    os.environ["IOTUNE_PACED"] = str(place.folder)
    subprocess.run([place.launcher, "up", "--nodes", str(place.nodes)], check=True)
    try:
        yield place.folder / "mnt"
    finally:
        subprocess.run([place.launcher, "down"], check=True)


def measure(storage: str, minutes: float, only: str) -> None:
    """Everything that is not there yet."""
    place = places()[storage]
    WORK.mkdir(parents=True, exist_ok=True)
    fresh, kept = WORK / f"{storage}.trials", KEPT / f"{storage}.trials.gz"
    if kept.exists() and not fresh.exists():
        fresh.write_bytes(gzip.decompress(kept.read_bytes()))
    until = time.monotonic() + 60 * minutes
    with _ready(place) as folder:
        journal, mpi, slow = Journal(fresh), find_mpi(), too_slow(storage)
        for repeats in _REPEATS:
            for one in place.patterns:
                if only in one.name and one.name not in slow and time.monotonic() < until:
                    asked = Asked(
                        _POINTS, repeats, until=until, most_seconds=place.most_seconds, drops=True
                    )
                    _measure_one(one, folder, mpi, journal, asked)


def _measure_one(
    one: SurfacePattern, folder: Path, mpi: Mpi, journal: Journal, asked: Asked
) -> None:
    began = time.monotonic()
    try:
        surface = measure_pattern(
            one.name, one.pattern, one.datasets, folder, mpi, journal, asked, lambda text: None
        )
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
        wanted = {one.name for one in place.patterns}
        trials = sum(len(one.trials) for one in surfaces.values())
        can_gain = sum(
            max((sorted(x)[len(x) // 2] for x in one.ratios().values()), default=1) >= 1.3
            for one in surfaces.values()
        )
        print(f"{storage}: {len(wanted & set(surfaces))} of {len(wanted)} patterns and "
              f"{len(set(surfaces) - wanted)} older ones, {trials} trials, "
              f"{can_gain} patterns gain 1.3 or more")  # fmt: skip


def pack(storage: str) -> None:
    """Keep what was measured beside the benchmark."""
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
