"""What `make bench NAME=tuning` and `NAME=safety` begin with.

Goes on from its JSON: what was measured once is not measured again, so that the search can be
stopped at any time. `--only` or the variable CASE, a regular expression, chooses cases by name:

    make bench NAME=tuning CASE='column-io.* write disk'
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

from bench import paired
from bench.tuning import kept_rounds
from bench.tuning.tuning_arms import Arms
from bench.tuning.tuning_cases import ABSENT, KERNELS, SHARED, STRIPED, Case, storages, words_on


def _share_memory(folder: Path) -> None:
    """A memory file system that all fake nodes see: each has a /dev/shm of its own."""
    folder.mkdir(exist_ok=True)
    if not os.path.ismount(folder):
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], check=True)


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
    lock: TextIO  # shared by all that run now, a --report beside a measurement
    measuring: TextIO | None  # held by the one that measures; None: this one reports

    def key(self, case: Case) -> kept_rounds.Key:
        """What rounds of the case have to be of to be gone on with."""
        return kept_rounds.key_of(self.build, self.state.of(case))

    @contextmanager
    def arms(self, case: Case) -> Iterator[Arms]:
        """The case's arms, with the files that it reads; nothing is left on the storage."""
        if case.storage.folder.name == SHARED:
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
        """Remove the scratch on the local disk, where nobody else is using it."""
        if self.measuring is not None:
            self.measuring.close()
        scratch = self.options.out / "files"
        with self.lock, suppress(BlockingIOError):
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            subprocess.run(
                ["umount", "-q", scratch / SHARED], stderr=subprocess.DEVNULL, check=False
            )
            shutil.rmtree(scratch, ignore_errors=True)


def hold_alone(path: Path) -> TextIO:
    """The file, locked until it is closed.

    Two that measure slow each other down, and each would write over what the other keeps.
    """
    held = path.open("w")
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        held.close()
        why = "another benchmark is measuring; --report 1 may run beside it"
        raise SystemExit(f"{path}: {why}") from None
    return held


def begin(description: str | None, **defaults: tuple[int, str]) -> Session:
    """Parse the arguments of both benchmarks, and --NAME for each default (value, help)."""
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    parser.add_argument("--build", type=Path, default=Path("build/dev"))
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
    lock = (options.out / "tuning.lock").open("w")
    fcntl.flock(lock, fcntl.LOCK_SH)
    there = storages(scratch)
    for name, why in ABSENT.items():
        if name not in there:
            print(f"NOT VERIFIED {name}: {why}")
    found = [
        Case(kernel, words_on(kernel, words, storage), write, storage)
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
    reports = getattr(options, "report", 0) != 0
    measuring = None if reports else hold_alone(options.out / "tuning.measuring")
    state = State(options.out / "tuning.state.json")
    return Session(options, chosen, state, kept_rounds.build_key(options.build), lock, measuring)
