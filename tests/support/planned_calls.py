"""The calls that deaths.c made, by what it said, and those that a trace kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.place import Place

Calls = dict[tuple[int, str], list[tuple[Any, ...]]]


def drawn(seed: int, calls: int) -> list[tuple[Any, ...]]:
    """What programs/process/deaths.c makes of a seed."""
    state, made = seed, []
    for _ in range(calls):
        words = []
        for _ in range(2):
            state = (state * 1664525 + 1013904223) % 2**32
            words.append(state >> 8)
        size = 1 + words[0] % 64
        made.append(("pwrite" if words[0] & 64 else "pread", size, words[1] % 1000000, size))
    return made


def planned(out: bytes) -> Calls:
    """By process and file, from what the program said."""
    calls: Calls = {}
    for line in out.decode().splitlines():
        word, pid, seed, count, path = line.split(" ", 4)
        assert word == "plan", line
        calls.setdefault((int(pid), path), []).extend(drawn(int(seed), int(count)))
    return calls


def recorded(place: Place, files: list[Path]) -> Calls:
    calls: Calls = {}
    for file in files:
        names: dict[tuple[int, int], str] = {}
        all_calls = place.calls(file)
        for call in all_calls:
            if call["name"] == "iotune_file":
                names[call["process"], call["keys"][0]] = call["texts"][0]
        # A file's number may be noted after its first calls, by another thread.
        for call in all_calls:
            if call["name"] in ("pwrite", "pread"):
                path = names.get((call["process"], call["keys"][1]), "unknown")
                calls.setdefault((call["pid"], path), []).append((call["name"], *call["numbers"]))
    return calls
