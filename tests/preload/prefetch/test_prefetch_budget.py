"""The budget that the processes of a node share under IOTUNE_PREFETCH_SCHEDULE=ours.

Its table is a file beside the buffers (prefetch/budget/budget_table.h): read and written here as
another process does.
"""

from __future__ import annotations

import mmap
import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.place import Place, main
from support.prefetching import (
    BLOCK,
    begin,
    data_file,
    drive,
    fuse_works,
    mounted,
    patiently,
    plan,
    requests,
    script,
)

OURS: dict[str, Any] = {"IOTUNE_PREFETCH": "pattern", "IOTUNE_PREFETCH_SCHEDULE": "ours"}
MOST = 32  # requests at once on one node
PROCESSES, PROCESS_BYTES, STORAGES_END = 256, 128, 128 + 16 * 256
TABLE_BYTES = STORAGES_END + PROCESSES * PROCESS_BYTES


def table_path(place: Place) -> Path:
    space = os.readlink("/proc/self/ns/pid").strip("pid:[]")
    return place.buffers / f"prefetch-budget-2-{space}"


def uses(place: Place) -> list[tuple[int, list[tuple[int, int, int]]]]:
    """(owner, [(device, requests, transfers)]) of each entry that has an owner."""
    content = table_path(place).read_bytes()
    assert len(content) == TABLE_BYTES, len(content)
    found = []
    for at in range(STORAGES_END, TABLE_BYTES, PROCESS_BYTES):
        words = struct.unpack_from("=Q" + "QII" * 4, content, at)
        if words[0]:
            found.append((words[0], list(zip(words[1::3], words[2::3], words[3::3], strict=True))))
    return found


def owner_of(thread: int) -> int:
    fields = Path(f"/proc/{thread}/stat").read_text().rsplit(")", 1)[1].split()
    return thread << 32 | int(fields[19]) & 0xFFFFFFFF


@contextmanager
def entry(place: Place, owner: int, device: int, count: int) -> Iterator[None]:
    """The last entry says that `owner` has so many requests under way on `device`."""
    path = table_path(place)
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    os.truncate(fd, TABLE_BYTES)
    with mmap.mmap(fd, TABLE_BYTES) as table:
        os.close(fd)
        at = TABLE_BYTES - PROCESS_BYTES
        struct.pack_into("=QQII", table, at, owner, device, count, 0)
        struct.pack_into("=I", table, 0, PROCESSES)
        yield
        assert struct.unpack_from("=I", table, at + 16)[0] in (count, 0)


def ended_process() -> int:
    """An owner that was killed, and is no more."""
    with subprocess.Popen(["sleep", "60"]) as process:
        owner = owner_of(process.pid)
        process.kill()
    return owner


@patiently
def others(place: Place) -> None:
    """What another process has under way leaves no room; what a killed one had does."""
    if not fuse_works(place):
        return
    data_file(place, 64 << 20)
    accesses = [(i * 147 * 4096, BLOCK) for i in range(60)]
    for owner, alive in ((owner_of(os.getpid()), True), (ended_process(), False)):
        trace = place.scratch / "fuse.iotrace"
        with mounted(place, trace, 2) as mount, entry(place, owner, os.stat(mount).st_dev, MOST):
            if alive:
                words = (place.bin / "planned_reads", mount / "data", plan(place, accesses))
                done = place.right(place.run(*words, "pread", 0, **OURS))
                assert done.said() == []
            else:
                _, cached = drive(place, mount, accesses, **OURS)
                assert cached >= 50, cached
        made = requests(place, trace)
        if alive:
            assert {process for process, _, _ in made} == {made[0][0]}, "a request for nobody"
    assert all(owner != one for one, _ in uses(place)), "the killed one's entry is still there"


@patiently
def cache(place: Place) -> None:
    """What is read into the cache is within the budget, too."""
    if not fuse_works(place):
        return
    data_file(place, 64 << 20)
    for owner, alive in ((owner_of(os.getpid()), True), (ended_process(), False)):
        trace = place.scratch / "fuse.iotrace"
        with mounted(place, trace, 2) as mount, entry(place, owner, os.stat(mount).st_dev, MOST):
            script(
                place, mount,
                """
good = open(os.path.dirname(sys.argv[1]) + '/../root/data', 'rb').read()
fd = os.open(sys.argv[1], os.O_RDONLY)
for i in range(60):
    assert os.pread(fd, 65536, i * 600_000) == good[i * 600_000:i * 600_000 + 65536]
    time.sleep(0.005)
os.close(fd)
""",
                IOTUNE_PREFETCH_DELIVERY="cache", **OURS,
            )  # fmt: skip
        made = [process for process, _, _ in requests(place, trace)]
        ahead = [process for process in made if process != made[0]]
        assert len(ahead) == 0 if alive else len(ahead) >= 30, len(ahead)


