"""What the end of a run costs the ranks that do not learn, and short runs as wholes.

Two ranks make up to ten million calls in loops, by irregular steps or at drawn places. From the end
of a rank's work to the exit of the last rank but rank 0, less the same of a bare run, is the end;
beside it, in the same round, the trace's bytes are written to a file. Memory is the greatest of
rank 0 against a run that records and does not learn (IOTUNE_DB=none). How many runs it took until
the workload was known stands beside it. --most: runs with more calls are left out.

Whole runs: HDF5 programs of a second with the files and calls of a small Meep and of a netCDF
writer, and cp and gzip. Their arms differ in wall time, and in processor time, which a busy machine
changes less: that row has no goal.
"""

from __future__ import annotations

import os
import resource
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench import native, paired
from support import preloaded

RANKS = 2
SHAPES = ("regular", "irregular", "random")
# Calls of both ranks, and the share of the rounds that are made of them: the whole stays within ten
# minutes.
CALLS = {1_000: 1.0, 10_000: 1.0, 100_000: 0.7, 1_000_000: 0.5, 10_000_000: 0.2}
FEW_ROUNDS = 3  # of long runs: no round is given away to warm up
MIB = 1 << 20


@dataclass(frozen=True)
class Run:
    """A program and its words but for the folder, which is the last."""

    name: str
    program: str
    words: tuple[str, ...]


