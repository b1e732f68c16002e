"""A compute node: a launcher of an MPI on PATH, and nothing that compiles."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from support.mpis import Mpi, find_mpi

COMPILERS = ("mpicc", "mpicc.mpich", "mpicc.openmpi", "cc", "gcc", "pkg-config", "h5pcc")


def on_path(folder: Path, name: str, program: str) -> None:
    """A program of the system under a name in `folder`, so that nothing else lies beside it."""
    folder.mkdir(exist_ok=True)
    script = folder / name
    script.write_text(f'#!/bin/sh\nexec {program} "$@"\n')
    script.chmod(0o755)


def mpi_with_hdf5(name: str) -> Mpi | None:
    """One of mpis.py that has a parallel HDF5; None where it is not installed."""
    mpi = find_mpi(name)
    tool = shutil.which("pkg-config")
    if mpi is None or tool is None:
        return None
    return mpi if subprocess.run([tool, mpi.hdf5_package], check=False).returncode == 0 else None


class Node:
    """Who types commands of iotune on a node of one MPI, with an empty home."""

    def __init__(self, root: Path, launcher: str) -> None:
        self.work, self.bin, self.cache = root / "work dir", root / "bin", root / "cache"
        self.work.mkdir()
        on_path(self.bin, "mpirun", launcher)
        # Open MPI 4 wants to see one, and calls it for other nodes alone.
        on_path(self.bin, "ssh", "/bin/false")
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith(("IOTUNE_", "HDF5_", "XDG_"))}  # fmt: skip
        self.environment = kept | {
            "PATH": str(self.bin), "HOME": str(root / "home"), "XDG_CACHE_HOME": str(self.cache),
            "XDG_STATE_HOME": str(root / "state"), "XDG_DATA_HOME": str(root / "data"),
            "IOTUNE_EXPLORE": "off", "IOTUNE_LEARN_MS": "20000",
            "IOTUNE_BUFFER_DIR": str(root / "buffers"),
        }  # fmt: skip
        for compiler in COMPILERS:
            assert shutil.which(compiler, path=str(self.bin)) is None

    def type(
        self, *words: object, status: int | None = 0, **variables: object
    ) -> subprocess.CompletedProcess[str]:
        """Type a command and demand its exit status (None: any), without a traceback."""
        done = subprocess.run(
            [sys.executable, "-m", "iotune", *map(str, words)], cwd=self.work,
            env=self.environment | {name: str(value) for name, value in variables.items()},
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert status in (None, done.returncode), done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done

    def compiled(self) -> list[Path]:
        """What was compiled into the cache."""
        return sorted(self.cache.rglob("*iotune-*")) if self.cache.exists() else []
