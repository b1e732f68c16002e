"""Calls of a signal handler on a stack of SIGSTKSZ, the first traced ones of their process."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from support.place import Place, main

STACK, MOST_OVER_BARE = 8192, 2048
# Of each case some calls that have to be in the trace.
CALLS = {
    "open": ["open", "write", "close"],
    "long-name": ["openat", "write", "lseek", "read", "close"],
    "creat": ["creat", "close"],
    "names": ["mkdir", "rename", "rmdir", "symlink", "unlink"],
    "descriptors": ["dup", "dup2", "fcntl", "ftruncate", "fsync", "fdatasync", "fstat", "close"],
    "vectors": ["pwritev", "preadv", "writev", "lseek", "readv"],
    "many": ["open", "pwrite"],
}
MANY = 20000


def depth(place: Place, call: str, preload: bool) -> int:
    folder = place.scratch / ("with" if preload else "bare")
    folder.mkdir()
    # The loader's own look-up of a function takes as much as ours may, and is not what is measured.
    done = place.right(place.run(place.bin / "small_stack", call, preload=preload, cwd=folder,
                                 LD_BIND_NOW="1"))  # fmt: skip
    used, failed = map(int, done.out.split())
    assert failed == 0, done
    return used


def small(place: Place, call: str) -> None:
    bare, used = depth(place, call, False), depth(place, call, True)
    print(f"{call}: {used - bare} bytes over {bare}")
    assert used < STACK, used
    assert used - bare < MOST_OVER_BARE, (used, bare)
    files = [place.trace] if place.trace.exists() else place.leftovers()
    if call == "names":
        # Such calls alone leave no trace behind (recorder/README.md).
        assert files == []
        return
    names = [one["name"] for file in files for one in place.calls(file)]
    missing = [name for name in CALLS[call] if name not in names]
    assert not missing, (missing, names[:20])
    if call == "many":
        assert names.count("pwrite") == MANY, names.count("pwrite")


CASES: dict[str, Callable[[Place], None]] = {call: partial(small, call=call) for call in CALLS}

if __name__ == "__main__":
    main(CASES)
