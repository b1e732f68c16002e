"""What streams moved by calls without a record is recorded: all of it, and nothing of others."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from support.place import Place, main
from support.preloaded import Done

HEAD = 1 << 20  # bytes that a file has before


def run(place: Place, how: str, log: Path, out: Path | None = None) -> Done:
    """Run the program, with `out` as its stdout."""

    def redirect() -> None:
        if out is not None:
            os.dup2(os.open(out, os.O_WRONLY | os.O_CREAT, 0o600), 1)

    log.write_bytes(b"." * HEAD)
    return place.right(place.run(place.bin / "stream_totals", how, log, before=redirect))


def calls(place: Place) -> list[dict[str, Any]]:
    """Of all processes of the run."""
    found = []
    for trace in dict.fromkeys([place.trace, *place.traces(), *place.leftovers()]):
        found += place.calls(trace) if trace.exists() else []
    return found


def moved(place: Place) -> dict[str, tuple[int, int]]:
    """(written, read) of each file, by its name."""
    found: dict[str, list[int]] = {}
    files: dict[tuple[int, int], str] = {}
    for call in calls(place):
        if call["name"] == "iotune_file":
            files[call["pid"], call["keys"][0]] = Path(call["texts"][0]).name
    for call in calls(place):
        bytes_moved = call["bytes"]
        if bytes_moved is not None and bytes_moved > 0 and len(call["keys"]) == 2:
            sums = found.setdefault(files[call["pid"], call["keys"][1]], [0, 0])
            sums[0 if call["writes"] else 1] += bytes_moved
    return {name: (sums[0], sums[1]) for name, sums in found.items()}


def both_ways(place: Place) -> None:
    """A stream opened "a+" reads at its own place and writes at the file's end."""
    run(place, "both-ways", place.scratch / "log")
    assert moved(place) == {"log": (12, 90)}


def led(place: Place) -> None:
    """dup2 leads stdout to another file and back, as shells do."""
    run(place, "led", place.scratch / "log")
    assert moved(place) == {"log": (3, 0), "log.new": (4, 0)}
    place.clear()
    run(place, "led", place.scratch / "log", place.scratch / "out")
    assert moved(place) == {"log": (3, 0), "log.new": (4, 0)}


def beside_a_child(place: Place) -> None:
    """Two processes write to the end of one file, and by one position."""
    log, out = place.scratch / "log", place.scratch / "out"
    run(place, "beside-a-child", log, out)
    grown = {"log": (log.stat().st_size - HEAD, 0), "out": (out.stat().st_size, 0)}
    assert moved(place) == grown, (moved(place), grown)


def characters(place: Place) -> None:
    """They stand in the trace from when on they may have been written."""
    run(place, "characters", place.scratch / "log")
    names = [call["name"] for call in sorted(calls(place), key=lambda one: one["start_ns"])]
    assert names.index("fputc") < names.index("open"), names


if __name__ == "__main__":
    main({"both-ways": both_ways, "led": led, "beside-a-child": beside_a_child,
          "characters": characters})  # fmt: skip