@patiently
def together(place: Place) -> None:
    """Three processes have no more under way than one may; without the table they have."""
    if not fuse_works(place):
        return
    data_file(place, 96 << 20)
    (place.scratch / "reads.py").write_text(
        """
import os, sys, time
fd = os.open(sys.argv[1], os.O_RDONLY)
for i in range(9):
    os.pread(fd, 2 << 20, (int(sys.argv[2]) * 10 + i) * (3 << 20))
    time.sleep(0.05)
os.close(fd)
time.sleep(1)  # what is under way at the very end would be given back by the next process
"""
    )
    for has_table in (True, False):
        if not has_table:
            table_path(place).unlink()
            table_path(place).mkdir()
        trace = place.scratch / "fuse.iotrace"
        # So slow that the readers' requests meet, however unevenly a busy machine runs them.
        with mounted(place, trace, 20 if has_table else 100) as mount:
            readers = [start(place, mount / "data", number) for number in range(3)]
            for reader in readers:
                _, err = reader.communicate(timeout=60)
                assert reader.returncode == 0 and not err, err
        made = [c for c in place.calls(trace) if c["name"] == "pread"]
        most = most_at_once(made, {reader.pid for reader in readers})
        if has_table:
            assert 1 < most <= MOST, f"{most} requests at once"
            left = [use for _, found in uses(place) for use in found if use[1] or use[2]]
            assert not left, f"never given back: {left}"
        else:
            assert most > MOST, f"{most} requests at once without a budget"


def most_at_once(calls: list[dict[str, Any]], programs: set[int]) -> int:
    """Requests of other threads than these that are under way at one moment."""
    moments = []
    for call in calls:
        if call["pid"] not in programs:
            at = begin(call)
            # The reader knows of the answer before who answers has looked at the clock.
            moments += [(at, 1), (at + 0.75 * call["duration_ns"] * 1e-9, -1)]
    now = most = 0
    for _, change in sorted(moments):
        now += change
        most = max(most, now)
    return most


def start(place: Place, file: Path, number: int) -> subprocess.Popen[str]:
    env = place.environment(preload=True, **OURS,
                            IOTUNE_TRACE=place.scratch / f"{number}.iotrace")  # fmt: skip
    return subprocess.Popen(
        [os.path.realpath(sys.executable), "-S", place.scratch / "reads.py", file, str(number)],
        env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


@patiently
def fork(place: Place) -> None:
    """A child has an entry of its own, its parent keeps its own, and both give all back."""
    if not fuse_works(place):
        return
    data_file(place, 64 << 20)
    with mounted(place, place.scratch / "fuse.iotrace", 2) as mount:
        script(
            place, mount,
            """
fd = os.open(sys.argv[1], os.O_RDONLY)
read_some(fd, 0, 30)
assert len(helpers()) == 2, helpers()
child = os.fork()
if child == 0:
    assert helpers() == []
    mine = os.open(sys.argv[1], os.O_RDONLY)
    read_some(mine, 40, 30)
    assert len(helpers()) == 2, helpers()
    os.close(mine)
    os._exit(7)
assert os.waitpid(child, 0)[1] == 7 << 8
read_some(fd, 30, 10)
os.close(fd)
time.sleep(0.1)
""",
            **OURS,
        )  # fmt: skip
    found = uses(place)
    assert len(found) == 2, found
    assert not [use for _, of in found for use in of if use[1] or use[2]], found


@patiently
def without(place: Place) -> None:
    """Where the table cannot be had, or is a link of who knows whose, all is as it was."""
    if not fuse_works(place):
        return
    data_file(place, 64 << 20)
    accesses = [(i * 147 * 4096, BLOCK) for i in range(60)]
    elsewhere = place.scratch / "elsewhere"
    for kind in ("folder", "link", "readable"):
        path = table_path(place)
        if kind == "folder":
            path.mkdir()
        elif kind == "link":
            path.symlink_to(elsewhere)
        else:
            path.touch(mode=0o644)
        with mounted(place, place.scratch / "fuse.iotrace", 2) as mount:
            _, cached = drive(place, mount, accesses, **OURS)
        assert cached >= 50, (kind, cached)
        assert not elsewhere.exists()
        if kind == "folder":
            path.rmdir()
        else:
            assert path.lstat().st_size in (0, len(str(elsewhere)))
            path.unlink()


if __name__ == "__main__":
    main({"others": others, "cache": cache, "together": together, "fork": fork, "without": without})
