"""The cases of `make bench NAME=tuning` and `NAME=safety`, and how an arm of one is run.

Goes on from its JSON: what was measured once is not measured again, so that the search can be
stopped at any time. `--only` or the variable CASE, a regular expression, chooses cases by name:

    make bench NAME=tuning CASE='column-io.* write disk'
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import kept_rounds
import native
import paired
from iotune.limited_run import run_limited

ROOT = Path(__file__).resolve().parents[2]
TESTBED = Path(os.environ.get("IOTUNE_TESTBED", "/var/tmp/iotune-cephfs"))
SECONDS = 600
_PACE_SECONDS = 2.3
_FOLDER = "tuning-bench-"
_SHARED = "memory"  # folder of the scratch


@dataclass(frozen=True)
class Storage:
    """Where a case's files lie, and what starts its ranks."""

    name: str
    folder: Path
    launcher: str
    ranks: int
    # Whether runs that write keep a pace (Arms._keep_pace): a write's pages are new ones there, and
    # how slow those are depends on how long they were free.
    paced: bool = False
    # Its files are memory: to read one again is the same as to read another.
    rereads: bool = False


@dataclass(frozen=True)
class Case:
    """A kernel, a direction and a storage."""

    kernel: str
    words: tuple[str, ...]
    write: bool
    storage: Storage

    @property
    def collective(self) -> bool:
        """Whether the program's transfers are."""
        return "--collective" in self.words

    @property
    def name(self) -> str:
        """Unique; the key in the JSON."""
        mode = "-collective" if self.collective else ""
        return f"{self.kernel}{mode} {'write' if self.write else 'read'} {self.storage.name}"


# Some 200 MB a file: what a call costs by itself is little beside its bytes.
KERNELS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("vpic-io", ("--particles", "4194304")),
    ("vorpal-io", ("--size", "60x75x150")),
    ("vorpal-io", ("--size", "60x75x150", "--collective")),
    ("gcrm-io", ("--size", "1x1x2621440")),
    ("flash-io", ("--size", "160x8x8x8")),
    ("column-io", ("--size", "262144x64", "--collective")),
    ("cyclic-io", ("--size", "4000000", "--collective")),
)

# Less where the storage is held to some MiB/s, for what limits a run is to be that and no core.
# Of VPIC, VORPAL and GCRM a rank's part of a call stays that of the papers' sizes by 2 to 8,
# because a call is spread over the targets.
SMALL = {
    "vpic-io": ("--particles", "1048576", "--datasets", "2"),
    "vorpal-io": ("--size", "30x50x150", "--datasets", "3"),
    "gcrm-io": ("--size", "1x1x655360", "--datasets", "3"),
    "flash-io": ("--size", "20x8x8x8"),
    "column-io": ("--size", "8192x64"),
    "cyclic-io": ("--size", "600000"),
}

# Where a file has a layout that lasts: who reads it gets what its writer chose.
STRIPED = ("cephfs",)

# Why a storage may not be there.
ABSENT = {
    "cephfs": "it is not up (tests/testbed/cephfs up)",
    "memory": "there is no /dev/shm",
    "nodes-disk": "fake nodes need root",
    "nodes-memory": "fake nodes need root",
}


def storages(scratch: Path) -> dict[str, Storage]:
    """Those that are there now."""
    found = {"disk": Storage("disk", scratch, "mpirun.mpich", min(2, os.cpu_count() or 1), True)}
    if Path("/dev/shm").is_dir():
        found["memory"] = Storage(
            "memory", Path("/dev/shm"), "mpirun.mpich", found["disk"].ranks, rereads=True
        )
    testbed = ROOT / "tests" / "testbed"
    if (TESTBED / "mnt" / "narrow").is_dir():
        launcher = str(testbed / "cephfs_mpirun")
        found["cephfs"] = Storage("cephfs", TESTBED / "mnt" / "narrow", launcher, 4)
    if os.geteuid() == 0:
        launcher = str(testbed / "local_nodes")
        found["nodes-disk"] = Storage("nodes-disk", scratch, launcher, 4, True)
        found["nodes-memory"] = Storage(
            "nodes-memory", scratch / _SHARED, launcher, 4, rereads=True
        )
    return found


