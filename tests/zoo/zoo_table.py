"""The zoo's table: one entry a program (zoo.toml; README.md explains its keys)."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

import tomllib  # Python 3.11

HERE = Path(__file__).resolve().parent
HOW = ("contents", "exists", "never")


@dataclass(frozen=True)
class Exception_:
    """What is not compared byte by byte, and why."""

    match: str  # a glob over names of files, or a regular expression over lines of output
    how: str  # contents: what h5dump prints; exists: the name alone; never: not at all
    because: str


@dataclass(frozen=True)
class Entry:
    """One program: how it is had, prepared, run and compared."""

    name: str
    run: str
    prepare: str = ""
    needs: str = ""  # a shell command that fails where the program is missing
    packages: tuple[str, ...] = ()
    wheels: tuple[str, ...] = ()  # installed together, in an environment of the entry's own
    mpi: tuple[str, ...] = ()  # names in tests/support/mpis.py; empty: no MPI
    ranks: int = 2
    check: bool = False  # also in `make check`
    tuned: bool = False  # of the drawn settings at least one must be set
    not_logged: str = ""  # why its files cannot be kept as logs
    unseen: str = ""  # why no file of the program stands in the trace
    seconds: int = 120  # the watchdog of one run
    files: tuple[Exception_, ...] = ()
    lines: tuple[Exception_, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)


def _exceptions(name: str, key: str, rows: list[dict[str, str]]) -> tuple[Exception_, ...]:
    found = []
    for row in rows:
        how = row.get("how", "never")
        if how not in HOW or not row.get("because") or not row.get("match"):
            raise ValueError(f"{name}: {key}: match, because, and how one of {', '.join(HOW)}")
        found.append(Exception_(row["match"], how, row["because"]))
    return tuple(found)


def read_table(file: Path = HERE / "zoo.toml") -> list[Entry]:
    """All entries, in the table's order; ValueError names an entry that is wrong."""
    known = set(Entry.__dataclass_fields__)
    entries = []
    for name, row in tomllib.loads(file.read_text()).items():
        if unknown := set(row) - known:
            raise ValueError(f"{name}: unknown keys {sorted(unknown)}")
        for key in ("packages", "wheels", "mpi"):
            row[key] = tuple(row.get(key, ()))
        for key in ("files", "lines"):
            row[key] = _exceptions(name, key, row.get(key, []))
        entries.append(Entry(name=name, **row))
    return entries


def main(words: list[str]) -> int:
    """`packages [check]` and `wheels`: what tools/setup.sh is to install."""
    entries = [e for e in read_table() if e.check or "check" not in words[1:]]
    if words[0] == "packages":
        print("\n".join(dict.fromkeys(p for e in entries for p in e.packages)))
    elif words[0] == "wheels":
        for entry in entries:
            if entry.wheels:
                print(entry.name, *entry.wheels)
    else:
        print("zoo_table.py: packages or wheels", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or [""]))
