"""What a training takes and a survey brings, as users do them: kernels whose best is far faster.

Each training has a home of its own. The program's own time is that of runs without iotune, between
which the training lies. A survey has a home with the kernels' recorded runs; what their next runs
get of it is measured by replays against the default.
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


@dataclass(frozen=True)
class Surveyed:
    """What a kernel's first run after a survey got."""

    name: str
    settings: str  # empty: it was left at the default
    gain: float
    expected: str  # what `iotune explain` said of it


class Home:
    """A user of his own, in a folder that is made."""

    def __init__(self, folder: Path):
        folder.mkdir(parents=True)
        self.folder = folder
        self.environment = {key: value for key, value in os.environ.items() if "IOTUNE" not in key}
        places = {"HOME": "", "XDG_DATA_HOME": "data", "XDG_STATE_HOME": "state",
                  "XDG_CONFIG_HOME": "config", "IOTUNE_BUFFER_DIR": "buffers"}  # fmt: skip
        self.environment |= {name: str(folder / part) for name, part in places.items()}
        self.environment["IOTUNE_EXPLORE"] = "off"
        # The replayer is built once for all of them, as at a site.
        self.environment["XDG_CACHE_HOME"] = str(folder.parent / "cache")

    def timed(self, *words: str) -> tuple[float, str]:
        """Seconds of a command, and what it printed. Raises Error where it fails."""
        began = time.monotonic()
        done = subprocess.run(words, cwd=self.folder, env=self.environment, capture_output=True,
                              text=True, check=False)  # fmt: skip
        if done.returncode != 0:
            raise Error(f"{' '.join(words)}: {done.stderr.strip()}")
        return time.monotonic() - began, done.stdout

    def iotune(self, *words: str) -> str:
        """What a command of iotune printed."""
        return self.timed(*IOTUNE, *words)[1]


def _program(build: Path, name: str) -> list[str]:
    kernel, *words = _KERNELS[name]
    return ["mpirun.mpich", "-n", _RANKS, str(build / "bin" / kernel), *words]


def trainings(build: Path, folder: Path, rounds: int) -> list[Trained]:
    """Each kernel, `rounds` times. Raises Error where a program fails."""
    _trained("cyclic", _program(build, "cyclic"), Home(folder / "first"))  # builds the replayer
    return [
        _trained(name, _program(build, name), Home(folder / f"{name}{number}"))
        for number in range(rounds)
        for name in _KERNELS
    ]


def surveyed(build: Path, folder: Path, minutes: int) -> list[Surveyed]:
    """A survey of so many minutes, then each kernel. Raises Error where a program fails."""
    home = Home(folder / "surveyed")
    for name in _KERNELS:
        home.iotune("run", "--", *_program(build, name))
    home.iotune("train", "--survey", "--budget", f"{minutes}m", "--ranks", _RANKS,
                "--dir", str(home.folder))  # fmt: skip
    return [_after_survey(name, _program(build, name), home) for name in _KERNELS]


def _after_survey(name: str, program: list[str], home: Home) -> Surveyed:
    home.iotune("run", "--", *program)
    [file] = json.loads(home.iotune("explain", "--json"))["files"]
    said = str(file.get("message", ""))
    if file["source"] != "predicted":
        return Surveyed(name, "", 1.0, said)
    settings = ";".join(f"{one['parameter']}={one['wanted']}" for one in file["settings"])
    measuring = Home(home.folder / name)
    measuring.iotune("run", "--", *program)
    [outcome] = json.loads(measuring.iotune("train", "--json", "--candidates", settings))
    [one] = outcome["candidates"]
    return Surveyed(name, settings, one["gain"]["ratio"] if one["gain"] else 1.0, said)


def _trained(name: str, program: list[str], home: Home) -> Trained:
    bare = [home.timed(*program)[0] for _ in range(2)]
    home.iotune("run", "--", *program)
    seconds, said = home.timed(*IOTUNE, "train", "--json")
    bare += [home.timed(*program)[0] for _ in range(2)]
    [outcome] = json.loads(said)
    confirmed = outcome["confirmed"]
    settings = ";".join(f"{key}={value}" for key, value in sorted(outcome["settings"].items()))
    return Trained(name, seconds / median(bare), int(outcome["replays"]),
                   confirmed["ratio"] if confirmed and settings else 1.0, settings)  # fmt: skip
