"""A real PyTorch DataLoader on a file system with latency, its epochs timed by the program itself.

A training step waits for the batch that no worker has ready: what counts is the time of an epoch
beside that of its computation alone. Each epoch begins without pages, as with a data set larger
than memory. Arms of one round, in a drawn order: none (no preload), record (iotune without
prefetching), first (IOTUNE_PREFETCH=recorded without a plan: epochs after the first), later (the
same with the plans of that run: all epochs).
"""

from __future__ import annotations

import argparse
import functools
import shutil
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import paired, pieces
from bench.prefetch.latency_mount import is_possible, mounted
from support import preloaded
from support.repository import COMPANIONS, program_source

ARMS = ("none", "record", "first", "later")
EPOCHS = 3
READER = program_source("dataloader_reader.py")
ONE_ORDER = ("--order", "seed", "--persistent")


@dataclass(frozen=True)
class Case:
    """A loader of one kind. The goal is of the later runs' epochs against none."""

    kind: str
    workers: int
    words: Sequence[str]
    goal: float | None = None


CASES = {
    "h5py, one process": Case("h5py", 0, ("--order", "seed"), 0.40),
    "h5py, 2 workers": Case("h5py", 2, ONE_ORDER, 0.60),
    "h5py, 4 workers": Case("h5py", 4, ONE_ORDER),
    "h5py, 2 new workers an epoch": Case("h5py", 2, ("--order", "seed")),
    "h5py, 2 workers, another order each epoch": Case(
        "h5py", 2, ("--order", "shuffle", "--persistent")
    ),
    "zarr, 2 workers": Case("zarr", 2, ONE_ORDER),
    "a file a sample, 2 workers": Case("npy", 2, ONE_ORDER),
    "tar shards, 2 workers": Case("tar", 2, ("--persistent",)),
}  # fmt: skip


class Runs:
    """Of one case, below one mount point."""

    def __init__(self, options: argparse.Namespace, python: Path, case: Case, root: Path):
        self._options, self._python, self._case, self._root = options, python, case, root
        self._check = ""

    def run(self, arm: str) -> float:
        """Seconds of an epoch: the median of those that count."""
        env = preloaded.plain_environment() | {"PYTHONWARNINGS": "ignore"}
        plans = self._root / "plans"
        if arm == "first":
            shutil.rmtree(plans, ignore_errors=True)
        elif arm == "later" and not plans.exists():
            self.run("first")  # the drawn order has it first
        if arm != "none":
            env |= preloaded.variables(self._options.build / "lib" / "libiotune.so") | {
                "IOTUNE_DB": "none",
                "XDG_STATE_HOME": str(plans if arm in ("first", "later") else self._root / "state"),
                "IOTUNE_BUFFER_DIR": str(self._root / "buffers"),
            }
        if arm in ("first", "later"):
            env |= {"IOTUNE_PREFETCH": "recorded", "IOTUNE_PREFETCH_SCHEDULE": "ours"}
        words = [
            *(self._python, READER, self._case.kind, self._root / "m" / "data", "--cold"),
            *("--epochs", EPOCHS, "--workers", self._case.workers),
            *("--pause-ms", self._options.pause_us / 1000, *self._case.words),
        ]
        done = subprocess.run(
            [str(word) for word in words], env=env, capture_output=True, text=True, check=False
        )
        # Workers' buffers are memory: nobody asks for this run's trace.
        shutil.rmtree(self._root / "buffers", ignore_errors=True)
        if done.returncode != 0 or "iotune:" in done.stderr:
            raise paired.ArmFailed(f"{arm}: {done.returncode}\n{done.stderr[-2000:]}")
        rows = [line.split() for line in done.stdout.splitlines()]
        (check,) = {" ".join(row[2:]) for row in rows}
        if self._check not in ("", check):
            raise paired.ArmFailed(f"{arm}: other samples than the arms before")
        self._check = check
        seconds = [float(row[1]) for row in rows]
        # The first epoch has the start of Python's workers, and in `first` nothing is known yet.
        return statistics.median(seconds[1:] if arm != "later" else seconds)


def piece(
    options: argparse.Namespace, python: Path, name: str, case: Case, table: paired.Table
) -> None:
    delay = [f"--latency-ns={options.latency_us * 1000}"]
    with mounted(options.build, "dataloader", delay) as root:
        subprocess.run([python, READER, case.kind, root / "root" / "data", "make"], check=True)
        runs = Runs(options, python, case, root)
        compared = paired.compare(
            name,
            {arm: functools.partial(runs.run, arm) for arm in ARMS},
            options.rounds,
            seed=options.seed,
        )
    table.keep(compared)
    table.add(f"{name}: none, s an epoch", compared.median("none"))
    for arm in ARMS[1:]:
        goal = paired.at_most(case.goal) if arm == "later" and case.goal is not None else None
        table.add(f"{name}: {arm}, an epoch against none", compared.ratio(arm, "none"), goal)


def with_torch() -> Path | None:
    """An interpreter that has what the programs need; None: there is none."""
    for python in (COMPANIONS / "torch" / "bin" / "python", Path(sys.executable)):
        asked = [str(python), "-c", "import torch, h5py, zarr"]
        if python.exists() and subprocess.run(asked, capture_output=True).returncode == 0:
            return python
    return None


def main() -> int:
    """Measure, print and write build/bench/dataloader.json."""
    options = pieces.arguments(__doc__, rounds=5, latency_us=2000, pause_us=2500)
    python = with_torch()
    if python is None:
        print("NOT VERIFIED DataLoader: no PyTorch, h5py and zarr here (tools/setup.sh torch)")
        return 0
    if not is_possible(options.build):
        print("NOT VERIFIED DataLoader: no iotune-fuse, or /dev/fuse cannot be had here")
        return 0
    return pieces.run(
        "dataloader",
        options,
        {
            name: functools.partial(piece, options, python, name, case)
            for name, case in CASES.items()
        },
    )


if __name__ == "__main__":
    sys.exit(main())
