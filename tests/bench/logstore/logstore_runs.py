"""fs-test for real: the log store beside the ordinary shared file and beside a plain index.

The ranks of this machine, N-1 strided: written by one job, read back by another of as many ranks,
and by one of half as many. The arms are `ordinary`, `logged` (a container that stays one),
`flattened` (an ordinary file again at the close, as by default) and `plain` (plain_store.cpp: the
same store with PLFS's index, for fs-test's POSIX calls alone). IOTUNE_MPIRUN names another
launcher, and LOGSTORE_DIR the storage of the pieces "storage, …", which LOGSTORE_NAME is the name
of: tests/testbed has CephFS with several clients.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import paired, pieces
from iotune.replay.map_plan import write_map_plan
from support import preloaded

# Rows; the other parts are in the rounds.
SHOWN = ("write open_s", "write close_s", "write seconds", "read open_s", "read seconds",
         "non-uniform read open_s", "non-uniform read seconds")  # fmt: skip
# Arms of the log store: IOTUNE_LOGSTORE_CLOSE.
AT_CLOSE = {"logged": "compact", "flattened": "flatten"}
PARTS = ("open_s", "transfer_s", "sync_s", "close_s", "seconds")


@dataclass(frozen=True)
class Load:
    """What fs-test writes."""

    ranks: int
    record: int  # bytes
    records: int  # of a rank
    storage: str = ""  # where it is not the local disk

    def words(self) -> list[str]:
        """Its options."""
        return ["--record", str(self.record), "--records", str(self.records), "--json"]

    def name(self) -> str:
        """For a row."""
        of = f"{self.ranks} ranks, {self.records} records of {self.record} bytes each"
        return f"{self.storage}, {of}" if self.storage else of


class Arms:
    """How fs-test is started."""

    def __init__(
        self, build: Path, scratch: Path, storage: Path, launcher: str = "mpirun.mpich"
    ) -> None:
        self.build, self.storage, self.scratch = build, storage, scratch
        self.launcher = shlex.split(launcher)
        self.shim = build / "lib" / "libiotune-yield.so"
        self.plain_store = next(build.glob("**/libplain_store.so"), None)

    def names(self) -> list[str]:
        """Those that this build has; says which it has not."""
        names = ["ordinary"]
        if (self.build / "lib" / "libiotune-logstore.so").exists():
            names += ["logged", "flattened"]
        else:
            print("logged: not measured, this build has no libiotune-logstore.so", file=sys.stderr)
        if self.plain_store is not None:
            names.append("plain")
        return names

    def file(self, arm: str) -> Path:
        """Where the arm's file is, alone in its folder."""
        folder = self.storage / arm
        folder.mkdir(parents=True, exist_ok=True)
        return folder / "fs-test.out"

    def remove(self, arm: str) -> None:
        """What the arm wrote."""
        shutil.rmtree(self.storage / arm, ignore_errors=True)

    def run(self, arm: str, ranks: int, *words: str, before: Sequence[str] = ()) -> dict[str, Any]:
        """Run fs-test on the arm's file; what it printed. `before`: stands before the program."""
        # The log store keeps what MPI_File_open opens; the plain one knows POSIX alone.
        interface = [] if arm == "plain" else ["--mpiio"]
        program = [*before, str(self.build / "bin" / "fs-test"), *interface, *words]
        printed = self.start(
            arm, [*self.launcher, "-n", str(ranks), *program, "--output", str(self.file(arm))]
        )
        (line,) = (line for line in printed.splitlines() if line.startswith("{"))
        found: dict[str, Any] = json.loads(line)
        return found

    def start(self, arm: str, command: list[str], at_close: str = "") -> str:
        """Run a command as the arm has it; its stdout. at_close: IOTUNE_LOGSTORE_CLOSE."""
        file = self.file(arm)
        environment = preloaded.plain_environment() | preloaded.variables(self.shim)
        if arm in AT_CLOSE:
            environment |= preloaded.variables(self.build / "lib" / "libiotune.so", self.shim)
            environment |= {"IOTUNE_LOGSTORE": str(file.parent), "IOTUNE_DB": "none",
                            "IOTUNE_LOGSTORE_CLOSE": at_close or AT_CLOSE[arm],
                            "IOTUNE_TRACE": str(self.scratch / "logged.iotrace")}  # fmt: skip
        elif arm == "plain":
            environment |= preloaded.variables(self.plain_store, self.shim)
            environment["PLAIN_STORE"] = str(file.parent)
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise paired.ArmFailed(f"{shlex.join(command)}: {done.returncode}\n{done.stderr}")
        return done.stdout


