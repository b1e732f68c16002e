"""What a training takes, in ordinary runs of the program: kernels whose best is far faster.

Each round has a home of its own. The program's own time is that of runs without iotune, between
which the training lies.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from iotune.errors import Error

IOTUNE = [sys.executable, "-m", "iotune"]
_RANKS = "2"


@dataclass(frozen=True)
class Trained:
    """One training."""

    name: str
    runs_of_program: float
    replays: int
    gain: float  # 1: nothing was found
    settings: str


_KERNELS = {
    "cyclic": ("cyclic-io", "--collective", "--size", "1000000"),
    "columns": ("column-io", "--collective"),
}


def trainings(build: Path, folder: Path, rounds: int) -> list[Trained]:
    """Each kernel, `rounds` times. Raises Error where a program fails."""
    return [
        _trained(name, [str(build / "bin" / words[0]), *words[1:]], folder / f"{name}{number}")
        for number in range(rounds)
        for name, words in _KERNELS.items()
    ]


def _trained(name: str, kernel: list[str], folder: Path) -> Trained:
    folder.mkdir(parents=True)
    environment = {key: value for key, value in os.environ.items() if "IOTUNE" not in key}
    environment.update(HOME=str(folder), XDG_DATA_HOME=str(folder / "data"),
                       XDG_STATE_HOME=str(folder / "state"), XDG_CONFIG_HOME=str(folder / "config"),
                       IOTUNE_BUFFER_DIR=str(folder / "buffers"))  # fmt: skip

    def timed(words: list[str]) -> tuple[float, str]:
        began = time.monotonic()
        done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True,
                              check=False)  # fmt: skip
        if done.returncode != 0:
            raise Error(f"{' '.join(words)}: {done.stderr.strip()}")
        return time.monotonic() - began, done.stdout

    program = ["mpirun.mpich", "-n", _RANKS, *kernel]
    bare = [timed(program)[0] for _ in range(2)]
    timed([*IOTUNE, "run", "--", *program])
    seconds, said = timed([*IOTUNE, "train", "--json"])
    bare += [timed(program)[0] for _ in range(2)]
    [outcome] = json.loads(said)
    confirmed = outcome["confirmed"]
    settings = ";".join(f"{key}={value}" for key, value in sorted(outcome["settings"].items()))
    return Trained(name, seconds / median(bare), int(outcome["replays"]),
                   confirmed["ratio"] if confirmed and settings else 1.0, settings)  # fmt: skip
