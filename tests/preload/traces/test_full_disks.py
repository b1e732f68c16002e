"""Where iotune has no room, or loses it, the program does not notice: same output, same errno."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support import preloaded
from support.place import Place, main, not_verified
from support.preloaded import Done
from support.small_disks import mounted
from support.undisturbed import contents

# Removes or fills the folder argv[2] after half of its calls. Irregular offsets fill rings.
PROGRAM = r"""
import os, shutil, sys
folder, how, calls = sys.argv[1], sys.argv[2], int(sys.argv[3])
f = os.open("data", os.O_RDWR | os.O_CREAT, 0o600)
at = 12345
for i in range(calls):
    if i == calls // 2:
        if how == "remove": shutil.rmtree(folder, ignore_errors=True)
        if how == "empty":
            for top, _, names in os.walk(folder):
                for name in names: os.unlink(os.path.join(top, name))
        if how == "fill":
            with open(os.path.join(folder, "filler"), "wb", buffering=0) as filler:
                try:
                    while filler.write(bytes(4096)) == 4096: pass
                except OSError as error: pass
    at = (at * 1103515245 + 12345) % 2**32
    assert os.pwrite(f, b"x" * (1 + at % 60), at % 100003) == 1 + at % 60
print(os.fstat(f).st_size, "done", flush=True)
"""
CALLS = 20000


def equal(place: Place, launch: Callable[[Path, bool], Done], *words: str) -> Done:
    """Bare and under the preload; at most the one line with `words` may be said."""
    seen = []
    for preload in (False, True):
        here = place.scratch / "here"
        here.mkdir()
        done = launch(here, preload)
        seen.append((done, contents(here)))
        shutil.rmtree(here)
    (bare, bare_files), (under, files) = seen
    assert bare.status == 0 and bare_files, bare
    assert (under.status, under.out) == (bare.status, bare.out), (bare, under)
    assert files == bare_files
    said = under.said()
    assert under.err.decode().splitlines() == said, under.err
    assert len(said) == (1 if words else 0), said
    for word in words:
        assert word in said[0], said[0]
    return under


def program(place: Place, folder: object, how: str, *words: str, **env: Any) -> Done:
    return equal(
        place,
        lambda here, preload: place.run(
            sys.executable, "-c", PROGRAM, folder, how, CALLS, cwd=here, preload=preload, **env
        ),
        *words,
    )


def errno_too(place: Place, *words: str, **env: Any) -> Done:
    """A program that looks at errno after each kind of call."""
    return equal(
        place,
        lambda here, preload: place.run(
            place.bin / "posix_calls", here / "data", "errors", preload=preload, **env
        ),
        *words,
    )


def none_lost(place: Place, file: Path, calls: int) -> None:
    """What was not kept was counted."""
    (head,) = place.heads(file)
    kept = [c for c in place.calls(file) if c["name"] == "pwrite"]
    assert 0 < len(kept) < calls, len(kept)
    assert head["dropped"] >= calls - len(kept), head
    print(f"kept {len(kept)}, counted {head['dropped']} of {calls}")


def buffers_full(place: Place) -> None:
    for size, word in (("4k", "no space"), ("16k", "no space"), ("100k", "no space"),
                       ("250k", "no space"), ("100m", "")):  # fmt: skip
        with mounted(place, "tmpfs", f"size={size},mode=700") as small:
            if small is None:
                return
            words = [word] if word else []
            if size != "250k":  # regular calls fit into that
                errno_too(place, *words, IOTUNE_BUFFER_DIR=small)
            program(place, "", "nothing", *words, IOTUNE_BUFFER_DIR=small)
            if size == "250k":
                none_lost(place, place.trace, CALLS)
            place.trace.unlink(missing_ok=True)


def buffers_fill(place: Place) -> None:
    """Somebody else takes what room is left while the program runs."""
    with mounted(place, "tmpfs", "size=4m,mode=700") as small:
        if small is None:
            return
        (small / "buffers").mkdir(mode=0o700)
        program(place, small, "fill", "no space", IOTUNE_BUFFER_DIR=small / "buffers")


def buffers_vanish(place: Place) -> None:
    for how in ("remove", "empty"):
        place.clear()
        folder = place.scratch / "buffers of it"
        folder.mkdir(mode=0o700)
        done = place.run(
            sys.executable, "-c", PROGRAM, folder, how, CALLS, cwd=place.scratch,
            IOTUNE_BUFFER_DIR=folder,
        )  # fmt: skip
        assert (done.status, done.out.split()[1:]) == (0, [b"done"]), done
        assert len(done.said()) <= 1, done.said()
        assert done.err.decode().splitlines() == done.said(), done.err
        shutil.rmtree(folder, ignore_errors=True)


def shared_memory_full(place: Place) -> None:
    """The default place of buffers."""
    shell = 'mount -t tmpfs -o size=12k none /dev/shm && shift && exec env "$@"'
    probe = subprocess.run(["unshare", "-m", "sh", "-c", shell, "sh", "", "true"], check=False)
    if probe.returncode != 0:
        not_verified("a full /dev/shm: no mount namespace for this user")
        return

    def launch(here: Path, preload: bool) -> Done:
        loaded = [preloaded.setting(place.library)] if preload else []
        return place.run(
            "unshare", "-m", "sh", "-c", shell, "sh", "", *loaded, place.bin / "posix_calls",
            here / "data", "errors", preload=False, IOTUNE_BUFFER_DIR=None,
            IOTUNE_TRACE=place.trace,
        )  # fmt: skip

    equal(place, launch, "/dev/shm/iotune-", "no space")


def trace_full(place: Place) -> None:
    with mounted(place, "tmpfs", "size=8k") as small:
        if small is None:
            return
        program(place, "", "nothing", "trace cannot be written", IOTUNE_TRACE=small / "x.iotrace")
        # Nothing half of it is left, and the calls are where the line says.
        assert list(small.iterdir()) == [], list(small.iterdir())
        (left,) = place.leftovers()
        assert sum(c["name"] == "pwrite" for c in place.calls(left)) == CALLS
        left.unlink()
        program(place, small, "fill", "trace cannot be written", IOTUNE_TRACE=small / "x.iotrace")


def trace_vanishes(place: Place) -> None:
    folder = place.scratch / "traces of it"

    def launch(here: Path, preload: bool) -> Done:
        folder.mkdir()
        return place.run(
            sys.executable, "-c", PROGRAM, folder, "remove", CALLS, cwd=here, preload=preload,
            IOTUNE_TRACE=folder / "x.iotrace",
        )  # fmt: skip

    equal(place, launch, "trace cannot be written")


def trace_read_only(place: Place) -> None:
    with mounted(place, "tmpfs", "ro,size=1m") as small:
        if small is None:
            return
        errno_too(place, "trace cannot be written", IOTUNE_TRACE=small / "x.iotrace")
        place.clear()
        errno_too(place, "private directory", IOTUNE_BUFFER_DIR=small / "buffers")
        place.clear()
        # The default place, in a home that cannot be written.
        errno_too(place, "trace cannot be written", IOTUNE_TRACE=None, XDG_STATE_HOME=small)


def no_local_file_system(place: Place) -> None:
    """Buffers are mapped on tmpfs, ext4 and xfs alone: what is not known is not mapped."""

    def plain_writes_alone(other: Path) -> None:
        errno_too(place, "not tmpfs, ext4 or xfs", IOTUNE_BUFFER_DIR=other)
        assert list(other.iterdir()) == []
        place.clear()
        errno_too(place, IOTUNE_TRACE=other / "x.iotrace")
        assert place.heads(other / "x.iotrace")

    with mounted(place, "ramfs", "mode=700") as other:
        if other is not None:
            plain_writes_alone(other)
    if cephfs := os.environ.get("IOTUNE_TEST_CEPHFS"):
        with tempfile.TemporaryDirectory(dir=cephfs) as folder:
            place.clear()
            plain_writes_alone(Path(folder))
        not_verified("buffers and traces on NFS or Lustre: neither is here")
    else:
        not_verified("buffers and traces on NFS, Lustre or CephFS (IOTUNE_TEST_CEPHFS names one)")


def size_limit(place: Place) -> None:
    """`ulimit -f`: a store of ours past it would be a SIGXFSZ in the program."""

    def limited(kib: int, *words: str) -> None:
        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (kib << 10, kib << 10))

        def launch(here: Path, preload: bool) -> Done:
            command: list[object] = [place.bin / "posix_calls", here / "data", "errors"]
            if kib == 210:  # room for a ring, and for no more than a block
                command = [sys.executable, "-c", PROGRAM, here, "nothing", CALLS]
            return place.run(*command, cwd=here, preload=preload, before=limit)

        place.clear()
        equal(place, launch, *words)

    for kib in (100, 120, 210):
        limited(kib, "ulimit -f")
    limited(100000)


def buffer_limit(place: Place) -> None:
    """IOTUNE_BUFFER_LIMIT_MIB: beyond it calls are counted, and that is said."""
    calls = 250000

    def limited(mib: int, *words: str) -> None:
        def launch(here: Path, preload: bool) -> Done:
            return place.run(
                sys.executable, "-c", PROGRAM, here, "nothing", calls, cwd=here, preload=preload,
                IOTUNE_BUFFER_LIMIT_MIB=mib, IOTUNE_SPILL_LIMIT_MIB=0,
            )  # fmt: skip

        place.trace.unlink(missing_ok=True)
        equal(place, launch, *words)
        (head,) = place.heads()
        assert head["calls"] + head["dropped"] >= calls, head
        assert (head["dropped"] > 0) == bool(words), head

    limited(1, "IOTUNE_BUFFER_LIMIT_MIB")
    limited(64)


if __name__ == "__main__":
    os.umask(0o022)
    main({
        "buffers-full": buffers_full, "buffers-fill": buffers_fill,
        "buffers-vanish": buffers_vanish, "shared-memory-full": shared_memory_full,
        "trace-full": trace_full, "trace-vanishes": trace_vanishes,
        "trace-read-only": trace_read_only, "no-local-file-system": no_local_file_system,
        "size-limit": size_limit, "buffer-limit": buffer_limit,
    })  # fmt: skip
