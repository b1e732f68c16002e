"""What `iotune analyze` needs for large runs: memory, counted, and seconds.

Traces are made, not recorded: 10^6 and 10^8 accesses of 16 ranks in loops, 10^6 and 4·10^6 without,
and the merged trace of 100,000 simulated ranks. Memory is the most that any process of the command
had; of two sizes of one kind it should be the same. Some three minutes on two cores; each result is
printed as it comes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bench import paired

MIB = 1 << 20
RANKS = 16
MANY_RANKS = 100_000


@dataclass(frozen=True)
class Done:
    """One analysis: the most memory of a process, seconds, and what was found."""

    memory_bytes: int
    seconds: float
    accesses: int
    streams: int
    log_bytes: int
    groups: int


def analysed(trace: Path, out: Path, jobs: int) -> Done:
    """Run `iotune analyze` on it, with prediction."""
    command = [sys.executable, "-m", "iotune", "analyze", str(trace), "-j", str(jobs), "--json"]
    result = out / "analysis.json"
    began = time.monotonic()
    with result.open("wb") as file:
        child = subprocess.Popen([*command, "--predict", "2"], stdout=file)
        _, status, used = os.wait4(child.pid, 0)
    seconds = time.monotonic() - began
    if status != 0:
        raise paired.ArmFailed(f"{' '.join(command)} ended with {status}")
    (one,) = json.loads(result.read_text())["traces"]
    groups = sum(row["different"] for file in one["files"] for row in file["streams"])
    return Done(
        used.ru_maxrss * 1024, seconds, one["accesses"], one["streams"], one["log_bytes"], groups
    )


def add(table: paired.Table, what: str, done: Done, limit_mib: float | None) -> None:
    """Add its rows."""
    goal = None if limit_mib is None else paired.at_most(limit_mib, "MiB")
    print(
        f"{what}: {done.memory_bytes / MIB:.0f} MiB, {done.seconds:.1f} s, {done.log_bytes} bytes",
        flush=True,
    )
    table.add(f"{what}: most memory of a process, MiB", done.memory_bytes / MIB, goal)
    table.add(f"{what}: pattern log, bytes", done.log_bytes)
    table.add(f"{what}: seconds, one run", done.seconds)


def main() -> int:
    """Measure, print and write build/bench/analyze.json."""
    options = paired.arguments(__doc__, rounds=1)
    table = paired.Table("analyze")
    build: Path = options.build
    jobs = len(os.sched_getaffinity(0))
    # On a disk: files in memory would be memory that nobody counts.
    with tempfile.TemporaryDirectory(dir=options.out) as scratch:
        trace = Path(scratch) / "run.iotrace"
        for shape, sizes in (("nested", (10**6, 10**8)), ("random", (10**6, 4 * 10**6))):
            for accesses in sizes:
                made = [str(build / "bin" / "make_trace"), shape, str(RANKS)]
                subprocess.run([*made, str(accesses // RANKS), str(trace)], check=True)
                done = analysed(trace, Path(scratch), jobs)
                if done.accesses != accesses // RANKS * RANKS or done.streams != RANKS:
                    raise paired.ArmFailed(f"of {accesses} accesses there are {done}")
                add(table, f"{accesses:.0e} {shape} accesses, -j {jobs}", done, 256)
        made = [str(build / "bin" / "merge_ranks"), str(MANY_RANKS), "grid", "trace", str(trace)]
        subprocess.run(made, check=True, stdout=subprocess.DEVNULL)
        done = analysed(trace, Path(scratch), jobs)
        if done.streams != MANY_RANKS:
            raise paired.ArmFailed(f"of {MANY_RANKS} ranks there are {done}")
        add(table, f"{MANY_RANKS} ranks, {done.accesses} accesses, -j {jobs}", done, 1024)
        table.add(f"{MANY_RANKS} ranks: different patterns", done.groups)
    return table.finish(options.out)


if __name__ == "__main__":
    sys.exit(main())
