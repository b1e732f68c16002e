"""However a process ends, each of its calls is kept, with its arguments: n of n."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable
from functools import partial

from support.place import Place, collect, main
from support.planned_calls import Calls, planned, recorded

# Death: what the shell says of it.
DEATHS = {
    "return": 6, "exit": 5, "_exit": 3, "exit_group": 7, "quick_exit": 4,
    "abort": 128 + signal.SIGABRT, "term": 128 + signal.SIGTERM, "segv": 128 + signal.SIGSEGV,
    "kill": 128 + signal.SIGKILL, "exec": 6, "fork": 0, "_Fork": 0, "clone": 0, "vfork": 0,
    "spawn": 0, "threads-return": 8, "threads-_exit": 9, "threads-kill": 128 + signal.SIGKILL,
    "threads-outlive": 0, "short-threads": 0, "short-threads-kill": 128 + signal.SIGKILL,
    "threads-at-once": 0,
}  # fmt: skip


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
            # It is no death: nobody reads that something may be lost.
            assert how != "_exit" or head["end"].get("end") == "_exit", head
    # And by the way that users go: the next command joins what was left.
    if collect(place):
        assert place.leftovers() == [], place.leftovers()
        assert compare(recorded(place, place.traces()), want) == made
    print(f"{how}: kept {made} of {made}")


CASES: dict[str, Callable[[Place], None]] = {how: partial(death, how) for how in DEATHS}

if __name__ == "__main__":
    main(CASES)
