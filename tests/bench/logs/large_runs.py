"""What `iotune show`, `analyze` and `import` need of traces and logs of large runs.

Processor time and memory of the commands, one run each: they do not wait for each other.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from bench import native, paired
from support import preloaded

MIB = 1 << 20
RANKS = 16
CALLS, FEWER_CALLS = 10**8, 10**7
FILES = 100_000
LOG_RANKS, LOG_ROWS = 1024, 300_000
BLOCK_BYTES = 65536
_MEASURE = """
import os, sys
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ,
                       file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
_, status, use = os.wait4(child, 0)
print(use.ru_utime + use.ru_stime, use.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""
_HEAD = "rank,file,op,offset,length,start,end\n"


def used(*words: object) -> tuple[float, float]:
    """Seconds of processor time and MiB of `iotune` with these words."""
    command = [sys.executable, "-m", "iotune", *map(str, words)]
    # A child's largest memory begins with that of who forks it: that is to be a small process.
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, *command], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise paired.ArmFailed(f"{' '.join(command)} failed: {done.stderr[-300:]}")
    seconds, largest_kib = done.stdout.split()
    return float(seconds), int(largest_kib) * 1024 / MIB


def add(
    table: paired.Table,
    what: str,
    seconds: float | None,
    words: list[object],
    mib: float | None = None,
) -> None:
    """Run the command and add its rows, with its goals."""
    took, memory = used(*words)
    table.add(f"{what}, s CPU", took, None if seconds is None else paired.at_most(seconds, "s"))
    table.add(
        f"{what}, MiB", memory, None if mib is None else paired.at_most(mib, "MiB")
    )  # fmt: skip


def made(build: Path, shape: str, calls: int, trace: Path) -> Path:
    """A trace of so many calls, which no program made."""
    words = [build / "bin" / "make_trace", shape, RANKS, calls // RANKS, trace]
    subprocess.run([str(word) for word in words], check=True)
    return trace


def rows_of_hdf5(build: Path, out: Path, rows: int, folder: Path) -> Path | None:
    """The trace of a program that writes a dataset row by row; None without parallel HDF5."""
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "hdf5-mpich", "mpich"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if flags.returncode != 0:
        print("logs: no parallel HDF5: NOT VERIFIED: rows of HDF5", file=sys.stderr)
        return None
    program = native.compiled("hdf5_writes.c", out / "native", flags.stdout.split())
    trace, data = folder / "rows.iotrace", folder / "rows.h5"
    environment = preloaded.plain_environment() | {
        **preloaded.variables(build / "lib" / "libiotune.so"),
        "IOTUNE_MODE": "record",
        "IOTUNE_TRACE": str(trace),
    }
    subprocess.run([str(program), str(data), str(rows)], env=environment, check=True)
    data.unlink()
    return trace


def write_log(log: Path, rows: int) -> None:
    """A checkpoint of LOG_RANKS ranks, a block each in turn."""
    with log.open("w", encoding="ascii") as file:
        file.write(_HEAD)
        for at in range(rows):
            step, rank = divmod(at, LOG_RANKS)
            offset = (step * LOG_RANKS + rank) * BLOCK_BYTES
            file.write(
                f"{rank},/scratch/ckpt.bin,write,{offset},{BLOCK_BYTES},"
                f"{at * 1e-5:.6f},{at * 1e-5 + 2e-6:.6f}\n"
            )


def write_files(log: Path, files: int) -> None:
    """A hundred files a step, with a write of each of four ranks."""
    with log.open("w", encoding="ascii") as file:
        file.write(_HEAD)
        for at in range(4 * files):
            number, rank = divmod(at, 4)
            file.write(
                f"{rank},/scratch/step{number // 100:04d}/part-{number % 100:03d}.bin,write,"
                f"{4096 * rank},4096,{at * 1e-5:.6f},{at * 1e-5 + 2e-6:.6f}\n"
            )


def measure(table: paired.Table, build: Path, out: Path, shrink: int) -> None:
    """Add all rows, of sizes that many times smaller: goals are those of the whole ones."""
    calls, fewer, rows_of_log, files = (
        number // shrink for number in (CALLS, FEWER_CALLS, LOG_ROWS, FILES)
    )
    # On a disk: files in memory would be memory that nobody counts.
    with tempfile.TemporaryDirectory(dir=out.resolve()) as scratch:
        folder = Path(scratch)
        trace = folder / "run.iotrace"
        regular = made(build, "strided", calls, trace)
        add(table, f"show of {calls:,} regular calls", 1, ["show", regular])
        regular = made(build, "strided", fewer, trace)
        add(table, f"analyze of {fewer:,} regular calls", 5, ["analyze", "-j", 1, regular])
        drawn = made(build, "random", fewer, trace)
        add(table, f"analyze of {fewer:,} random calls", 20, ["analyze", "-j", 1, drawn])
        trace.unlink()
        rows = rows_of_hdf5(build, out, fewer, folder)
        if rows is not None:
            add(table, f"show of {fewer:,} H5Dwrites by rows", 1, ["show", rows])
        log = folder / "log.csv"
        write_log(log, rows_of_log)
        seconds, _ = used("import", log, "-o", trace)
        # Of which some tenths of a second are to begin, and to load Arrow.
        few, made_of_few = folder / "few.csv", folder / "few.iotrace"
        write_log(few, rows_of_log // 20)
        begun, _ = used("import", few, "-o", made_of_few)
        table.add("CSV, µs CPU a further row",
                  (seconds - begun) / (rows_of_log - rows_of_log // 20) * 1e6,
                  paired.at_most(0.5, "µs"))  # fmt: skip
        what = f"show of a log of {LOG_RANKS:,} ranks and {rows_of_log:,} calls"
        add(table, what, 3, ["show", trace], 150)
        trace.unlink()
        write_files(log, files)
        used("import", log, "-o", trace)
        add(table, f"show of {files:,} files", 3, ["show", trace], 300)
        add(table, f"advise of {files:,} files", None, ["advise", trace])
