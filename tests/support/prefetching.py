"""What the tests of prefetching share: a file system with latency, and programs that read on it.

The trace of `iotune fuse` names the thread of each request. A read of the program that was
prefetched makes none of its own: the helper made it before.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from support.place import Place, not_verified
from support.preloaded import Done

BLOCK = 65536
PATIENCE_MS = 20000  # reached only where a prefetch does not come


def fuse_works(place: Place) -> bool:
    if not (place.bin / "iotune-fuse").exists():
        not_verified("prefetching: iotune-fuse is not built (libfuse 3 is missing)")
    elif not os.access("/dev/fuse", os.W_OK) or shutil.which("fusermount3") is None:
        not_verified("prefetching: /dev/fuse or fusermount3 cannot be had here")
    else:
        return True
    return False


@contextlib.contextmanager
def mounted(place: Place, trace: Path, latency_ms: int = 5, *options: str) -> Iterator[Path]:
    """The place's root folder behind a latency; its requests are in `trace` at the end."""
    mount, root = place.scratch / "m", place.scratch / "root"
    mount.mkdir(exist_ok=True)
    command = [
        str(place.bin / "iotune-fuse"), f"--latency-ns={latency_ms * 1_000_000}",
        f"--trace={trace}", "--replace", *options, str(mount), str(root),
    ]  # fmt: skip
    with subprocess.Popen(command) as server:
        try:
            until = time.monotonic() + 20
            while not os.path.ismount(mount):
                assert server.poll() is None and time.monotonic() < until, "no mount"
                time.sleep(0.01)
            yield mount
        finally:
            subprocess.run(["fusermount3", "-u", str(mount)], check=False)
            try:
                server.wait(timeout=20)
            except subprocess.TimeoutExpired:
                server.send_signal(signal.SIGKILL)


def patiently(case: Callable[[Place], None]) -> Callable[[Place], None]:
    """The case, up to three times: a machine with much else to do may leave a helper no time,
    and what it then does not do proves nothing.
    """

    def up_to_thrice(place: Place) -> None:
        for left in (2, 1, 0):
            try:
                return case(place)
            except AssertionError as fault:
                if left == 0:
                    raise
                print(f"once more, after: {fault}", file=sys.stderr)
                place.clear()
        return None

    return up_to_thrice


def data_file(place: Place, size: int) -> None:
    (place.scratch / "root").mkdir(exist_ok=True)
    place.right(place.run(place.bin / "planned_reads", place.scratch / "root" / "data", "make",
                          size, preload=False))  # fmt: skip


def plan(place: Place, accesses: list[tuple[int, int]]) -> Path:
    path = place.scratch / "accesses"
    path.write_text("".join(f"{offset} {length}\n" for offset, length in accesses))
    return path


def drive(
    place: Place, mount: Path, accesses: list[tuple[int, int]], method: str = "pread", **env: Any
) -> tuple[int, int]:
    """How many reads were made, and of how many all pages were there before."""
    env.setdefault("IOTUNE_PREFETCH", "pattern")
    done = place.right(
        place.run(place.bin / "planned_reads", mount / "data", plan(place, accesses), method, 1000,
                  PATIENCE_MS if env["IOTUNE_PREFETCH"] == "pattern" else 0, **env)
    )  # fmt: skip
    assert done.said() == [], done.err
    reads, cached, _, _ = map(int, done.out.split())
    return reads, cached


def requests(place: Place, trace: Path) -> list[tuple[int, int, int]]:
    """(process of the trace, offset, length) of each read request, in the order of answers."""
    calls = place.calls(trace)
    reads = [c for c in calls if c["name"] == "pread"]
    return [(c["process"], c["arguments"]["offset"], c["arguments"]["result"]) for c in reads]


def begin(call: dict[str, Any]) -> float:
    """Seconds since 1970: processes of a trace have clocks of their own."""
    return float(call["line"].split()[0])


def notes(place: Place) -> dict[str, Any]:
    (found,) = notes_of_files(place)
    return found


def notes_of_files(place: Place) -> list[dict[str, Any]]:
    return [dict(c["arguments"]) for c in place.calls() if c["name"] == "iotune_prefetch"]


HELPER = """
import os, sys, time, re
def threads():
    return sorted(int(t) for t in os.listdir('/proc/self/task'))
def field(thread, name):
    text = open(f'/proc/self/task/{thread}/status').read()
    return re.search(name + r':\\s*(\\S+)', text)[1]
def read_some(fd, first, count):
    for i in range(first, first + count):
        os.pread(fd, 65536, i * 600_000)
def helpers():
    return [t for t in threads() if t != os.getpid()]
"""


def script(place: Place, mount: Path, text: str, *words: object, **env: Any) -> Done:
    (place.scratch / "script.py").write_text(HELPER + text)
    env.setdefault("IOTUNE_PREFETCH", "pattern")
    done = place.run(
        *words, os.path.realpath(sys.executable), "-S", place.scratch / "script.py",
        mount / "data", **env,
    )  # fmt: skip
    return place.right(done)


CACHE: dict[str, Any] = {"IOTUNE_PREFETCH": "pattern", "IOTUNE_PREFETCH_DELIVERY": "cache"}


def served(place: Place) -> int:
    """Reads that were served, by the run's trace."""
    return sum(int(c["arguments"]["served"]) for c in place.calls()
               if c["name"] == "iotune_prefetch")  # fmt: skip


def read_planned(
    place: Place, mount: Path, accesses: list[tuple[int, int]], method: str, **env: Any
) -> list[str]:
    done = place.right(place.run(place.bin / "planned_reads", mount / "data",
                                 plan(place, accesses), method, 6000, **CACHE, **env))  # fmt: skip
    return done.said()
