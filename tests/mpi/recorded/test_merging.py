"""Ranks that merge what they did alike on their way to rank 0 lose none of it."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path
from typing import Any

from support.place import Place, main

SHARED = 4  # type of a block that ranks share


def block_types(trace: Path) -> list[int]:
    """The blocks' types (recorder/FORMAT.md), in order."""
    data = trace.read_bytes()
    types, at = [], 16
    while at < len(data):
        magic, kind, length = struct.unpack_from("<III", data, at)
        assert magic == 0x4B4C4249, at
        types.append(kind)
        at += (16 + length + 7) // 8 * 8
    return types


def without_times(place: Place) -> list[dict[str, Any]]:
    """The calls by rank, in order; addresses, which differ from run to run, by their order."""
    calls = []
    addresses: dict[tuple[int, int], int] = {}
    for call in place.calls():
        kept = {k: call[k] for k in ("rank", "thread", "layer", "depth", "name", "keys", "texts")}
        kept["numbers"] = [
            addresses.setdefault((call["rank"], n), -len(addresses) - 10**18) if n > 2**40 else n
            for n in call["numbers"]
        ]
        calls.append(kept)
    return sorted(calls, key=lambda call: call["rank"])


def run(place: Place, ranks: int, *command: object, **env: object) -> None:
    cwd = place.scratch / "here"
    shutil.rmtree(cwd, ignore_errors=True)
    cwd.mkdir()
    place.trace.unlink(missing_ok=True)
    place.right(place.mpi(ranks, *command, cwd=cwd, IOTUNE_MODE="record", **env))


def both_ways(place: Place, ranks: int, *command: object) -> list[int]:
    """Record it whole and merged; compare the calls of every rank. The types of the blocks."""
    run(place, ranks, *command)
    whole, heads = without_times(place), place.heads()
    assert SHARED not in block_types(place.trace)
    whole_bytes = place.trace.stat().st_size
    run(place, ranks, *command, IOTUNE_MERGE_ABOVE_MIB=0)
    types = block_types(place.trace)
    assert SHARED in types, types
    assert not place.leftovers()
    merged = without_times(place)
    assert len(whole) == len(merged), (len(whole), len(merged))
    for one, other in zip(whole, merged):
        assert one == other, f"{one}\n{other}"
    after = place.heads()
    assert [h["attributes"]["rank"] for h in after] == [h["attributes"]["rank"] for h in heads]
    assert all(h["end"]["end"] == "finalize" for h in after), after
    print(f"{ranks} ranks: {whole_bytes} bytes, merged {place.trace.stat().st_size}")
    return types


def alike(place: Place) -> None:
    for ranks in (2, 5, 8):
        # The random reads of odd ranks are not taken apart: blocks as they were, each behind
        # those that say whose they are.
        types = both_ways(place, ranks, place.bin / "alike_and_not")
        assert types.count(2) >= ranks // 2 and types.count(1) >= ranks // 2, types


def kernel(place: Place) -> None:
    both_ways(place, 4, place.bin / "vpic-io", "--output", "particles.h5", "--particles", 4096)


def times_on_request(place: Place) -> None:
    run(place, 3, place.bin / "alike_and_not", IOTUNE_TIMING="call", IOTUNE_MERGE_ABOVE_MIB=0)
    assert SHARED not in block_types(place.trace)
    assert all(call["exact"] for call in place.calls())


def spilled(place: Place) -> None:
    """Ranks whose blocks left memory for a file send them in pieces, whole and merged."""
    calls, ranks = 45000, 3
    want: dict[int, list[tuple[int, int]]] = {}
    for rank in range(ranks):
        state, want[rank] = rank, []
        for i in range(calls):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            want[rank].append((1 + (state >> 58), state >> 2) if rank % 2 else (64, 64 * i))
    for above in (16, 0):
        run(place, ranks, place.bin / "spilling_ranks", calls,
            IOTUNE_MEMORY_MIB=0, IOTUNE_MERGE_ABOVE_MIB=above)  # fmt: skip
        got: dict[int, list[tuple[int, int]]] = {rank: [] for rank in range(ranks)}
        for call in place.calls():
            if call["name"] == "pread":
                got[call["rank"]].append((call["numbers"][0], call["numbers"][1]))
        for rank in range(ranks):
            assert got[rank] == want[rank], (above, rank, len(got[rank]))
        assert (SHARED in block_types(place.trace)) == (above == 0)
        assert place.trace.stat().st_size > 320 << 10, "the blocks fitted into memory"
        assert not place.leftovers()
        assert not list(place.scratch.rglob("*.iospill")) + list(place.buffers.rglob("*.iospill"))
        assert all(head["damage"] == [] for head in place.heads())


if __name__ == "__main__":
    main(
        {"alike": alike, "kernel": kernel, "times-on-request": times_on_request, "spilled": spilled}
    )