def _written_and_read(arms: Arms, load: Load, rounds: int, table: paired.Table) -> None:
    """Every round writes and reads with every arm; rows of the whole and of each part."""
    names = arms.names()
    parts: dict[str, dict[str, list[float]]] = {}

    def measured(arm: str) -> float:
        arms.remove(arm)
        read = ("--read", *load.words(), "--verify", "--written-by", str(load.ranks))
        written = arms.run(arm, load.ranks, "--write", *load.words())["write"]
        if arms.file(arm).is_dir() != (arm in ("logged", "plain")):
            raise paired.ArmFailed(f"{arm}: {arms.file(arm)} is not what this arm writes")
        found = {
            "write": written,
            "read": arms.run(arm, load.ranks, *read)["read"],
            "non-uniform read": arms.run(arm, load.ranks // 2, *read)["read"],
        }
        for phase, seconds in found.items():
            for part in PARTS:
                kept = parts.setdefault(f"{phase} {part}", {name: [] for name in names})
                kept[arm].append(seconds[part])
        return float(found["write"]["seconds"] + found["read"]["seconds"])

    whole = paired.compare(f"runs: {load.name()}",
                           {arm: functools.partial(measured, arm) for arm in names},
                           rounds, warmup=0)  # fmt: skip
    table.keep(whole)
    table.rounds[f"load: {load.name()}"] = dataclasses.asdict(load)
    for arm in names:
        arms.remove(arm)
    for name, numbers in parts.items():
        rows = paired.Comparison(f"{whole.name}: {name}", numbers, whole.order, whole.seed)
        table.keep(rows)
        if name not in SHOWN:
            continue
        for arm in names:
            table.add(f"{load.name()}: {name.replace('_s', '')}, {arm}, s", rows.median(arm))
    _judge(table, whole, parts, load)


# Clients that share a file write and read it a request at a time: fewer records.
_STORAGE_LOADS = (Load(4, 64, 512), Load(4, 4096, 512), Load(4, 65536, 256))


def _on_storage(build: Path, scratch: Path, load: Load, rounds: int, table: paired.Table) -> None:
    """`load` on the storage of LOGSTORE_DIR."""
    if not (folder := os.environ.get("LOGSTORE_DIR")):
        print("storage: not measured, LOGSTORE_DIR names none", file=sys.stderr)
        return
    storage = Path(folder).resolve()
    launcher = os.environ.get("IOTUNE_MPIRUN") or "mpirun.mpich"
    named = dataclasses.replace(load, storage=os.environ.get("LOGSTORE_NAME") or storage.name)
    _written_and_read(Arms(build, scratch, storage, launcher), named, rounds, table)


def _judge(
    table: paired.Table, whole: paired.Comparison, parts: Mapping[str, dict[str, list[float]]],
    load: Load,
) -> None:  # fmt: skip
    """The goals of the log store, where it and what it is compared with were measured."""
    of_plain = load.record == 64 and not load.storage
    goals = {
        "write seconds": ("plain", 1.4 if of_plain else None),
        "read seconds": ("plain", 3.0 if of_plain else None),
        "non-uniform read seconds": ("plain", None),
    }
    if "logged" not in whole.numbers:
        return
    for name, (base, least) in goals.items():
        if base not in whole.numbers:
            continue
        rows = paired.Comparison(name, parts[name], whole.order, whole.seed)
        what = f"{load.name()}: {name.removesuffix(' seconds')}, {base} over logged"
        if least is None:
            table.add(what, rows.ratio(base, "logged"))
        else:
            table.judge(what, rows.ratio(base, "logged"), paired.at_least(least))
    writes = paired.Comparison("", parts["write seconds"], whole.order, whole.seed)
    what, gained = f"{load.name()}: write, ordinary over logged", writes.ratio("ordinary", "logged")
    if load.storage and load.record < 65536:
        table.judge(what, gained, paired.at_least(3))
    else:
        table.add(what, gained)
    table.judge(f"{load.name()}: write and read back, ordinary over logged",
                whole.ratio("ordinary", "logged"), paired.at_least(1))  # fmt: skip
    # With what it costs to be an ordinary file again at the close.
    table.add(f"{load.name()}: write, ordinary over flattened",
              writes.ratio("ordinary", "flattened"))  # fmt: skip


# What a file system's metadata server would have to answer.
_METADATA = re.compile(
    r"\b(open|openat|creat|mkdir|mkdirat|rename|renameat|renameat2|unlink|unlinkat|rmdir|link|linkat"
    r"|symlink|stat|lstat|newfstatat|statx|access|faccessat|faccessat2|truncate|ftruncate|chmod"
    r"|fchmod|fchmodat|utimensat|getdents64|fsync|fdatasync|flock)\("
)


def _metadata(arms: Arms, table: paired.Table) -> None:
    """Calls on metadata that each of two ranks makes below the arm's folder, by strace."""
    if shutil.which("strace") is None:
        print("metadata: not counted, there is no strace", file=sys.stderr)
        return
    counts: dict[str, dict[str, int]] = {}
    for arm in sorted(arms.names(), reverse=True):  # plain before logged, which it is the goal of
        arms.remove(arm)
        load = Load(2, 4096, 16)
        for phase in ("write", "read"):
            logs = arms.scratch / "strace"
            logs.mkdir()
            arms.run(arm, load.ranks, f"--{phase}", *load.words(),
                     before=("strace", "-ff", "-y", "-o", str(logs / "of")))  # fmt: skip
            folder = str(arms.file(arm).parent)
            lines = [line for log in logs.iterdir()
                     for line in log.read_text(errors="replace").splitlines()]  # fmt: skip
            shutil.rmtree(logs)
            # The preload's look at a path that it does not keep is the program's own call.
            found = [m[1] for line in lines if folder in line and (m := _METADATA.search(line))]
            counts[f"{arm} {phase}"] = {name: found.count(name) for name in sorted(set(found))}
            # The goal is the write's: no more than with a plain index.
            of_plain = counts.get("plain write")
            goal = None
            if (arm, phase) == ("logged", "write") and of_plain is not None:
                goal = paired.at_most(sum(of_plain.values()) / load.ranks)
            table.add(f"metadata calls of a rank, {phase}, {arm}", len(found) / load.ranks, goal)
        arms.remove(arm)
    table.rounds["metadata"] = counts


def _maps(build: Path, arms: Arms, table: paired.Table) -> None:
    """Indexes of maps that ranks really wrote, times included: iotune replay of each map."""
    if "logged" not in arms.names():
        return
    for line in _printed(build, "logstore_rates", "list").splitlines():
        name, paper = line.split("\t")
        source = arms.scratch / f"{name}.csv"
        source.write_text(_printed(build, "logstore_rates", "map", name))
        plan = arms.scratch / f"{name}.plan"
        with plan.open("w") as to:
            ranks = write_map_plan(source, to, mpiio=True).ranks
        file = _replayed(build, arms, plan, ranks)
        found = _numbers(build, "logstore_rates", "container", file)
        accesses = source.read_text().count("\n") - 1
        plain = 56 * accesses
        # The papers' algorithm on the same accesses has the same bytes whenever they are made.
        he2013 = _numbers(build, "logstore_rates", "rates", name, 1)["he2013_bytes"]
        goal = paired.at_least(max(float(paper), plain / he2013))
        what = f"{name} (really written by {ranks} ranks), {accesses} writes: rate"
        table.add(f"{what}, merged as bytes, names", plain / found["file_bytes"], goal)
        table.add(f"{what}, merged in memory, all of the object", plain / found["memory_bytes"])
        table.add(f"{what}, on disk after the close, names and times",
                  plain / found["disk_bytes"])  # fmt: skip
        if (build / "bin" / "logstore_compact").exists():
            _numbers(build, "logstore_compact", file)
            compacted = _numbers(build, "logstore_rates", "container", file)
            found["compacted_bytes"] = compacted["disk_bytes"]
            table.add(f"{what}, on disk after compaction, names and the times that matter",
                      plain / compacted["disk_bytes"], goal)  # fmt: skip
        # Once more without the compaction at close, which drops the times where nothing overlaps.
        file = _replayed(build, arms, plan, ranks, at_close="keep")
        _keep_map(file, arms.scratch.parent / "logstore-maps" / f"{name}.written.csv")
        arms.remove("logged")
        table.rounds[f"map {name}"] = found | {"accesses": accesses, "paper": float(paper)}


def _replayed(build: Path, arms: Arms, plan: Path, ranks: int, at_close: str = "") -> Path:
    """The container that so many ranks wrote by a plan, alone in the arm's folder."""
    arms.remove("logged")
    folder = arms.file("logged").parent
    program = [str(build / "bin" / "iotune-replay-calls"), "--file-dir", str(folder), str(plan)]
    arms.start("logged", [*arms.launcher, "-n", str(ranks), *program], at_close)
    (file,) = folder.iterdir()
    return file


def _keep_map(container: Path, to: Path) -> None:
    """All writes with their times, for plot_logstore.py."""
    to.parent.mkdir(exist_ok=True)
    to.unlink(missing_ok=True)
    command = [sys.executable, "-m", "iotune", "log", "map", str(container), "-o", str(to)]
    subprocess.run(command, capture_output=True, check=True)


def _printed(build: Path, program: str, *words: object) -> str:
    command = [str(build / "bin" / program), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _numbers(build: Path, program: str, *words: object) -> dict[str, float]:
    """Lines "name value" of a program."""
    rows = (line.split() for line in _printed(build, program, *words).splitlines())
    return {name: float(value) for name, value in rows}


def pieces_of(build: Path, scratch: Path, options: argparse.Namespace) -> dict[str, pieces.Piece]:
    """A piece a record size."""
    arms = Arms(build, scratch, scratch)
    loads = [Load(8, 64, count) for count in (16384, 65536, 262144)]
    loads += [Load(8, 4096, count) for count in (4096, 16384)]
    if options.quick:
        loads = [Load(2, 64, 256)]

    def piece(load: Load) -> pieces.Piece:
        return lambda table: _written_and_read(arms, load, options.rounds, table)

    found = {f"runs, {load.records} of {load.record} bytes": piece(load) for load in loads}
    for load in _STORAGE_LOADS:
        found[f"storage, {load.records} of {load.record} bytes"] = functools.partial(
            _on_storage, build, scratch, load, options.rounds
        )
    found["metadata"] = lambda table: _metadata(arms, table)
    found["maps"] = lambda table: _maps(build, arms, table)
    return found
