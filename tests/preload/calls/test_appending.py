"""A transfer's place is where the system put its bytes, as the file itself shows; where nobody can
know it, the trace says so, and never another one.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path

from support.place import Place, main

HEAD = 1000  # bytes that the file has before
UNKNOWN = -1


def made(place: Place) -> Path:
    file = place.scratch / "log"
    file.write_bytes(b"." * HEAD)
    return file


# Where a call's numbers say what it moved, and where.
NUMBERS = {"write": (1, 2), "writev": (1, 2), "pwrite": (2, 1), "pwritev": (2, 1),
           "pwritev2": (3, 4), "aio_write": (0, 1), "fwrite": (4, 3), "fputs": (2, 1),
           "fprintf": (2, 1), "fread": (4, 3)}  # fmt: skip


def moved(place: Place) -> list[tuple[str, int, int]]:
    """(call, bytes, place) of each that moved something, of all processes of the run."""
    found = []
    for trace in dict.fromkeys([place.trace, *place.traces(), *place.leftovers()]):
        for call in place.calls(trace) if trace.exists() else []:
            if call["name"] in NUMBERS:
                length, at = (call["numbers"][i] for i in NUMBERS[call["name"]])
                if length > 0:
                    found.append((call["name"], length, at))
    return found


def check(place: Place, file: Path, lengths: dict[int, str], unknown: set[int]) -> None:
    """Each write of so many bytes stands where its letter stands in the file."""
    content = file.read_bytes().decode()
    got = {bytes_moved: (name, at) for name, bytes_moved, at in moved(place)}
    for length, letter in lengths.items():
        # A file system may refuse a flag; then the program has gone on without.
        if letter not in content:
            continue
        at = content.index(letter)
        assert content[at : at + length] == letter * length, (letter, at)
        want = UNKNOWN if length in unknown else at
        assert got[length][1] == want, (letter, got[length], want)


def letters(first: int, count: int) -> dict[int, str]:
    return {first + i: chr(ord("a") + i) for i in range(count)}


def forms(place: Place) -> None:
    """Flags of open and fcntl, descriptors by dup, calls with flags of their own."""
    for libraries in (None, "on"):  # recorded alone, and with prefetching beside
        file = made(place)
        place.clear()
        place.right(place.run(place.bin / "appending", "forms", file, IOTUNE_PREFETCH=libraries))
        check(place, file, letters(10, 12), {21})


def streams(place: Place) -> None:
    """What a stream keeps for later has no place yet."""
    file = made(place)
    place.right(place.run(place.bin / "appending", "streams", file))
    lengths = {100: "a", 6: "b", 7: "c", 50: "d", 8: "e", 60: "f", 61: "g"}
    check(place, file, lengths, {100, 6, 7})
    assert [where for name, *where in moved(place) if name == "fread"] == [[30, 4]]


def shared(how: str, all_known: bool) -> Callable[[Place], None]:
    """Several writers at once: no two writes stand in one place, and each where its letters are."""

    def test(place: Place) -> None:
        lines = 3000
        file = made(place)
        place.right(place.run(place.bin / "appending", how, file, lines))
        content = file.read_bytes()
        got = moved(place)
        assert len(got) == 4 * lines, len(got)
        known = [(length, at) for _, length, at in got if at != UNKNOWN]
        assert len({at for _, at in known}) == len(known)
        for length, at in known:
            assert content[at : at + length] == bytes([ord("A") + length - 1]) * length, (
                at,
                length,
            )
        assert known and (len(known) == len(got) or not all_known), (len(known), len(got))

    return test


def child_sets(place: Place, how: str = "child-sets") -> None:
    file = made(place)
    place.right(place.run(place.bin / "appending", how, file))
    content = file.read_bytes().decode()
    got = {length: at for _, length, at in moved(place)}
    assert got[10] == 0 and got[11] in (UNKNOWN, content.index("b" * 11)), got
    assert got[12] in (UNKNOWN, content.index("c" * 12)), got
    assert UNKNOWN not in (got[10], got[12]), got


def inherited(place: Place) -> None:
    """By a descriptor that a shell opened: >> log."""
    file = made(place)

    def redirect() -> None:
        os.dup2(os.open(file, os.O_WRONLY | os.O_APPEND), 1)

    place.right(place.run(place.bin / "appending", "inherited", file, before=redirect))
    check(place, file, {10: "a", 11: "b", 4096: "c"}, set())


def mixed(place: Place, more: str = "") -> None:
    """Where each fwrite went is known to the file: a tag of its own stands there."""
    for _ in range(6):
        seed = random.SystemRandom().randrange(2**31)
        print("seed", seed)
        file, bare = place.scratch / f"mixed {seed}", place.scratch / f"bare {seed}"
        place.right(place.run(place.bin / "mixed_stream", bare, seed))
        run = place.run(
            place.bin / "mixed_stream", file, seed, *more.split(),
            preload=[place.library], IOTUNE_TRACE=place.trace,
        )  # fmt: skip
        done = place.right(run)
        tags = [int(line) for line in done.out.split()]
        places = [at for name, _, at in moved(place) if name == "fwrite"]
        place.trace.unlink()
        assert len(places) == len(tags) > 1000, (len(places), len(tags))
        content = file.read_bytes()
        assert content == bare.read_bytes()
        for tag, at in zip(tags, places):
            word = tag.to_bytes(8, "little")
            assert content[at : at + 8] == word, (tag, at, content.find(word))


if __name__ == "__main__":
    main({"forms": forms, "streams": streams, "child-sets": child_sets, "inherited": inherited,
          "spawn-sets": partial(child_sets, how="spawn-sets"),
          "system-sets": partial(child_sets, how="system-sets"),
          "popen-sets": partial(child_sets, how="popen-sets"),
          "one-descriptor": shared("append-forked", False),
          "descriptors-of-their-own": shared("append-own", True),
          "threads": shared("append-threads", False),
          "one-position": shared("plain-forked", False),
          "position-of-threads": shared("plain-threads", False),
          "mixed": mixed, "mixed-beside-a-thread": partial(mixed, more="threads")})  # fmt: skip
