"""One program of the table in a scratch folder, run bare and under iotune."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support import preloaded
from support.draw_programs import SETTINGS
from support.mpis import OPEN_MPI, find_mpi
from support.repository import COMPANIONS, ROOT
from support.settings import VERDICTS
from zoo.zoo_compare import Left
from zoo.zoo_table import Entry

HERE = Path(__file__).resolve().parent

# Where tools/setup.sh zoo installs the wheels of each entry.
ENVIRONMENTS = ROOT / "build" / "zoo"
ARMS = ("recorded", "default 1", "default 2", "settings 1", "settings 2", "prefetch hint",
        "prefetch cache", "logged", "gathered memory", "gathered log")  # fmt: skip
MPI_LIBRARIES = {"mpich-4": "libmpich.so.12", "mpich-5": "libmpi.so.12",
                 "openmpi-4": "libmpi.so.40", "openmpi-5": "libmpi.so.40"}  # fmt: skip


class Missing(Exception):
    """A program that cannot be had here."""


@dataclass
class Cage:
    """One program in a scratch folder of its own; each run in the same path, moved aside after."""

    entry: Entry
    mpi_name: str
    iotune: Path
    scratch: Path
    buffers: Path

    def __post_init__(self) -> None:
        self.here = self.scratch / "here"
        self.input = self.scratch / "input"
        for name in ("home", "kept", "state", "data", "cache", "config"):
            (self.scratch / name).mkdir()
        mpi = find_mpi(self.mpi_name) if self.mpi_name else None
        if self.mpi_name and mpi is None:
            raise Missing(f"{self.mpi_name} is not here")
        self.mpirun = f"{mpi.launcher} -n {self.entry.ranks}" if mpi else ""
        # Which library the wheel of mpi4py loads, which serves all of them.
        name = MPI_LIBRARIES.get(self.mpi_name, "")
        beside = Path(mpi.launcher).parents[1] / "lib" / name if mpi else Path()
        self.mpi_library = str(beside) if name and beside.is_file() else name
        asked = subprocess.run([self.iotune, "lib"], capture_output=True, text=True, check=True)
        self.library = asked.stdout.strip()

    def environment(self, **more: object) -> dict[str, str]:
        """A plain user's, the same in each arm but for iotune's own names."""
        wheels = ENVIRONMENTS / self.entry.name / "bin"
        env = {
            "PATH": f"{wheels}:/usr/local/bin:/usr/bin:/bin:/usr/local/go/bin:/usr/sbin:/sbin",
            "HOME": str(self.scratch / "home"), "USER": "zoo", "LOGNAME": "zoo",
            "LC_ALL": "C.UTF-8", "TZ": "UTC", "SOURCE_DATE_EPOCH": "1700000000",
            "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1", "ZOO": str(HERE / "programs"),
            "COMPANIONS": str(COMPANIONS),
            "MPI": self.mpi_name, "MPIRUN": self.mpirun,
            "MPI4PY_LIBMPI": self.mpi_library, "INPUT": str(self.input),
            # Ranks that wait give way, for others use the machine, too.
            "OMPI_MCA_mpi_yield_when_idle": "1", "PRTE_MCA_mpi_yield_when_idle": "1",
            **OPEN_MPI, **self.entry.environment,
        }  # fmt: skip
        # Where iotune keeps its own, out of the program's sight.
        for kind in ("state", "data", "cache", "config"):
            env[f"XDG_{kind.upper()}_HOME"] = str(self.scratch / kind)
        return env | {name: str(value) for name, value in more.items()}

    def shell(self, script: str, folder: Path, **how: Any) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(["sh", "-ec", script], cwd=folder, env=self.environment(),
                              stdin=subprocess.DEVNULL, capture_output=True, check=False,
                              timeout=600, **how)  # fmt: skip

    def prepare(self) -> None:
        """What the program reads, made once, bare."""
        if self.entry.needs and self.shell(self.entry.needs, self.scratch).returncode != 0:
            raise Missing(f"not installed ({' '.join(self.entry.packages or self.entry.wheels)})")
        self.input.mkdir()
        done = self.shell(self.entry.prepare or "true", self.input)
        if done.returncode != 0:
            raise Missing(f"its input cannot be made: {done.stderr.decode()[-400:]}")

    def run(self, arm: str, *before: object, **iotune: object) -> Left:
        """One run in a fresh copy of the input; `before`: words in front of the shell's."""
        shutil.rmtree(self.here, ignore_errors=True)
        shutil.copytree(self.input, self.here, symlinks=True)
        if iotune:
            iotune["IOTUNE_BUFFER_DIR"] = self.buffers
        words = [*map(str, before), "sh", "-c", self.entry.run]
        with subprocess.Popen(
            words, cwd=self.here, env=self.environment(**iotune),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True,
        ) as child:  # fmt: skip
            try:
                out, err = child.communicate(timeout=self.entry.seconds)
                status = child.returncode
            except subprocess.TimeoutExpired:
                # The whole session: an MPI launcher's ranks hang with it.
                os.killpg(child.pid, signal.SIGKILL)
                out, err = child.communicate()
                status, err = 137, err + f"\nno end after {self.entry.seconds} s".encode()
        kept = self.scratch / "kept" / arm.replace(" ", "-")
        self.here.rename(kept)
        return Left(arm, 128 - status if status < 0 else status, out, err, kept)

    def config(self, arm: str, seed: int) -> Path:
        """Legal settings drawn for this program."""
        draw = random.Random(f"zoo {self.entry.name} {arm} {seed}")
        leaves = "".join(f"  <{name}>{draw.choice(values)}</{name}>\n"
                         for name, values in SETTINGS.items() if draw.random() < 0.5)  # fmt: skip
        file = self.scratch / f"{arm}.xml"
        file.write_text(f"<Parameters><High_Level_IO_Library>\n{leaves}"
                        "</High_Level_IO_Library></Parameters>\n")  # fmt: skip
        return file

    def arm(self, name: str, seed: int) -> Left:
        trace = self.scratch / f"{name.replace(' ', '-')}.iotrace"
        words: tuple[object, ...] = (self.iotune, "run", "-o", trace, "--db", "none")
        if name == "recorded":
            return self.run(name, *words, "--mode", "record", "--", IOTUNE_DB="none")
        if name.startswith("settings"):
            return self.run(name, *words, "--config", self.config(name, seed), "--",
                            IOTUNE_DB="none")  # fmt: skip
        preload: dict[str, object] = {**preloaded.variables(self.library)}
        if name.startswith("default"):
            return self.run(name, **preload)
        if name == "logged":
            preload |= {
                "IOTUNE_DB": "none",
                "IOTUNE_LOGSTORE": self.here,
                "IOTUNE_LOGSTORE_CLOSE": "flatten",
            }
            return self.run(name, **preload)
        if name.startswith("gathered"):
            return self.run(name, **preload, IOTUNE_DB="none", IOTUNE_GATHER=name.split()[1])
        preload |= {"IOTUNE_DB": "none", "IOTUNE_TRACE": trace}
        return self.run(name, **preload, IOTUNE_PREFETCH="pattern",
                        IOTUNE_PREFETCH_DELIVERY=name.split()[1])  # fmt: skip

    def asked(self, *words: object) -> str:
        env = self.environment(IOTUNE_BUFFER_DIR=self.buffers)
        done = subprocess.run([self.iotune, *map(str, words)], env=env, capture_output=True,
                              text=True, check=False)  # fmt: skip
        return done.stdout if done.returncode == 0 else ""

    def files_in_trace(self) -> list[str]:
        reported = self.asked("show", "--json", self.scratch / "recorded.iotrace")
        files = json.loads(reported)["files"] if reported else []
        return [f["path"] for f in files if f["path"].startswith(f"{self.here}/")]

    def settings_reported(self) -> list[str]:
        """Each drawn setting that the programs' files met, with its verdict: cb_nodes applied."""
        found = set()
        for number in (1, 2):
            said = self.asked("show", "--calls", "--layer", "iotune", "--call", "iotune_setting",
                              "--json", self.scratch / f"settings-{number}.iotrace")  # fmt: skip
            for call in map(json.loads, said.splitlines()):
                found.add(f"{call['texts'][1]} {VERDICTS[call['numbers'][0]]}")
        return sorted(found)
