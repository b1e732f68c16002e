"""Prefetching for real programs on a file system with latency, each timed by itself.

An h5py script (HDF5 from its wheel) that walks a chunked dataset by planes, IOR's random transfers
in a block, BD-CATS-like reads with parallel HDF5 on two ranks. Arms of one round, in a drawn order:
none (no preload at all), pattern, and perfect (the recorded plan of the round that does not count).
"""

from __future__ import annotations

import argparse
import functools
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bench import native, paired, pieces
from bench.prefetch.latency_mount import drop_pages, is_possible, mounted
from support import preloaded

ARMS = {"none": "", "pattern": "pattern", "perfect": "recorded"}
RANKS = 2
PIECE = 131072  # particles: 512 KiB of a variable
HERE = Path(__file__).resolve().parent


class Bench:
    """Runs of one program below the mount point."""

    def __init__(self, options: argparse.Namespace, scratch: Path) -> None:
        self.options = options
        self.scratch = scratch
        self.iotune = options.build / "lib" / "libiotune.so"
        self.totals: dict[str, list[float]] = {}
        self.check = ""

    def run(self, name: str, words: Sequence[str], mpi: bool, arm: str) -> float:
        """Milliseconds in reads."""
        # With two ranks on two cores and a file system beside them a waiting rank must yield.
        libraries = [native.yield_shim(self.options.build)] if mpi else []
        env = preloaded.plain_environment()
        if ARMS[arm]:
            libraries.append(self.iotune)
            state = self.scratch / f"{name}-{arm}"
            env |= {
                "IOTUNE_PREFETCH": ARMS[arm], "IOTUNE_PREFETCH_SCHEDULE": "ours",
                "IOTUNE_DB": "none", "XDG_STATE_HOME": str(state),
                "IOTUNE_BUFFER_DIR": str(self.scratch / "buffers"),
            }  # fmt: skip
        if mpi:
            words = ["mpirun.mpich", "-n", str(RANKS), "-genv", preloaded.VARIABLE,
                     preloaded.joined(*libraries), *words]  # fmt: skip
        else:
            env |= preloaded.variables(*libraries)
        done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
        if done.returncode != 0 or done.stderr:
            raise paired.ArmFailed(f"{name}, {arm}: {done.returncode}\n{done.stderr}")
        reads, total, check = done.stdout.split()
        if self.check not in ("", check):
            raise paired.ArmFailed(f"{name}, {arm}: other bytes than the arms before")
        self.check = check
        self.totals.setdefault(arm, []).append(int(total) / 1e6)
        return int(reads) / 1e6

    def compare(
        self, table: paired.Table, name: str, words: Sequence[str], mpi: bool = False
    ) -> None:
        self.totals, self.check = {}, ""
        reads = paired.compare(
            name, {arm: functools.partial(self.run, name, words, mpi, arm) for arm in ARMS},
            self.options.rounds, seed=self.options.seed, before_each=self.drop_all,
        )  # fmt: skip
        totals = paired.Comparison(
            f"{name}, in all",
            {arm: row[-self.options.rounds :] for arm, row in self.totals.items()},
            reads.order, reads.seed,
        )  # fmt: skip
        for comparison in (reads, totals):
            table.keep(comparison)
        table.add(f"{name}: none, ms in reads", reads.median("none"))
        table.add(f"{name}: none, ms in all", totals.median("none"))
        for arm in ("pattern", "perfect"):
            goal = paired.at_most(0.10) if arm == "pattern" else None
            table.add(f"{name}: {arm}, time in reads against none",
                      reads.ratio(arm, "none"), goal)  # fmt: skip
            goal = paired.at_most(0.60) if arm == "pattern" else None
            table.add(f"{name}: {arm}, the whole run against none",
                      totals.ratio(arm, "none"), goal)  # fmt: skip

    def drop_all(self) -> None:
        for path in (self.scratch / "m").iterdir():
            drop_pages(path)


def script_piece(
    options: argparse.Namespace, script: str, file: str, pause_us: int, table: paired.Table
) -> None:
    program = [sys.executable, str(HERE / script)]
    has_h5py = subprocess.run([sys.executable, "-c", "import h5py"], capture_output=True,
                              check=False).returncode == 0  # fmt: skip
    if script.startswith("h5py") and not has_h5py:
        print("NOT VERIFIED prefetching: h5py: not in this environment")
        return
    with mounted(options.build, "prefetch-programs", delay(options)) as scratch:
        subprocess.run([*program, str(scratch / "root" / file), "make"], check=True)
        Bench(options, scratch).compare(
            table, script.removesuffix(".py"),
            [*program, str(scratch / "m" / file), str(pause_us)],
        )  # fmt: skip


def particles_piece(options: argparse.Namespace, table: paired.Table) -> None:
    particles = options.build / "bin" / "bd-cats-io"
    if not particles.exists() or shutil.which("mpirun.mpich") is None:
        print("NOT VERIFIED prefetching: BD-CATS: no parallel HDF5 or no mpirun.mpich")
        return
    with mounted(options.build, "prefetch-programs", delay(options)) as scratch:
        subprocess.run(["mpirun.mpich", "-n", str(RANKS), str(particles), "--write",
                        str(scratch / "root" / "particles.h5"), str(8 * PIECE)],
                       check=True)  # fmt: skip
        Bench(options, scratch).compare(
            table, "bd-cats-io", [str(particles), str(scratch / "m" / "particles.h5"), str(PIECE),
                                  str(12 * options.latency_us)], mpi=True,
        )  # fmt: skip


def delay(options: argparse.Namespace) -> list[str]:
    return [f"--latency-ns={options.latency_us * 1000}"]


def main() -> int:
    """Measure, print and write build/bench/prefetch_programs.json."""
    options = pieces.arguments(__doc__, rounds=7, latency_us=2000)
    if not is_possible(options.build):
        print("NOT VERIFIED prefetching: no iotune-fuse, or /dev/fuse cannot be had here")
        return 0
    latency_us = options.latency_us
    return pieces.run("prefetch_programs", options, {
        # The kernel's read-ahead has half of its chunks: so it computes about as long as it waits.
        "h5py_planes": functools.partial(script_piece, options, "h5py_planes.py", "planes.h5",
                                         latency_us // 3),
        "random_in_block": functools.partial(script_piece, options, "random_in_block.py", "blocks",
                                             latency_us),
        "bd-cats-io": functools.partial(particles_piece, options),
    })  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
