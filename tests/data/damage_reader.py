"""Reads a trace damaged in many ways and prints what should not be.

    damage_reader.py TRACE KIND FROM TO STEP

KIND is cut (the file ends at byte n), or flip (a bit of byte n is another). In a process of its
own, because what it looks for may end it.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import iotune
from iotune.traces.calls import COLUMNS, CallReader
from iotune.verify import verdicts_of


def reading(path: Path) -> tuple[object, list[str]]:
    """All that iotune reads in a file, and what it says is missing."""
    trace = iotune.open_trace(path)
    summary = dict(trace.raw_summary)
    reader = CallReader(path, None, (*COLUMNS, "text", "words"))
    rows = []
    for batch in reader:
        rows.append([batch.values(column) for column in reader.columns])
    losses = {*summary.pop("warnings"), *reader.losses}
    return (summary, rows, verdicts_of([path])), sorted(losses)


def main() -> None:
    """One line a fault; the last line says how many were looked at."""
    source, kind, *numbers = sys.argv[1:]
    first, last, step = (int(one) for one in numbers)
    whole = Path(source).read_bytes()
    looked = 0
    with tempfile.TemporaryDirectory() as place:
        damaged = Path(place) / Path(source).name
        damaged.write_bytes(whole)
        before, known = reading(damaged)
        for at in range(first, min(last, len(whole)), step):
            looked += 1
            changed = bytearray(whole[:at] if kind == "cut" else whole)
            if kind == "flip":
                changed[at] ^= 1 << (at % 8)
            damaged.write_bytes(changed)
            try:
                found, losses = reading(damaged)
            except iotune.Error as problem:
                if "\n" in str(problem) or not str(problem):
                    print(f"{kind} {at}: not one line: {problem!r}")
                continue
            except Exception as problem:  # what must never be
                print(f"{kind} {at}: {problem!r}")
                continue
            if found != before and not set(losses) - set(known):
                print(f"{kind} {at}: lost in silence")
    print(f"looked at {looked}")


if __name__ == "__main__":
    main()
