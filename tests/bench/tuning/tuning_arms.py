"""How an arm of a case is run: the program alone, under hints, settings or iotune's database."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from iotune.models.replays.warm_pages import WarmPages

from bench import native
from bench.tuning.tuning_cases import STRIPED, TESTBED, Case
from iotune.launch.limited_run import run_limited
from support import preloaded
from support.repository import IOTUNE

SECONDS = 600
# Of a run's files in warm pages: column-io's default took 0.78 to 0.99 s for 1.0 GiB, and for
# 2.0 GiB 1.2 to 3.7, for the host may begin to take pages back before such a run's end.
WARM_BYTES = 5 << 28
_FOLDER = "tuning-bench-"


def steps_of(seconds: float, of_one: float) -> int:
    """Files in a row that take so long, with a tenth to spare: the next run may be faster."""
    return math.ceil(1.1 * seconds / of_one)


def name_for_each_pass(folder: Path, steps: int, passes: int) -> None:
    """Link the files of `steps` steps under the names of `passes` times as many.

    A program of so many seconds opens each of its files once, and iotune draws its sample by
    names: with the same ones over and over, the first of them would be recorded whole each time.
    """
    for path in folder.glob("data*.h5"):
        found = re.fullmatch(r"(data.*?)(\d{5,})\.h5", path.name)
        if found is None or int(found[2]) >= steps:
            continue
        for further in range(1, passes):
            again = path.with_name(f"{found[1]}{int(found[2]) + further * steps:05}.h5")
            if not again.exists():
                again.hardlink_to(path)


class Arms:
    """Runs a case under settings, hints or a database."""

    def __init__(self, case: Case, build: Path, home: Path, placing: Path | None = None) -> None:
        self.case = case
        self.build = build.resolve()
        self.home = home.resolve()
        self.home.mkdir(parents=True, exist_ok=True)
        self.placing = None if placing is None else self.home / "placing"
        if placing is not None and self.placing is not None:
            # A copy: what is written for a reader teaches nobody.
            shutil.rmtree(self.placing, ignore_errors=True)
            shutil.copytree(placing, self.placing)
        # Not by the name of iotune's own buffers, which are never recorded.
        self.folder = case.storage.folder / f"{_FOLDER}{os.getpid()}"
        _remove_leftovers(case.storage.folder)
        # What the program wrote by itself, and what iotune's answer for the write made of it.
        self.plain, self.placed = self.folder / "plain", self.folder / "placed"
        self.plain.mkdir(parents=True, exist_ok=True)
        self.placed.mkdir(exist_ok=True)
        # Which of the two an arm's file is in: one is enough where nothing is placed.
        self.own = self.placed if self.placing else self.plain
        self._pages = WarmPages()
        self.steps = 1  # files of a run, each written or read as the words say
        self.passes = 1  # how often a run reads them, where its storage allows for more than one
        # Of the last run, from the launcher's start to its end: what a user waits.
        self.whole_seconds = 0.0
        self.database = self.home / "data" / "iotune" / "patterns.db"
        shim = native.yield_shim(self.build)
        # In every arm where ranks outnumber the cores.
        self.shim = [shim] if case.storage.ranks > (os.cpu_count() or 1) else []

    def close(self) -> None:
        """Leave nothing on the storage."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def environment(self, tuned: bool, **more: str) -> dict[str, str]:
        """The arm's; `tuned` preloads iotune."""
        env = preloaded.plain_environment()
        env["IOTUNE_TESTBED"] = str(TESTBED)
        env["IOTUNE_EXPLORE"] = "off"
        for kind in ("DATA", "STATE", "CONFIG"):
            env[f"XDG_{kind}_HOME"] = str(self.home / kind.lower())
        libraries = list(self.shim)
        if tuned:
            libraries.insert(0, self.build / "lib" / "libiotune.so")
            env["IOTUNE_TRACE"] = str(self.home / "last.iotrace")
            env["IOTUNE_RECORD"] = "sample"  # as where no trace is asked for
        return env | preloaded.variables(*libraries) | more

    def kernel(
        self,
        env: Mapping[str, str],
        write: bool,
        folder: Path | None = None,
        limit_seconds: float = SECONDS,
    ) -> float:
        """Seconds from open to close on the slowest rank, as the kernel says.

        Below SECONDS, `limit_seconds` ends a run and is its time then.
        """
        folder = folder or self.plain
        storage = self.case.storage
        # Local pages that were free for long are slow to get, where a host takes them back: the
        # longer an arm takes to start, the more of them it would find. So they are freed as late
        # as can be. A striped file system would still be removing objects.
        fresh = write and storage.name not in STRIPED
        passes = 1 if write else self.passes
        steps = self.steps
        if passes > 1 and steps > 1 and not self.case.step_inside:
            steps *= passes
            name_for_each_pass(folder, self.steps, passes)
            passes = 1
        command = [
            *(storage.launcher, "-n", str(storage.ranks)),
            *(str(self.build / "bin" / self.case.kernel), *self.case.words),
            *("--json", "--write" if write else "--read", "--output", str(folder / "data.h5")),
            *(("--steps", str(steps)) if steps > 1 else ()),
            *(("--passes", str(passes)) if passes > 1 else ()),
            *(("--fresh",) if fresh else ()),
        ]
        with self._pages.before_run() if storage.paced else nullcontext():
            for path in folder.glob("data*.h5"):
                if not write:
                    _forget(path, storage.name)
                elif not fresh:
                    path.unlink()
            began = time.monotonic()
            try:
                done = run_limited(command, env, limit_seconds)
            except subprocess.TimeoutExpired:
                if limit_seconds >= SECONDS:
                    raise
                return limit_seconds
            finally:
                self.whole_seconds = time.monotonic() - began
        if done.returncode != 0:
            raise RuntimeError(f"{self.case.name}: {done.stderr[-1000:]}")
        return float(json.loads(done.stdout.splitlines()[-1])["seconds"])

    def prepare(self) -> None:
        """The files that are read."""
        if self.case.write:
            return
        self.kernel(self.environment(False), True)
        if self.placing:
            self._place()

    def _place(self) -> None:
        """The files as iotune's answer for the write lays them out."""
        placing = self.environment(True, XDG_DATA_HOME=str(self.placing))
        self.kernel(placing, True, self.placed)

    def renew(self) -> None:
        """New files to read, where that draws their pieces' places on the storage anew.

        Else the search would find what is best for the luck of one file, which is no setting's
        merit and which nobody can learn from another file.
        """
        if not self.case.write and self.case.storage.name in STRIPED:
            self.prepare()

    def lengthen(self, steps: int, settings: Mapping[str, str]) -> None:
        """Runs of so many files from now on: iotune has seen one, for their names are others.

        Says so where a run under iotune does not want `settings`, which training found.
        """
        self.steps = steps
        if steps > 1:
            for path in self.folder.glob("*/data*.h5"):  # of other names: nobody replaces them
                path.unlink()
            if self.placing:
                self._place()  # who writes has to have seen one as well
            self.prepare()
            self.iotune()
        self.iotune()
        missing = dict(settings.items() - self.wanted().items())
        if missing:
            print(f"NOT VERIFIED {self.case.name}: trained, and not wanted in a run: {missing}")

    def file_bytes(self) -> int:
        """Of one file, as the program writes it."""
        return max(path.stat().st_size for path in self.plain.glob("data*.h5"))

    def room(self, warm: bool = False) -> int:
        """How many steps like the last run's fit into half of the room that the storage tells.

        Of paced writes into half of what the kernel leaves unwritten: where it begins to write, the
        same run takes one to three times as long. `warm`: of paced reads into the pages that are
        warm. So these runs may be shorter than was asked.
        """
        used = sum(path.stat().st_size for path in self.plain.glob("data*.h5"))
        total, _, free = shutil.disk_usage(self.folder)
        if total == 0:  # ceph-fuse does not tell
            return sys.maxsize
        room = free + used
        if self.case.write and self.case.storage.paced:
            room = min(room, _left_unwritten_bytes())
        if warm and not self.case.write and self.case.storage.paced:
            room = min(room, 2 * WARM_BYTES)
        return max(1, room // 2 * self.steps // max(1, used))

    def last(self, seconds: float, settings: Mapping[str, str], warm: bool = False) -> None:
        """Runs of `seconds` and more from now on, as far as there is room() for them.

        Several passes over the same files, under other names where they can have some
        (name_for_each_pass), where that takes more of them than there is room for. Not of writes:
        who replaces files in the midst of a run meets pages that were long free.
        """
        # The faster of two: the first finds the storage's folders and pages cold.
        took = min(self.default(), self.default())
        most = self.room(warm)
        while True:  # many files in a row may take less each than one alone
            self.lengthen(min(most, steps_of(seconds, took / self.steps)), settings)
            took = min(self.default(), self.default())
            if took >= seconds or self.steps == most:
                break
        if took < seconds and not self.case.write and self.case.storage.rereads:
            self.passes = steps_of(seconds, took)

    def wanted(self) -> dict[str, str]:
        """What iotune's last run wanted to set, of any of its files."""
        from iotune.traces.trace import open_trace

        files = open_trace(self.home / "last.iotrace").summary.files
        return {one.parameter: one.wanted for file in files for one in file.settings}

    def default(self) -> float:
        """The program as it is, without iotune."""
        return self.kernel(self.environment(False), self.case.write)

    def hints(self) -> float:
        """What an expert writes into a hints file without measuring.

        Collective buffering on, an aggregator a node and two for more than two ranks, no data
        sieving on writes, 16 MiB buffers, stripes over all targets.
        """
        path = self.home / "hints"
        path.write_text(
            "romio_cb_write enable\nromio_cb_read enable\nromio_ds_write disable\n"
            "cb_buffer_size 16777216\nstriping_factor 16\nstriping_unit 1048576\n"
        )
        return self.kernel(self.environment(False, ROMIO_HINTS=str(path)), self.case.write)

    def _configured(self, settings: Mapping[str, str]) -> dict[str, str]:
        from iotune import core

        path = self.home / "config.xml"
        path.write_text(core.config_xml(dict(settings)))
        return self.environment(True, IOTUNE_CONFIG=str(path))

    def settings(self, settings: Mapping[str, str], limit_seconds: float = SECONDS) -> float:
        """One point of the space; ended after so many seconds, which are its time then."""
        return self.kernel(self._configured(settings), self.case.write, self.own, limit_seconds)

    def iotune(self) -> float:
        """With its database, whatever that says; recording included."""
        return self.kernel(self.environment(True), self.case.write, self.own)

    def train(self, rounds: int, budget: int) -> dict[str, Any]:
        """Record one run, then the plain trainer; with what it measured of each candidate."""
        shutil.rmtree(self.home / "data", ignore_errors=True)
        self.iotune()
        env = self.environment(False)
        env.pop(preloaded.VARIABLE, None)
        env |= {
            "IOTUNE_LIB": str(self.build / "lib" / "libiotune.so"),
            "IOTUNE_MPIRUN": self.case.storage.launcher,
            "IOTUNE_REPLAY": str(self.build / "bin" / "iotune-replay"),
        }
        done = subprocess.run(
            [
                *(str(IOTUNE), "train", "--json"),
                *("--rounds", str(rounds), "--budget", str(budget)),
            ],
            env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
            cwd=self.home,
        )  # fmt: skip
        if done.returncode != 0:
            raise RuntimeError(f"{self.case.name}: {done.stderr[-1000:]}")
        outcomes = [one for one in json.loads(done.stdout) if one["descriptor"]]
        # Of several patterns one that has settings: each has its own, and the database holds all.
        for one in sorted(outcomes, key=lambda one: not one["settings"]):
            return {"state": one["state"], "settings": one["settings"], "outcomes": outcomes}
        return {"state": "untrained", "settings": {}, "outcomes": []}


def _left_unwritten_bytes() -> int:
    """How much written data the kernel keeps before it begins to write it out."""
    words = dict(line.split() for line in Path("/proc/vmstat").read_text().splitlines())
    return int(words["nr_dirty_background_threshold"]) * os.sysconf("SC_PAGE_SIZE")


def _remove_leftovers(storage: Path) -> None:
    """Of benchmarks that were killed."""
    for folder in storage.glob(f"{_FOLDER}*"):
        if not Path("/proc", folder.name.removeprefix(_FOLDER)).exists():
            shutil.rmtree(folder, ignore_errors=True)


def _forget(path: Path, storage: str) -> None:
    """No client has the file's bytes any more; of this file alone: others use the machine."""
    descriptor = os.open(path, os.O_RDWR)
    try:
        if storage == "cephfs":
            # The ranks' clients are others than this one, and a write of another client takes
            # theirs away: they keep bytes of their own beside the kernel's pages.
            os.pwrite(descriptor, os.pread(descriptor, 1, 0), 0)
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)