def calls_run(shape: str, calls: int, files: int = 1) -> Run:
    """Return a run of so many calls by MPI-IO, those of both ranks together."""
    name = f"{calls} calls, {shape}" + ("" if files == 1 else f" on {files} files")
    return Run(name, "finish_calls.c", (shape, str(calls // RANKS), str(files), "0"))


def hdf5_run(name: str, files: int, writes: int) -> Run:
    """Return a run of a second and its I/O; `writes` of each rank to each file."""
    return Run(name, "finish_hdf5.c", (str(files), str(writes), "1.0"))


class Measured:
    """Runs of one place. What was learnt there stays until forget()."""

    def __init__(self, build: Path, out: Path, scratch: Path, buffers: Path) -> None:
        self.scratch = scratch
        self.buffers = buffers  # in memory, as by default
        self.library = build / "lib" / "libiotune.so"
        self.shim = native.yield_shim(build)
        self.timed = native.compiled("timed_exit.c", out / "native")
        self.programs = {}
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", "hdf5-mpich", "mpich"],
                               capture_output=True, text=True, check=False)  # fmt: skip
        words = flags.stdout.split()
        for source in ("finish_calls.c", "finish_hdf5.c") if words else ():
            self.programs[source] = native.compiled(source, out / "native", words)
        self.memory_kib: dict[str, list[float]] = {}
        self.processor_seconds: dict[str, list[float]] = {}

    def forget(self) -> None:
        """Begin as a user who has never run this program."""
        for name in ("state", "data"):
            shutil.rmtree(self.scratch / name, ignore_errors=True)
        self.memory_kib.clear()
        self.processor_seconds.clear()

    def known_runs(self) -> int:
        """Return how many runs the database knows."""
        database = self.scratch / "data" / "iotune" / "patterns.db"
        if not database.exists():
            return 0
        with closing(sqlite3.connect(database)) as db:
            return int(db.execute("SELECT count(DISTINCT run) FROM observations").fetchone()[0])

    def environment(self, learns: bool) -> dict[str, str]:
        """Return the environment of a run with places of its own."""
        env = preloaded.plain_environment()
        env.update(
            XDG_STATE_HOME=str(self.scratch / "state"), XDG_DATA_HOME=str(self.scratch / "data"),
            IOTUNE_BUFFER_DIR=str(self.buffers),
        )  # fmt: skip
        if not learns:
            env["IOTUNE_DB"] = "none"
        return env

    def run(self, what: Run, arm: str) -> tuple[float, float]:
        """Return the seconds from the end of the work to the last other rank's exit, and of all."""
        folder = self.scratch / "run"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        libraries = [self.shim] if arm == "bare" else [self.library, self.shim]
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.perf_counter()
        done = subprocess.run(
            ["mpirun", "-n", str(RANKS), str(self.timed), str(folder), preloaded.joined(*libraries),
             str(self.programs[what.program]), *what.words, str(folder)],
            env=self.environment(arm == "iotune"), capture_output=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        seconds = time.perf_counter() - began
        if done.returncode != 0:
            raise paired.ArmFailed(f"{what.name}, {arm}: {done.stderr.decode(errors='replace')}")
        now = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.processor_seconds.setdefault(arm, []).append(
            now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
        )
        ends = [
            int((folder / f"end.{rank}").read_text().split()[0])
            - int((folder / f"last.{rank}").read_text())
            for rank in range(1, RANKS)
        ]
        kib = int((folder / "end.0").read_text().split()[1])
        self.memory_kib.setdefault(arm, []).append(kib)
        return max(ends) / 1e9, seconds

    def plain_write(self) -> float:
        """Return the seconds in which the newest trace's bytes are written and get their name."""
        traces = sorted((self.scratch / "state" / "iotune" / "traces").glob("*.iotrace"),
                        key=lambda path: path.stat().st_mtime_ns)  # fmt: skip
        if not traces:
            return 0.0
        content = traces[-1].read_bytes()
        target = self.scratch / "plain"
        began = time.perf_counter()
        with open(f"{target}.part", "wb", buffering=0) as file:
            for at in range(0, len(content), MIB):
                file.write(content[at : at + MIB])
        os.rename(f"{target}.part", target)
        return time.perf_counter() - began


def ends(place: Measured, table: paired.Table, what: Run, rounds: int, seed: int | None) -> None:
    """Add the rows of one kind of run."""
    place.forget()
    known_after: list[int] = []

    def learning_run() -> float:
        seconds = place.run(what, "iotune")[0]
        known_after.append(place.known_runs())
        return seconds

    comparison = paired.compare(
        what.name,
        {
            "bare": lambda: place.run(what, "bare")[0],
            "iotune": learning_run,
            "without learning": lambda: place.run(what, "without learning")[0],
            "plain write": place.plain_write,
        },
        rounds, warmup=1 if rounds > FEW_ROUNDS else 0, seed=seed,
    )  # fmt: skip
    table.keep(comparison)
    added = comparison.estimate(
        lambda rows: statistics.median(
            [
                mine - bare - plain
                for mine, bare, plain in zip(
                    rows["iotune"], rows["bare"], rows["plain write"], strict=True
                )
            ]
        )
    )
    table.judge(f"{what.name}: end beyond the trace's bytes, ms", added.scaled(1e3),
                paired.at_most(10, "ms"))  # fmt: skip
    table.add(f"{what.name}: the trace's bytes, ms", comparison.median("plain write").scaled(1e3))
    learns, records = (statistics.median(place.memory_kib[arm])
                       for arm in ("iotune", "without learning"))  # fmt: skip
    table.add(f"{what.name}: memory of the end, MiB", (learns - records) / 1024,
              paired.at_most(8, "MiB"))  # fmt: skip
    first = next((run for run, known in enumerate(known_after, 1) if known > 0), None)
    if first is not None:
        table.add(f"{what.name}: known after so many runs", first)


def _seconds_of(place: Measured, what: Run, arm: str) -> float:
    return place.run(what, arm)[1]


def wholes(place: Measured, table: paired.Table, what: Run, rounds: int, seed: int | None) -> None:
    """Add the rows of a run of a second."""
    place.forget()
    comparison = paired.compare(
        f"whole run, {what.name}",
        {arm: partial(_seconds_of, place, what, arm)
         for arm in ("bare", "iotune", "without learning")},
        rounds, seed=seed,
    )  # fmt: skip
    table.keep(comparison)
    table.judge(f"{what.name}, a second: speed of bare", comparison.ratio("bare", "iotune"),
                paired.at_least(0.97))  # fmt: skip
    table.add(f"{what.name}, a second: the same without learning",
              comparison.ratio("bare", "without learning"))  # fmt: skip
    bare, mine = (statistics.median(place.processor_seconds[arm]) for arm in ("bare", "iotune"))
    table.add(f"{what.name}, a second: processor time of bare to ours", bare / mine)


def copies(place: Measured, table: paired.Table, rounds: int, seed: int | None) -> None:
    """Add the rows of small serial programs."""
    place.forget()
    source = place.scratch / "ten_mb"
    source.write_bytes(os.urandom(5_000_000) + bytes(5_000_000))
    env = place.environment(True)
    for words in (["cp", str(source), f"{source}.copy"], ["gzip", "-kf", str(source)]):
        arms = {
            "bare": paired.Command(words, {preloaded.VARIABLE: None}),
            "iotune": paired.Command(words, {**env, **preloaded.variables(place.library)}),
        }
        comparison = paired.compare(f"{words[0]} of 10 MB", arms, rounds, seed=seed)
        table.keep(comparison)
        table.judge(f"{words[0]} of 10 MB: speed of bare", comparison.ratio("bare", "iotune"),
                    paired.at_least(0.95))  # fmt: skip


def main() -> int:
    """Measure, print and write build/bench/finish.json."""
    options = paired.arguments(__doc__, rounds=15, most=max(CALLS))
    if not (options.build / "lib" / "libiotune.so").is_file() or shutil.which("mpirun") is None:
        print("finish: build first (make build); needs mpirun and mpicc", file=sys.stderr)
        return 1
    table = paired.Table("finish")
    prefix = "iotune-finish-"
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with (
        tempfile.TemporaryDirectory(prefix=prefix) as scratch,
        tempfile.TemporaryDirectory(prefix=prefix, dir=memory) as buffers,
    ):
        place = Measured(options.build, options.out, Path(scratch), Path(buffers))
        if not place.programs:
            print("finish: needs MPICH and its HDF5 (libhdf5-mpich-dev)", file=sys.stderr)
            return 1
        for shape in SHAPES:
            for calls, share in CALLS.items():
                if calls > options.most:
                    continue
                ends(place, table, calls_run(shape, calls),
                     max(FEW_ROUNDS, round(share * options.rounds)), options.seed)  # fmt: skip
        ends(place, table, calls_run("regular", 20_000, files=1_000),
             max(FEW_ROUNDS, options.rounds // 2), options.seed)  # fmt: skip
        wholes(place, table, hdf5_run("Meep's 39 files", 39, 400), options.rounds, options.seed)
        wholes(place, table, hdf5_run("one netCDF file", 1, 5_000), options.rounds, options.seed)
        copies(place, table, 5 * options.rounds, options.seed)
    return table.finish(options.out)


if __name__ == "__main__":
    sys.exit(main())
