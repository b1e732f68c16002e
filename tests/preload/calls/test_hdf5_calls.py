"""Every call of HDF5's layer, issued with random arguments, stands in the trace with just these."""

from __future__ import annotations

import json
import random
import re
from functools import partial
from typing import Any

from support.generators import Call, read_table
from support.place import Place, main, not_verified
from support.repository import CALLS_TABLE, program_source


def table() -> dict[str, Call]:
    calls = read_table(CALLS_TABLE)
    return {call.name: call for call in calls if call.layer == "hdf5"}


def should_exist(call: Call, version: tuple[int, int]) -> bool:
    def number(text: str) -> tuple[int, int]:
        major, minor = text.split(".")
        return int(major), int(minor)

    late = call.since != "" and version < number(call.since)
    gone = call.until != "" and version > number(call.until)
    return not (late or gone)


def check_versions(version: tuple[int, int], lacks: set[str]) -> None:
    """What the table says of versions is what this library has."""
    for name, call in table().items():
        if call.needs == "" or name not in lacks:
            assert (name not in lacks) == should_exist(call, version), (
                f"{name}: HDF5 {version[0]}.{version[1]} {'lacks' if name in lacks else 'has'} it"
            )


def recorded(place: Place) -> list[dict[str, Any]]:
    found = []
    for call in place.calls():
        if call["layer"] == "hdf5":
            arguments = {k: v for k, v in call["arguments"].items() if k != "extras"}
            found.append({"call": call["name"], **arguments})
    return found


def calls(place: Place, which: str = "") -> None:
    program = place.bin / f"hdf5_calls{which}"
    if not program.exists():
        not_verified(f"no HDF5{which.replace('_', ' ')} for this test (tools/setup.sh companions)")
        return
    seed = random.SystemRandom().randrange(2**31)
    print("seed", seed)
    done = place.right(place.run(program, seed, HDF5_USE_FILE_LOCKING="FALSE"), str(program.name))
    head, *expected = [json.loads(line) for line in done.out.decode().splitlines()]
    check_versions(tuple(head["version"]), set(head["lacks"].split()))
    got = recorded(place)
    for made, have in zip(expected, got):
        assert made == have, f"made     {made}\nrecorded {have}"
    assert len(got) == len(expected), (len(got), len(expected))
    template = program_source("hdf5_calls.c.in").read_text()
    meant = set(re.findall(r"@\??(H5\w+)\(", template)) - set(head["lacks"].split())
    issued = {call["call"] for call in expected}
    assert meant == issued, f"not issued: {sorted(meant ^ issued)}"
    print(f"{len(expected)} calls of {len(issued)} functions, HDF5 {head['version']}")


if __name__ == "__main__":
    versions = {v: partial(calls, which=f"_{v}") for v in ("1.14", "2.0", "2.2")}
    main({"installed": calls, **versions})
