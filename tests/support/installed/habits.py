"""Programs with a habit that `iotune advise` finds, and their mended twins, recorded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import iotune
from iotune.findings import Findings, findings_of
from iotune.launch import preload
from iotune.replay.mpi import find_mpi, hdf5_flags
from support.repository import program_source

needs_the_library = pytest.mark.skipif(
    preload.find_library(preload.LIBRARY) is None, reason="libiotune.so is not installed"
)


class Habits:
    """One of tests/python/programs/*_habits.c, built below `root`."""

    def __init__(self, root: Path, name: str):
        self._root = root
        self._mpi = find_mpi()
        self._program = root / name
        compiler = "cc" if name == "posix_habits" else str(self._mpi.compiler)
        flags = hdf5_flags(self._mpi) if name == "hdf5_habits" else []
        source = str(program_source(f"{name}.c"))
        subprocess.run(
            [compiler, "-Wall", "-Wextra", "-Werror", "-O1", source, *flags, "-o", self._program],
            check=True,
        )

    def trace(
        self, habit: str, good: bool, ranks: int = 0, config: Path | None = None
    ) -> iotune.Trace:
        """Of a run in an empty directory; `ranks` 0: without MPI. With settings it is tuned."""
        work = self._root / f"{habit}-{'good' if good else 'bad'}{'-tuned' if config else ''}"
        how = ["--config", str(config)] if config else ["--mode", "record"]
        work.mkdir()
        trace = work.with_suffix(".iotrace")
        words = [str(self._program), habit, *(["good"] if good else [])]
        launcher = self._mpi.command(ranks) if ranks else []
        done = subprocess.run(
            [
                *(sys.executable, "-m", "iotune", "run", *how),
                *("--timing", "exact", "-o", str(trace), "--", *launcher, *words),
            ],
            cwd=work,
            env=os.environ | {"XDG_STATE_HOME": str(self._root), "IOTUNE_DB": "none"},
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return iotune.open_trace(trace)

    def findings(self, habit: str, good: bool, ranks: int = 0) -> Findings:
        return findings_of(self.trace(habit, good, ranks))


def ids(found: Findings) -> list[str]:
    return [one.id for one in found.findings]
