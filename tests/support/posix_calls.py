"""The POSIX calls of the table, and those of a program in its trace."""

from __future__ import annotations

import re

from support.place import Place
from support.repository import CALLS_TABLE


def table() -> set[str]:
    """The POSIX calls of calls.table that are always recorded: those of children, which order
    processes, have tests/preload/process/test_children.py.
    """
    lines = re.findall(r"^posix\s+\w+\s+(\w+)(.*)", CALLS_TABLE.read_text(), re.MULTILINE)
    return {name for name, rest in lines if "order" not in rest.split()}


def compare(place: Place, out: bytes) -> None:
    """The trace's POSIX calls with what posix_random printed."""
    said = []
    for line in out.decode().splitlines():
        head, *paths = line.split(" | ")
        name, *numbers = head.split()
        said.append((name, [int(n) for n in numbers], paths))
    missing = table() - {name for name, _, _ in said}
    assert not missing, f"in the table, but not issued: {sorted(missing)}"
    recorded = [
        (c["name"], c["numbers"], c["texts"]) for c in place.calls() if c["layer"] == "posix"
    ]
    for index, (one, other) in enumerate(zip(recorded, said)):
        assert one == other, f"call {index}: recorded {one}, made {other}"
    assert len(recorded) == len(said), (len(recorded), len(said), recorded[len(said) :][:3])
