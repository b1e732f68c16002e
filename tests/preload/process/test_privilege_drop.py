"""A program that gives up rights ends as it does without the preload, and is recorded till then.

The program under test ends by a signal at the first system call that it does not make itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from support import preloaded
from support.place import Place, collect, main, not_verified
from support.preloaded import Done

BLOCK, BLOCKS, MANY = 1000, 3, 20000


def run(place: Place, kind: str, *more: object, preload: bool, folder: str) -> tuple[Done, Path]:
    work = place.scratch / folder
    work.mkdir()
    (work / "root").mkdir()
    os.chmod(work, 0o777)
    done = place.run(place.bin / "privilege_drop", kind, *more, preload=preload, cwd=work)
    return done, work


def both(place: Place, kind: str, *more: object) -> Path:
    """Bare and preloaded: equal ends, outputs and files. The preloaded one's folder."""
    os.chmod(place.scratch, 0o755)
    bare, bare_work = run(place, kind, *more, preload=False, folder="bare")
    assert bare.status == 0 and bare.out == b"done\n", bare
    done, work = run(place, kind, *more, preload=True, folder="work")
    assert done.same_as(bare), (done, bare)
    for name in ("before", "after"):
        assert (work / name).read_bytes() == (bare_work / name).read_bytes(), name
    return work


def moved(calls: list[dict[str, Any]], path: Path) -> list[tuple[str, int, int]]:
    """The transfers of one file: function, bytes, offset."""
    numbers = {call["keys"][0] for call in calls
               if call["name"] == "iotune_file" and call["texts"][0] == str(path)}  # fmt: skip
    found = []
    for call in calls:
        if len(call["keys"]) < 2 or call["keys"][1] not in numbers:
            continue
        asked, second, third = (*call["numbers"], 0, 0, 0)[:3]
        if call["name"] in ("read", "write"):
            found.append((call["name"], second, third))
        elif call["name"] == "pwrite":
            found.append((call["name"], asked, second))
    return found


def steps(function: str) -> list[tuple[str, int, int]]:
    return [(function, BLOCK, BLOCK * i) for i in range(BLOCKS)]


def dropped(place: Place, kind: str, root: bool = False) -> None:
    """What came before is in the trace that was asked for, and nothing of what came after."""
    if root and os.getuid() != 0:
        not_verified(f"{kind}: wants root")
        return
    work = both(place, kind)
    # Handed over before: by the program, to where its user wants it.
    assert moved(place.calls(), work / "before") == steps("write")
    (buffer,) = place.leftovers()
    assert moved(place.calls(buffer), work / "before") == steps("write")
    assert all(head["dropped"] == 0 and head["damage"] == [] for head in place.heads(buffer))
    # And by the way that users go.
    if collect(place, place.trace):
        assert place.leftovers() == []
        joined = place.calls()
        assert moved(joined, work / "before") == steps("write")
        assert moved(joined, work / "after") == []


def as_usual(place: Place, kind: str, *more: object) -> None:
    """Nothing was taken away that iotune needs: the program writes its whole trace itself."""
    work = both(place, kind, *more)
    # A wrapper that gave up rights before it did anything leaves a buffer without calls.
    assert all(place.calls(buffer) == [] for buffer in place.leftovers()[: len(more)])
    assert len(place.leftovers()) <= len(more)
    calls = place.calls()
    assert moved(calls, work / "before") == steps("write") + steps("read")
    assert moved(calls, work / "after") == steps("write")


def timed(place: Place, kind: str, *more: object) -> None:
    as_usual(place, kind, *more)
    starts = [call["start_ns"] for call in place.calls() if call["name"] in ("read", "write")]
    assert starts == sorted(starts) and starts[0] < starts[-1], starts
    # The rate of the clock goes on where the counter's ended.
    assert starts[-1] - starts[0] < 60e9, starts


def unmount(place: Place) -> None:
    """The program unmounts the file system with the buffer, which must not be busy."""
    if os.getuid() != 0:
        not_verified("unmount: wants root")
        return
    memory = place.scratch / "place"
    memory.mkdir()
    work = place.scratch / "work"
    work.mkdir()
    # In a namespace of mounts of its own.
    mounted = f"mount -t tmpfs none '{memory}' && exec env \"$@\""
    launch = ("unshare", "-m", "sh", "-c", mounted, "sh")
    program = (place.bin / "privilege_drop", "unmount")
    bare = place.run(*launch, *program, preload=False, cwd=work)
    if bare.err.startswith(b"unshare: "):
        not_verified(f"unmount: {bare.err.decode().strip()}")
        return
    assert bare.status == 0 and bare.out == b"done\n", bare
    done = place.run(
        *launch, preloaded.setting(place.library), f"IOTUNE_TRACE={place.trace}", *program,
        preload=False, cwd=work, IOTUNE_BUFFER_DIR=memory / "buffers",
    )  # fmt: skip
    assert done.same_as(bare), (done, bare)
    calls = place.calls()
    assert moved(calls, work / "before") == steps("write") + steps("read")
    assert moved(calls, work / "after") == steps("write")


def inherited(place: Place) -> None:
    """A wrapper sets a filter, as containers do, and executes the program."""
    as_usual(place, "inherited", place.bin / "privilege_drop")


def little_memory(place: Place, kind: str) -> None:
    """Under a limit with little room a child, memory and files are had as without the preload.

    A limit of addresses or data ends recording.
    """
    bare = place.run(place.bin / "little_memory", kind, place.scratch / "bare", preload=False)
    assert bare.status == 0 and bare.out == b"child Success 0, memory 1, file 1\n", bare
    file = place.scratch / "file"
    done = place.run(place.bin / "little_memory", kind, file)
    assert done.same_as(bare), (done, bare)
    assert file.read_bytes() == bytes(8192 * 103)
    # The child that the program spawned may have left a buffer: it is of another process.
    counts = [
        sum(call["name"] == "write" and call["numbers"][0] == 8192 for call in place.calls(trace))
        for trace in (place.trace, *place.leftovers())
    ]
    assert max(counts) == (100 if kind in ("data", "addresses") else 103), counts


CASES: dict[str, Callable[[Place], None]] = {
    **{kind: partial(dropped, kind=kind)
       for kind in ("prctl", "syscall", "strict", "thread", "child", "size", "descriptors",
                    "memory", "counter")},
    **{kind: partial(dropped, kind=kind, root=True) for kind in ("chroot", "user", "mounts")},
    "little-data": partial(little_memory, kind="data"),
    "little-addresses": partial(little_memory, kind="addresses"),
    "little-stack": partial(little_memory, kind="stack"),
    "little-locked": partial(little_memory, kind="locked"),
    "unmount": unmount,
    "fails": partial(as_usual, kind="fails"),
    "much-memory": partial(as_usual, kind="much-memory"),
    "inherited": inherited,
    "inherited-counter": partial(timed, kind="inherited-counter"),
}  # fmt: skip

if __name__ == "__main__":
    main(CASES)
