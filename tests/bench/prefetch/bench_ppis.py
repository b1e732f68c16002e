"""Prefetching around the program's own I/O (Zhao et al., PPIS; figures 6 to 12 there).

Two programs, matrix-search and hill-encrypt (kernels/), as 1 to 32 processes on a file system with
latency and a bandwidth that all share. Arms of one round, in a drawn order: normal (no preload),
pp, ppis and ours (IOTUNE_PREFETCH_SCHEDULE), all three by the recorded plan of the round that does
not count: what the paper's prefetching thread knows by running ahead. Heavy: two threads read
another file of the same file system all the while.

The optimum is the paper's: normal without its reads. What a processor would compute is a pause, as
long as the storage needs, so that 32 processes fit two cores; `computes` rows really compute.
"""

from __future__ import annotations

import argparse
import functools
import os
import random
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from bench import paired, pieces
from bench.prefetch.latency_mount import drop_pages, is_possible, mounted
from support import preloaded

ARMS = ("normal", "pp", "ppis", "ours")
UNIT = 102_400
LAUNCH_NS = 15_000_000  # until a process has started, on a core that others start on, too
NOISE_BYTES = 64 << 20
LATENCY_US = 2000
BYTES_A_SECOND = 200_000_000


@dataclass(frozen=True)
class Case:
    """One program at one number of processes."""

    program: str
    processes: int
    heavy: bool = False
    chunk_units: int = 0  # 0: the program's own
    computes: bool = False

    def __str__(self) -> str:
        words = [self.program, f"{self.processes} processes", "heavy" if self.heavy else "light"]
        if self.chunk_units:
            words.append(f"chunks of {self.chunk_units * UNIT // 1000} KB")
        return ", ".join([*words, "computes"] if self.computes else words)

    def file_bytes(self) -> int:
        """Many processes have more to read, or their runs were over before the last has begun.

        On full cores the 2 ms count, too, that a process takes for loading and for its trace: the
        papers' runs last minutes, these have to be long against them.
        """
        return max(256, (96 if self.processes >= 8 else 32) * self.processes) * UNIT

    def request_us(self) -> int:
        """What the storage needs for a unit read alone."""
        return LATENCY_US + UNIT * 1_000_000 // BYTES_A_SECOND


def cases(most_processes: int, sweep: bool) -> Iterator[Case]:
    counts = [n for n in (1, 2, 4, 8, 16, 32) if n <= most_processes]
    for processes in counts:
        yield Case("matrix-search", processes)
    for heavy in (False, True):
        for processes in counts:
            yield Case("hill-encrypt", processes, heavy)
    yield Case("hill-encrypt", 1, computes=True)
    if not sweep:
        return
    for processes in (n for n in (1, 8, 32) if n <= most_processes):
        for units in (1, 4, 8) if processes > 1 else (4, 8, 64):
            yield Case("hill-encrypt", processes, chunk_units=units)