def _share_memory(folder: Path) -> None:
    """A memory file system that all fake nodes see: each has a /dev/shm of its own."""
    folder.mkdir(exist_ok=True)
    if not os.path.ismount(folder):
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], check=True)


def steps_of(seconds: float, of_one: float) -> int:
    """Files in a row that take so long, with a tenth to spare: the next run may be faster."""
    return math.ceil(1.1 * seconds / of_one)


def _words(kernel: str, words: tuple[str, ...], storage: Storage) -> tuple[str, ...]:
    mode = tuple(word for word in words if word == "--collective")
    return SMALL[kernel] + mode if storage.name == "cephfs" and kernel in SMALL else words


class State:
    """What was measured, by case and name; written after each number."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cases: dict[str, dict[str, Any]] = (
            json.loads(path.read_text()) if path.exists() else {}
        )

    def of(self, case: Case) -> dict[str, Any]:
        """A case's own part; empty where what was measured had other flags or ranks."""
        flags = f"{case.storage.ranks} ranks {' '.join(case.words)}"
        if self.cases.get(case.name, {}).get("flags") != flags:
            self.cases[case.name] = {"flags": flags}
        return self.cases[case.name]

    def save(self) -> None:
        """Whole or not at all."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        draft = self.path.with_suffix(".new")
        draft.write_text(json.dumps(self.cases, indent=1) + "\n")
        draft.replace(self.path)


@dataclass
class Session:
    """What both benchmarks begin with: their options, the cases asked for, what was measured."""

    options: argparse.Namespace
    cases: list[Case]
    state: State
    build: kept_rounds.Key

    def key(self, case: Case) -> kept_rounds.Key:
        """What rounds of the case have to be of to be gone on with."""
        return kept_rounds.key_of(self.build, self.state.of(case))

    @contextmanager
    def arms(self, case: Case) -> Iterator[Arms]:
        """The case's arms, with the files that it reads; nothing is left on the storage."""
        if case.storage.folder.name == _SHARED:
            _share_memory(case.storage.folder)
        arms = Arms(case, self.options.build, self.home(case), self._placing(case))
        try:
            arms.prepare()
            yield arms
        finally:
            arms.close()

    def home(self, case: Case) -> Path:
        """Where a case's own database, trace and settings are kept."""
        return Path(self.options.out) / "tuning" / re.sub(r"\W+", "-", case.name)

    def _placing(self, case: Case) -> Path | None:
        """The data by which iotune wrote what `case` reads, where files have layouts."""
        if case.write or case.storage.name not in STRIPED:
            return None
        writes = replace(case, write=True)
        data = self.home(writes) / "data"
        if "trained" not in self.state.of(writes) or not data.is_dir():
            print(f"NOT VERIFIED {case.name} of a file that iotune wrote: train its write first")
            return None
        return data

    def close(self) -> None:
        """Remove the scratch on the local disk."""
        scratch = self.options.out / "files"
        subprocess.run(["umount", "-q", scratch / _SHARED], stderr=subprocess.DEVNULL, check=False)
        shutil.rmtree(scratch, ignore_errors=True)


