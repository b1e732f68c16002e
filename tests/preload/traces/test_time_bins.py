"""The trace tells in which bin of the process's time the bytes of a pattern moved.

A burst of writes, a pause, another burst: without marks of time the loop's writes would be spread
over the pause. How long each took the program tells itself.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from support.place import Place, collect, main
from support.preloaded import Done

CALLS = 20000
PAUSE_MS = 400
BYTES = 64

Calls = list[dict[str, Any]]


def writes(place: Place, *traces: Path) -> list[Calls]:
    """Each thread's writes, in the order in which its process and it came."""
    found: dict[tuple[int, int], Calls] = {}
    for trace in traces:
        starts = [int(head["attributes"]["wall_ns"]) for head in place.heads(trace)]
        for call in place.calls(trace):
            if call["name"] == "pwrite":
                start_ns = starts[call["process"]]
                call["end"] = (start_ns + call["start_ns"] + call["duration_ns"]) / 1e6
                found.setdefault((start_ns, call["thread"]), []).append(call)
    return [found[key] for key in sorted(found)]


def run(place: Place, how: str, status: int = 0, **env: Any) -> Done:
    done = place.run(
        place.bin / "bursts", place.scratch / "file", how, CALLS, PAUSE_MS, seconds=120, **env
    )
    assert done.status == status and done.said() == [], done
    return done


def check_pause(done: Done, first: Calls, second: Calls, second_calls: int = CALLS) -> None:
    """All calls are there, and but for the edges of two bins none ends in the pause."""
    wanted = (CALLS, second_calls)
    assert (len(first), len(second)) == wanted, (len(first), len(second))
    moved = sum(call["numbers"][2] for call in [*first, *second])
    assert moved == BYTES * sum(wanted), moved
    begin = max(call["end"] for call in first)
    end = min(call["end"] for call in second)
    elapsed = max(call["end"] for call in second) - min(call["end"] for call in first)
    bursts = sorted(tuple(map(int, line.split())) for line in done.out.splitlines())
    pause = (bursts[1][0] - bursts[0][1]) / (bursts[1][1] - bursts[0][0])
    # A bin is at most a 32nd of the process's time. Of a process that was killed early the clock's
    # rate is known to some parts in a hundred, so that shares are compared.
    assert (end - begin) / elapsed > pause - 1 / 8, (begin, end, elapsed, pause)
    print(f"nothing moved for {end - begin:.0f} ms of {elapsed:.0f}; paused for {pause:.0%}")


def burst(how: str, place: Place) -> None:
    done = run(place, how)
    (all_of_it,) = writes(place, place.trace)
    check_pause(done, all_of_it[:CALLS], all_of_it[CALLS:])
    assert len({call["start_ns"] for call in all_of_it}) > CALLS / 2


def killed(place: Place) -> None:
    done = run(place, "kill", status=128 + signal.SIGKILL, IOTUNE_TRACE=None)
    (left,) = place.leftovers()
    (all_of_it,) = writes(place, left)
    check_pause(done, all_of_it[:CALLS], all_of_it[CALLS:], CALLS // 2)
    if collect(place):
        (trace,) = place.traces()
        (joined,) = writes(place, trace)
        assert [call["end"] for call in joined] == [call["end"] for call in all_of_it]


def forked(how: str, place: Place) -> None:
    done = run(place, how, IOTUNE_TRACE=None)
    first, second = writes(place, *place.traces(), *place.leftovers())
    check_pause(done, first, second)


def threads(place: Place) -> None:
    done = run(place, "threads")
    found = writes(place, place.trace)
    found.sort(key=lambda calls: calls[0]["end"])
    check_pause(done, found[0], found[1])


def long_call(place: Place) -> None:
    """A transfer over several bins keeps its duration."""
    run(place, "long")
    (all_of_it,) = writes(place, place.trace)
    large = all_of_it[CALLS]
    assert large["numbers"][0] == 64 << 20, large
    assert large["duration_ns"] > 100 * max(
        sorted(call["duration_ns"] for call in all_of_it)[CALLS], 1
    ), large


CASES: dict[str, Callable[[Place], None]] = {
    "loop": partial(burst, "loop"), "random": partial(burst, "random"), "kill": killed,
    "fork": partial(forked, "fork"), "exec": partial(forked, "exec"), "threads": threads,
    "long": long_call,
}  # fmt: skip

if __name__ == "__main__":
    main(CASES)
