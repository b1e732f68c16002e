"""Files that a program finds open when it begins are recorded like those that it opens itself."""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.place import Place, main

# Reads `reads` from descriptor argv[1] and writes `writes` to argv[2], then ends as argv[3] says.
PROGRAM = r"""
import ast, os, signal, sys
source, target, how, reads, writes = (ast.literal_eval(word) for word in sys.argv[1:])
if how == "fork" and os.fork() != 0:
    os._exit(os.waitstatus_to_exitcode(os.wait()[1]))
for count, offset in reads:
    os.pread(source, count, offset)
for count, offset in writes:
    if how == "vectors":
        assert os.pwritev(target, [b"x" * count], offset, os.RWF_DSYNC) == count
    else:
        assert os.pwrite(target, b"x" * count, offset) == count
if how == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
os._exit(7)
"""
SIZE = 100000
# Files of the interpreter itself, which may lie anywhere.
PYTHON = f"{sys.base_prefix}/*"

Moves = list[tuple[int, int]]


def drawn(seed: int, calls: int, most: int) -> Moves:
    draw = random.Random(seed)
    return [(draw.randint(1, most), draw.randrange(SIZE)) for _ in range(calls)]


def handed_over(place: Place, log: bool) -> Callable[[], None]:
    """What a shell does for `< in > out`, or for `< in > out 2>&1`."""

    def redirect() -> None:
        os.dup2(os.open(place.scratch / "in", os.O_RDONLY), 0)
        os.dup2(os.open(place.scratch / "out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 1)
        if log:
            os.dup2(1, 2)

    return redirect


def arguments(source: int, target: int, how: str, reads: Moves, writes: Moves) -> list[object]:
    return [sys.executable, "-S", "-c", PROGRAM, source, target, repr(how), reads, writes]


def recorded(place: Place, files: list[Path]) -> list[tuple[Any, ...]]:
    """Name, last part of the path, and numbers of each transfer of the program."""
    found = []
    for file in files:
        calls = place.calls(file)
        names = {
            c["keys"][0]: Path(c["texts"][0]).name for c in calls if c["name"] == "iotune_file"
        }
        found += [(c["name"], names.get(c["keys"][1]), *c["numbers"]) for c in calls
                  if c["name"] in ("pread", "pwrite")]  # fmt: skip
        for head in place.heads(file):
            assert head["dropped"] == 0 and head["damage"] == [], head
    return found


def expected(reads: Moves, writes: Moves) -> list[tuple[Any, ...]]:
    return [
        *(("pread", "in", count, at, min(count, SIZE - at)) for count, at in reads),
        *(("pwrite", "out", count, at, count) for count, at in writes),
    ]


def runs(place: Place, how: str, calls: int, most: int) -> bool:
    """One run; all of its transfers stand in what it left (True), or it left nothing."""
    seed = random.SystemRandom().randrange(2**31)
    print("seed", seed)
    (place.scratch / "in").write_bytes(bytes(SIZE))
    reads, writes = drawn(seed, calls, most), drawn(seed + 1, calls, most)
    done = place.run(*arguments(0, 1, how, reads, writes), before=handed_over(place, False),
                     IOTUNE_TRACE=None, IOTUNE_EXCLUDE=PYTHON)  # fmt: skip
    assert done.status == (128 + signal.SIGKILL if how == "kill" else 7), done
    assert done.err == b"", done.err
    left = [*place.traces(), *place.leftovers()]
    if not left:
        return False
    got, want = recorded(place, left), expected(reads, writes)
    assert got == want, next((p for p in zip(got, want) if p[0] != p[1]), (len(got), len(want)))
    return True


def shell(place: Place) -> None:
    """Few large transfers, and many small ones."""
    for calls, most in ((3, 20000), (5000, 60)):
        place.clear()
        assert runs(place, "exit", calls, most), (calls, most)


def killed(place: Place) -> None:
    assert runs(place, "kill", 5000, 60)


def forked(place: Place) -> None:
    """The child of a program that has recorded nothing itself."""
    assert runs(place, "fork", 5000, 60)


def vectors(place: Place) -> None:
    """By calls that have their own way into the trace, of which no repeats are counted."""
    (place.scratch / "in").touch()
    writes = drawn(random.SystemRandom().randrange(2**31), 4000, 60)
    done = place.run(*arguments(0, 1, "vectors", [], writes), before=handed_over(place, False),
                     IOTUNE_TRACE=None, IOTUNE_EXCLUDE=PYTHON)  # fmt: skip
    assert done.status == 7 and done.said() == [], done
    calls = [c for file in place.leftovers() for c in place.calls(file)]
    made = [c["numbers"] for c in calls if c["name"] == "pwritev2"]
    assert made == [[1, at, os.RWF_DSYNC, count, at] for count, at in writes], len(made)


def few(place: Place) -> None:
    """A word or two on a redirected stdout are no reason to leave a trace."""
    assert not runs(place, "exit", 20, 60)
    assert not runs(place, "fork", 20, 60)
    # Nor is asking for more than there is.
    for command in ("cat", "head"):
        (place.scratch / "in").write_bytes(b"a word\n")
        place.right(place.run(command, before=handed_over(place, False), IOTUNE_TRACE=None))
        assert (place.scratch / "out").read_bytes() == b"a word\n"
        assert place.ours() == [], (command, place.ours())


def log(place: Place) -> None:
    """Nor is a log: a file that stderr goes to as well."""
    (place.scratch / "in").write_bytes(bytes(SIZE))
    writes = drawn(1, 5000, 60)
    done = place.run(
        *arguments(0, 1, "exit", [], writes), before=handed_over(place, True), IOTUNE_TRACE=None,
        IOTUNE_EXCLUDE=PYTHON,
    )  # fmt: skip
    assert done.status == 7, done
    assert place.ours() == [], place.ours()


def high(place: Place) -> None:
    """Descriptors that a shell names; one of a file that is excluded."""
    (place.scratch / "in").write_bytes(bytes(SIZE))
    reads, writes = drawn(3, 300, 9000), drawn(4, 300, 9000)
    for excluded in (False, True):
        place.clear()
        done = place.run("sh", "-c", 'exec "$@" 7< in 9> out', "sh",
                         *arguments(7, 9, "exit", reads, writes), IOTUNE_TRACE=None,
                         IOTUNE_EXCLUDE=f"{PYTHON}:*/out" if excluded else PYTHON)  # fmt: skip
        assert done.status == 7 and done.said() == [], done
        got = recorded(place, [*place.traces(), *place.leftovers()])
        assert got == expected(reads, [] if excluded else writes), (len(got), excluded)


def once(place: Place) -> None:
    """What the program writes to stdout past its stream is not the stream's as well."""
    script = "import os\nfor i in range(30): os.write(1, b'x' * 5000)\nprint('y' * 50, flush=True)"
    (place.scratch / "in").write_bytes(b"")
    done = place.run(sys.executable, "-c", script, before=handed_over(place, False),
                     IOTUNE_EXCLUDE=PYTHON, IOTUNE_TRACE=place.trace)  # fmt: skip
    place.right(done)
    size = (place.scratch / "out").stat().st_size
    place_of_bytes = {"write": 1, "fputc": 0}
    moved = [
        call["numbers"][place_of_bytes[call["name"]]]
        for call in place.calls()
        if call["name"] in place_of_bytes
    ]
    assert sum(moved) == size == 150_051, moved


def room(place: Place) -> None:
    """The table of descriptors has room for our high ones before the program has threads.

    Later the kernel waits some 15 ms for a larger one.
    """
    slots = {}
    for preload in (False, True):
        done = place.right(place.run("grep", "FDSize", "/proc/self/status", preload=preload))
        slots[preload] = int(done.out.split()[1])
    assert slots[False] < 512 <= slots[True], slots


if __name__ == "__main__":
    main({"shell": shell, "killed": killed, "forked": forked, "vectors": vectors, "high": high,
          "few": few, "log": log, "once": once, "room": room})  # fmt: skip