class Bench:
    """Runs of the programs below one mount point."""

    def __init__(self, options: argparse.Namespace, scratch: Path) -> None:
        self.options = options
        self.scratch = scratch
        self.library = options.build / "lib" / "libiotune.so"
        (scratch / "root" / "noise").write_bytes(bytes(NOISE_BYTES))
        self.waits: dict[str, list[float]] = {}
        self.optimum: list[float] = []
        self.check: list[str] = []

    def command(self, case: Case, rank: int, start_ns: int) -> list[str]:
        mount = self.scratch / "m"
        words = [str(self.options.build / "bin" / case.program), str(mount / "data"),
                 "--rank", str(rank), "--ranks", str(case.processes),
                 "--start-ns", str(start_ns)]  # fmt: skip
        if case.program == "hill-encrypt":
            words += ["--output", str(mount / "cipher")]
        if case.chunk_units:
            words += ["--chunk", str(case.chunk_units * UNIT)]
        if not case.computes:
            words += ["--pause-us", str(case.request_us())]
        return words

    def environment(self, arm: str, rank: int) -> dict[str, str]:
        env = preloaded.plain_environment()
        if arm == "normal":
            return env
        own = self.scratch / f"{arm}-{rank}"
        own.mkdir(exist_ok=True)
        return env | {
            **preloaded.variables(self.library), "IOTUNE_PREFETCH": "recorded", "IOTUNE_DB": "none",
            "IOTUNE_PREFETCH_SCHEDULE": arm, "XDG_STATE_HOME": str(own),
            "IOTUNE_BUFFER_DIR": str(self.scratch / "buffers"),
        }  # fmt: skip

    def run(self, case: Case, arm: str) -> float:
        """Milliseconds from the processes' common begin to the last one's end."""
        start_ns = time.monotonic_ns() + (4 + case.processes) * LAUNCH_NS
        started = [
            subprocess.Popen(self.command(case, rank, start_ns), env=self.environment(arm, rank),
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for rank in range(case.processes)
        ]  # fmt: skip
        found = []
        for process in started:
            out, err = process.communicate()
            if process.returncode != 0 or err:
                for other in started:
                    other.kill()
                    other.wait()
                raise paired.ArmFailed(f"{case}, {arm}: status {process.returncode}\n{err}")
            found.append(out.split())
        check = [words[4] for words in found]
        if self.check not in ([], check):
            raise paired.ArmFailed(f"{case}, {arm}: another result than the arms before")
        self.check = check
        begin = min(int(words[0]) for words in found)
        total = max(int(words[1]) for words in found) - begin
        reads = statistics.mean(int(words[2]) for words in found)
        self.waits.setdefault(arm, []).append(reads / 1e6)
        if arm == "normal":
            hidden = max(int(words[1]) - begin - int(words[2]) for words in found)
            self.optimum.append(hidden / 1e6)
        return total / 1e6

    def compare(self, case: Case, table: paired.Table) -> None:
        """All arms of a case, and their rows."""
        self.waits, self.optimum, self.check = {}, [], []
        draw = random.Random(5)
        with (self.scratch / "root" / "data").open("wb") as data:
            for _ in range(case.file_bytes() // UNIT):
                data.write(draw.randbytes(UNIT))
        for arm in ARMS:
            for rank in range(case.processes):
                shutil.rmtree(self.scratch / f"{arm}-{rank}", ignore_errors=True)
        comparison = paired.compare(
            str(case), {arm: functools.partial(self.run, case, arm) for arm in ARMS},
            self.options.rounds, seed=self.options.seed, before_each=self.drop_all,
        )  # fmt: skip
        rounds = self.options.rounds
        comparison.numbers["optimum"] = self.optimum[-rounds:]
        waits = {arm: row[-rounds:] for arm, row in self.waits.items()}
        reads = paired.Comparison(f"{case}: reads", waits, comparison.order, comparison.seed)
        table.keep(comparison)
        table.keep(reads)
        add_rows(table, case, comparison, reads)

    def drop_all(self) -> None:
        drop_pages(self.scratch / "m" / "data")

    @contextmanager
    def background(self) -> Iterator[None]:
        """Two threads that read another file of the same file system, past its page cache."""
        ends = threading.Event()
        path = self.scratch / "m" / "noise"

        def read(seed: int) -> None:
            draw = random.Random(seed)
            fd = os.open(path, os.O_RDONLY)
            while not ends.is_set():
                at = draw.randrange(NOISE_BYTES >> 20) << 20
                os.pread(fd, 1 << 20, at)
                os.posix_fadvise(fd, at, 1 << 20, os.POSIX_FADV_DONTNEED)
            os.close(fd)

        threads = [threading.Thread(target=read, args=(seed,)) for seed in (1, 2)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            ends.set()
            for thread in threads:
                thread.join()


def share_of_optimum(arm: str, rows: Mapping[str, Sequence[float]]) -> float:
    """What an arm saves of all that could be saved."""
    normal, best = (statistics.median(rows[name]) for name in ("normal", "optimum"))
    return (normal - statistics.median(rows[arm])) / (normal - best)


def add_rows(
    table: paired.Table, case: Case, comparison: paired.Comparison, reads: paired.Comparison
) -> None:
    table.add(f"{case}: normal, ms", comparison.median("normal"))
    table.add(f"{case}: normal, ms in reads", reads.median("normal"))
    table.add(f"{case}: normal, MB/s read",
              case.file_bytes() / 1e3 / comparison.median("normal").value)  # fmt: skip
    table.add(f"{case}: optimum, speed-up (at most 2 where all can be hidden)",
              comparison.ratio("normal", "optimum"))  # fmt: skip
    for arm in ("pp", "ppis", "ours"):
        goal = paired.at_least(0.98) if case.heavy and arm != "pp" else None
        table.add(f"{case}: {arm}, speed-up", comparison.ratio("normal", arm), goal)
        table.add(f"{case}: {arm}, time in reads against normal", reads.ratio(arm, "normal"))
        table.add(f"{case}: {arm}, share of the optimum's saving",
                  comparison.estimate(functools.partial(share_of_optimum, arm)))  # fmt: skip
    if case.heavy and case.processes > 4:
        table.add(f"{case}: ours, time against pp",
                  comparison.ratio("ours", "pp"), paired.at_most(1))  # fmt: skip


def main() -> int:
    """Measure, print and write build/bench/ppis.json."""
    options = pieces.arguments(__doc__, rounds=5, most_processes=32, sweep=1)
    if not is_possible(options.build):
        print("NOT VERIFIED prefetching: no iotune-fuse, or /dev/fuse cannot be had here")
        return 0
    delays = [f"--latency-ns={LATENCY_US * 1000}", f"--bytes-per-second={BYTES_A_SECOND}"]

    def measure(case: Case, table: paired.Table) -> None:
        with mounted(options.build, "ppis", delays) as scratch:
            bench = Bench(options, scratch)
            with bench.background() if case.heavy else nullcontext():
                bench.compare(case, table)

    wanted = cases(options.most_processes, bool(options.sweep))
    return pieces.run(
        "ppis", options, {str(case): functools.partial(measure, case) for case in wanted}
    )


if __name__ == "__main__":
    sys.exit(main())
