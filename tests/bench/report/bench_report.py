"""What `iotune report` takes for a run of 10^7 accesses, half of them at random places.

The trace is of a real run of half_random on four ranks under the preload. The time is that of the
whole command, PyDarshan's beside it that of its summary of one of the logs that it comes with, far
smaller ones: there is no Darshan run time here to log the same run.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bench import native, paired
from support import preloaded

ACCESSES = 10**7
RANKS = 4
MIB = 1 << 20
DARSHAN_LOGS = ("sample-badost.darshan", "ior_hdf5_example.darshan")


def recorded(build: Path, out: Path, scratch: Path, accesses: int) -> Path:
    """A trace of so many accesses."""
    found = ["pkg-config", "--cflags", "--libs", "mpich"]
    flags = subprocess.run(found, check=True, capture_output=True, text=True).stdout.split()
    program = native.compiled("half_random.c", out / "native", flags)
    trace = scratch / f"{accesses}.iotrace"
    library = build / "lib" / "libiotune.so"
    env = preloaded.plain_environment() | {
        **preloaded.variables(native.yield_shim(build), library),
        "IOTUNE_MODE": "record", "IOTUNE_DB": "none", "IOTUNE_TRACE": str(trace),
    }  # fmt: skip
    words = [str(program), str(scratch / "data"), str(accesses)]
    subprocess.run(["mpirun.mpich", "-n", str(RANKS), *words], env=env, check=True)
    return trace


@dataclass(frozen=True)
class Done:
    """A command: how long it took, how much of that it computed, its most memory."""

    seconds: float
    computed_seconds: float
    memory_mib: float


def measured(command: list[str]) -> Done:
    """Run a command."""
    began = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    if status != 0:
        raise paired.ArmFailed(f"{' '.join(command)} ended with {status}")
    computed = used.ru_utime + used.ru_stime
    return Done(time.monotonic() - began, computed, used.ru_maxrss / 1024)


def report(trace: Path, page: Path, rounds: int) -> list[Done]:
    """Each round."""
    command = [sys.executable, "-m", "iotune", "report", str(trace), "-o", str(page)]
    return [measured([*command, "--db", "none", "--force"]) for _ in range(rounds)]


def darshan_summaries(table: paired.Table, scratch: Path) -> None:
    """PyDarshan's summaries of logs of its own, where it is installed."""
    try:
        import darshan
    except ImportError:
        print("PyDarshan is not installed: nothing beside it")
        return
    folder = Path(darshan.__file__).parent / "examples" / "example_logs"
    for name in DARSHAN_LOGS:
        page = scratch / f"{name}.html"
        command = [sys.executable, "-m", "darshan", "summary", str(folder / name)]
        try:
            done = measured([*command, "--output", str(page)])
        except paired.ArmFailed as problem:
            print(f"PyDarshan: {problem}")
            continue
        log = (folder / name).stat().st_size
        what = f"PyDarshan's summary of its own {name} ({log} bytes)"
        table.add(f"{what}, s, one run", done.seconds)
        table.add(f"{what}, s of computing", done.computed_seconds)
        table.add(f"{what}, size of the page, MiB", page.stat().st_size / MIB)


def main() -> int:
    """Measure, print and write build/bench/report.json."""
    options = paired.arguments(__doc__, rounds=3)
    table = paired.Table("report")
    with tempfile.TemporaryDirectory(dir=options.out) as folder:
        scratch = Path(folder)
        for accesses in (10**4, ACCESSES):
            trace = recorded(options.build, options.out, scratch, accesses)
            page = scratch / "page.html"
            done = report(trace, page, options.rounds)
            seconds = [one.seconds for one in done]
            what = f"{accesses:.0e} accesses"
            goal = paired.at_most(10, "s") if accesses == ACCESSES else None
            print(f"{what}: {json.dumps([round(one, 2) for one in seconds])} s", flush=True)
            table.add(f"{what}: report, s, median", statistics.median(seconds), goal)
            computed = statistics.median(one.computed_seconds for one in done)
            table.add(f"{what}: s of computing, median", computed)
            size = page.stat().st_size / MIB
            table.add(f"{what}: size of the page, MiB", size, paired.at_most(3, "MiB"))
            table.add(f"{what}: most memory, MiB", max(one.memory_mib for one in done))
            table.add(f"{what}: size of the trace, MiB", trace.stat().st_size / MIB)
        darshan_summaries(table, scratch)
    return table.finish(options.out)


if __name__ == "__main__":
    sys.exit(main())
