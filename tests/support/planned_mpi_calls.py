"""The calls that mpi_deaths.c made, by what it said, and those that a trace kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.place import Place

Calls = dict[tuple[int, str], list[tuple[int, int]]]


def planned(out: bytes) -> Calls:
    """By rank and function: size and place of what mpi_deaths.c made of its seeds."""
    calls: Calls = {}
    for line in out.decode().splitlines():
        if not line.startswith("plan "):
            continue
        _, rank, which, seed, count = line.split()
        state = int(seed)
        made = calls.setdefault((int(rank), which), [])
        for _ in range(int(count)):
            words = []
            for _ in range(2):
                state = (state * 1664525 + 1013904223) % 2**32
                words.append(state >> 8)
            made.append((1 + words[0] % 64, words[1] % 4000))
    return calls


def recorded(place: Place, files: list[Path]) -> Calls:
    calls: Calls = {}
    for file in files:
        all_calls = place.calls(file)
        # Libraries write at the program's exit, too.
        ours = {(c["process"], c["keys"][0]) for c in all_calls
                if c["name"] == "iotune_file" and "/posix" in c["texts"][0]}  # fmt: skip
        for call in all_calls:
            arguments: dict[str, Any] = call["arguments"]
            name = call["name"]
            if name == "pwrite" and (call["process"], call["keys"][1]) in ours:
                what = (arguments["count"], arguments["offset"])
            elif name == "MPI_File_write_at" and call["depth"] == 0:
                what = (arguments["count"], arguments["offset"])
            elif name == "H5Dwrite":
                kind, n, start, _, count, block = arguments["extras"][4:10]
                assert (kind, n) == (2, 1), call
                what = (count * block, start)
            else:
                continue
            calls.setdefault((call["rank"], name), []).append(what)
    return calls


def compare(got: Calls, want: Calls) -> int:
    for key, made in want.items():
        kept = got.get(key, [])
        assert kept == made, (key, len(made), len(kept))
    assert got.keys() == want.keys(), got.keys()
    return sum(map(len, want.values()))