def begin(description: str | None, **defaults: tuple[int, str]) -> Session:
    """Parse the arguments of both benchmarks, and --NAME for each default (value, help)."""
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    parser.add_argument("--build", type=Path, default=Path("build/release"))
    parser.add_argument("--out", type=Path, default=Path("build/bench"))
    parser.add_argument(
        "--only", default=os.environ.get("CASE", ""), help="cases whose name this finds"
    )
    parser.add_argument("--list", action="store_true", help="names of the cases, and no more")
    for name, (value, text) in defaults.items():
        parser.add_argument(f"--{name}", type=int, default=value, help=text)
    options = parser.parse_args()
    paired.clean_up_when_stopped()
    scratch = options.out / "files"
    scratch.mkdir(parents=True, exist_ok=True)
    there = storages(scratch)
    for name, why in ABSENT.items():
        if name not in there:
            print(f"NOT VERIFIED {name}: {why}")
    found = [
        Case(kernel, _words(kernel, words, storage), write, storage)
        for storage in there.values()
        for kernel, words in KERNELS
        for write in (True, False)
    ]
    chosen = [case for case in found if re.search(options.only, case.name)]
    if not chosen:
        parser.error(f"no case is called {options.only}; --list tells their names")
    if options.list:
        print(*(case.name for case in chosen), sep="\n")
        raise SystemExit(0)
    state = State(options.out / "tuning.state.json")
    return Session(options, chosen, state, kept_rounds.build_key(options.build))


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
        self._next_run = 0.0  # monotonic seconds
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
        env = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("IOTUNE_") and name not in ("LD_PRELOAD", "ROMIO_HINTS")
        }
        env["IOTUNE_TESTBED"] = str(TESTBED)
        env["IOTUNE_EXPLORE"] = "off"
        for kind in ("DATA", "STATE", "CONFIG"):
            env[f"XDG_{kind}_HOME"] = str(self.home / kind.lower())
        libraries = list(self.shim)
        if tuned:
            libraries.insert(0, self.build / "lib" / "libiotune.so")
            env["IOTUNE_TRACE"] = str(self.home / "last.iotrace")
            env["IOTUNE_RECORD"] = "sample"  # as where no trace is asked for
        if libraries:
            env["LD_PRELOAD"] = native.preload(*libraries)
        return env | more

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
        if fresh and storage.paced:
            self._keep_pace()
        for path in folder.glob("data*.h5"):
            if not write:
                _forget(path, storage.name)
            elif not fresh:
                path.unlink()
        command = [
            *(storage.launcher, "-n", str(storage.ranks)),
            *(str(self.build / "bin" / self.case.kernel), *self.case.words),
            *("--json", "--write" if write else "--read", "--output", str(folder / "data.h5")),
            *(("--steps", str(self.steps)) if self.steps > 1 else ()),
            *(("--passes", str(self.passes)) if self.passes > 1 and not write else ()),
            *(("--fresh",) if fresh else ()),
        ]
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

    def _keep_pace(self) -> None:
        """Begin no run before the pages that the last one freed were looked at by the kernel.

        It does so every two seconds (page reporting), and those that a run has freed and not yet
        taken again are its slow ones: one run in four of half a second, none where it waits.
        """
        time.sleep(max(0.0, self._next_run - time.monotonic()))
        self._next_run = time.monotonic() + _PACE_SECONDS

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

    def room(self) -> int:
        """How many files like the last run's fit into half of the room that the storage tells."""
        used = sum(path.stat().st_size for path in self.plain.glob("data*.h5"))
        total, _, free = shutil.disk_usage(self.folder)
        if total == 0:  # ceph-fuse does not tell
            return sys.maxsize
        return max(self.steps, (free + used) // 2 * self.steps // max(1, used))

    def wanted(self) -> dict[str, str]:
        """What iotune's last run wanted to set, of any of its files."""
        from iotune.trace import open_trace

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
        """Record one run, then the plain trainer."""
        shutil.rmtree(self.home / "data", ignore_errors=True)
        self.iotune()
        env = self.environment(False)
        env.pop("LD_PRELOAD", None)
        env |= {
            "IOTUNE_LIB": str(self.build / "lib" / "libiotune.so"),
            "IOTUNE_MPIRUN": self.case.storage.launcher,
            "IOTUNE_REPLAY": str(self.build / "bin" / "iotune-replay"),
        }
        done = subprocess.run(
            [
                *(str(ROOT / ".venv" / "bin" / "iotune"), "train", "--json"),
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
            return {"state": one["state"], "settings": one["settings"]}
        return {"state": "untrained", "settings": {}}


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
