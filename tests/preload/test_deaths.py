"""However a process ends, each of its calls is kept, with its arguments: n of n."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from harness import Place, collect, main

# Death: what the shell says of it.
DEATHS = {
    "return": 6, "exit": 5, "_exit": 3, "exit_group": 7, "quick_exit": 4,
    "abort": 128 + signal.SIGABRT, "term": 128 + signal.SIGTERM, "segv": 128 + signal.SIGSEGV,
    "kill": 128 + signal.SIGKILL, "exec": 6, "fork": 0, "_Fork": 0, "clone": 0, "vfork": 0,
    "spawn": 0, "threads-return": 8, "threads-_exit": 9, "threads-kill": 128 + signal.SIGKILL,
    "threads-outlive": 0, "short-threads": 0, "short-threads-kill": 128 + signal.SIGKILL,
    "threads-at-once": 0,
}  # fmt: skip

Calls = dict[tuple[int, str], list[tuple[Any, ...]]]


def drawn(seed: int, calls: int) -> list[tuple[Any, ...]]:
    """What programs/deaths.c makes of a seed."""
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


def compare(got: Calls, want: Calls) -> int:
    """How many calls there are; they are all equal."""
    for key, made in want.items():
        kept = got.get(key, [])
        first = next((i for i, (a, b) in enumerate(zip(kept, made)) if a != b), None)
        assert kept == made, (
            f"{key}: {len(made)} calls made, {len(kept)} kept; first difference: "
            + (f"call {first}: {kept[first]} for {made[first]}" if first is not None else "the end")
        )
    assert got.keys() == want.keys(), sorted(got.keys() - want.keys())
    return sum(map(len, want.values()))


def death(how: str, place: Place) -> None:
    seed = random.SystemRandom().randrange(2**31)
    print("seed", seed)
    files = place.scratch / "files of it"
    files.mkdir()
    done = place.run(place.bin / "deaths", files, how, seed, IOTUNE_TRACE=None)
    assert done.status == DEATHS[how], done
    assert done.said() == [], done.said()
    want = planned(done.out)
    # As it was left, joined by nobody.
    left = [*place.traces(), *place.leftovers()]
    made = compare(recorded(place, left), want)
    for file in left:
        for head in place.heads(file):
            assert head["dropped"] == 0 and head["damage"] == [] and not head["alive"], head
    # And by the way that users go: the next command joins what was left.
    if collect(place):
        assert place.leftovers() == [], place.leftovers()
        assert compare(recorded(place, place.traces()), want) == made
    print(f"{how}: kept {made} of {made}")


CASES: dict[str, Callable[[Place], None]] = {how: partial(death, how) for how in DEATHS}

if __name__ == "__main__":
    main(CASES)
