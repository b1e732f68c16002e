"""Runs programs of the table bare and under iotune, and tells where they differ."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from support.repository import IOTUNE
from zoo.zoo_cage import ARMS, Cage, Missing
from zoo.zoo_compare import differences
from zoo.zoo_reads import Reader
from zoo.zoo_table import Entry, read_table

# What `iotune run` tells after each run.
USUAL = ("iotune: trace: ", "iotune: next: ")
# Verdicts of a setting that was passed on.
SET = (" applied", " unverifiable")
MOST_DIFFERENCES = 5


@dataclass
class Outcome:
    """What one program did in all arms."""

    name: str
    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0


def shortened(lines: list[str]) -> list[str]:
    more = len(lines) - MOST_DIFFERENCES
    return [*lines[:MOST_DIFFERENCES], f"and {more} more"] if more > 0 else lines


def visit(cage: Cage, seed: int = 1, bare_only: bool = False) -> Outcome:
    """All arms of one program, compared with its first bare run."""
    entry = cage.entry
    outcome = Outcome(f"{entry.name}@{cage.mpi_name}" if cage.mpi_name else entry.name)
    began = time.monotonic()
    cage.prepare()
    bare, again = cage.run("bare 1"), cage.run("bare 2")
    if bare.status != 0:
        raise Missing(f"bare it ends with {bare.status}: {bare.err.decode()[-600:]}")
    outcome.faults += [f"bare differs from bare: {d}"
                       for d in shortened(differences(bare, again, entry))]  # fmt: skip
    if bare_only:
        outcome.seconds = time.monotonic() - began
        return outcome
    for name in ARMS:
        if name == "logged" and entry.not_logged:
            outcome.notes.append(f"not logged: {entry.not_logged}")
            continue
        left = cage.arm(name, seed)
        found = differences(bare, left, entry, contents=name.startswith(("settings", "gathered")))
        outcome.faults += [f"{name}: {d}" for d in shortened(found)]
        if name.startswith("default") and left.reported():
            outcome.faults.append(f"{name}: not silent: {left.reported()}")
        elif said := [t for t in left.reported() if not t.startswith(USUAL)]:
            outcome.notes.append(f"{name} said: {said[:3]}")
    seen = cage.files_in_trace()
    if not seen and not entry.unseen:
        outcome.faults.append("recorded: no file of the program stands in the trace")
    outcome.faults += Reader(cage).run()
    reported = cage.settings_reported()
    if entry.tuned and not any(line.endswith(SET) for line in reported):
        outcome.faults.append(f"settings: none was set: {reported}")
    outcome.notes.append(
        f"{len(seen)} files in the trace; settings: {', '.join(reported) or 'none'}"
    )
    outcome.seconds = time.monotonic() - began
    return outcome


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iotune", type=Path, default=IOTUNE)
    parser.add_argument("--keep", type=Path, help="leave what each arm left in FOLDER/NAME")
    parser.add_argument("--seed", type=int, default=1, help="of the drawn settings")
    parser.add_argument("--bare", action="store_true", help="the two bare runs: a new entry")
    parser.add_argument("names", nargs="*", help="an entry, or entry@mpi")
    options = parser.parse_args()
    faults = 0
    for entry in read_table():
        for mpi in entry.mpi or ("",):
            name = f"{entry.name}@{mpi}" if mpi else entry.name
            if options.names and not {name, entry.name} & {*options.names}:
                continue
            faults += visited(entry, mpi, name, options)
    return 1 if faults else 0


def visited(entry: Entry, mpi: str, name: str, options: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory(prefix="iotune-zoo-", dir="/dev/shm") as buffers:
        if options.keep:
            scratch = options.keep.resolve() / name
            shutil.rmtree(scratch, ignore_errors=True)
            scratch.mkdir(parents=True)
        else:
            scratch = Path(tempfile.mkdtemp(prefix="iotune-zoo-"))
        try:
            outcome = visit(Cage(entry, mpi, options.iotune.absolute(), scratch, Path(buffers)),
                            options.seed, options.bare)  # fmt: skip
        except Missing as missing:
            print(f"NOT VERIFIED: {name}: {missing}", flush=True)
            return 0
        finally:
            if not options.keep:
                shutil.rmtree(scratch, ignore_errors=True)
    word = "FAULT" if outcome.faults else "ok"
    print(f"{word:5} {outcome.seconds:5.1f} s  {name}")
    for line in outcome.faults + outcome.notes:
        print(f"        {line}", flush=True)
    return len(outcome.faults)


if __name__ == "__main__":
    sys.exit(main())
