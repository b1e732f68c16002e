"""Logged files on a file system whose clients keep what they once knew, as NFS's do.

Two mounts of one folder stand for two nodes (programs/logstore/lazy_mount.c). What a program
closed or synced on one of them, or wrote before it gave back a lock, a program that opens or locks
the file afterwards on the other one sees. Writes leave the first one when their file is closed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from support.place import Place, main, not_verified
from support.small_disks import mounted

# Obeys lines of stdin, and answers each with one.
OBEDIENT = """
import fcntl, os, sys
path, fd = sys.argv[1], -1
for line in sys.stdin:
    word, *rest = line.split()
    if word == "open":
        fd = os.open(path, os.O_RDWR | os.O_CREAT)
        print("opened", flush=True)
    elif word == "close":
        try:
            os.close(fd)
            print("closed", flush=True)
        except OSError as problem:
            print(problem.strerror, flush=True)
    elif word == "write":
        for part in range(int(rest[2]) if rest[2:] else 1):
            os.pwrite(fd, rest[1].encode() * 1000, int(rest[0]) + 1000 * part)
        print("written", flush=True)
    elif word == "sync":
        os.fsync(fd)
        print("synced", flush=True)
    elif word == "lock":
        fcntl.flock(fd, fcntl.LOCK_EX)
        print("locked", flush=True)
    elif word == "unlock":
        fcntl.flock(fd, fcntl.LOCK_UN)
        print("unlocked", flush=True)
    elif word == "size":
        print(os.fstat(fd).st_size, os.stat(path).st_size, flush=True)
    elif word == "read":
        got = os.pread(fd, 1 << 20, 0)
        print(*(f"{chr(one)}{got.count(one)}" for one in sorted(set(got))), flush=True)
"""


@contextlib.contextmanager
def nodes(place: Place) -> Iterator[list[Path] | None]:
    """Two mounts of one folder; None, and a line, where there can be none."""
    program = place.bin / "lazy_mount"
    if not program.exists() or shutil.which("fusermount3") is None:
        not_verified("a lazy file system wants libfuse 3")
        yield None
        return
    root = place.scratch / "root"
    root.mkdir(exist_ok=True)
    points = [place.scratch / name for name in ("one", "other")]
    mounts: list[subprocess.Popen[bytes]] = []
    try:
        for point in points:
            point.mkdir()
            command = [str(program), str(root), str(point), "-f"]
            late = {"LAZY_WRITES": "1"} if not mounts else {}
            env = {**os.environ, **late}
            mounts.append(subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL))
            while not point.is_mount() and mounts[-1].poll() is None:
                time.sleep(0.01)
        if any(mount.poll() is not None for mount in mounts):
            not_verified("this user may not mount a lazy file system")
            yield None
        else:
            yield points
    finally:
        for process in Program.running:
            process.kill()
            process.wait()
        Program.running.clear()
        for point, mount in zip(points, mounts):
            subprocess.run(["fusermount3", "-u", "-z", str(point)], check=False)
            mount.wait()


class Program:
    """One that obeys, with its files kept as logs."""

    running: ClassVar[list[subprocess.Popen[str]]] = []  # those that a failed test leaves

    def __init__(self, place: Place, folder: Path) -> None:
        # Whole containers alone: who compacts would rename files under a mount that looks late.
        env = place.environment(preload=True, IOTUNE_LOGSTORE=folder, IOTUNE_LOGSTORE_CLOSE="keep")
        command = [sys.executable, "-c", OBEDIENT, str(folder / "f")]
        self._process = subprocess.Popen(
            command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.running.append(self._process)

    def __call__(self, line: str) -> str:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline().strip()
        assert answer, f"{line}: the program has ended"
        return answer

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait() == 0
        self.running.remove(self._process)


def seen_when_opened(place: Place) -> None:
    """Who opens the file sees what was synced before, by a new writer and by one that goes on."""
    with nodes(place) as points:
        if points is None:
            return
        writer, reader = (Program(place, point) for point in points)
        for line in ("open", "write 0 a", "sync"):
            writer(line)
        assert reader("open") == "opened"
        assert reader("read") == "a1000"
        assert reader("size") == "1000 1000"
        for line in ("write 1000 b", "sync"):
            writer(line)
        reader("close")
        reader("open")
        assert reader("read") == "a1000 b1000"
        assert reader("size") == "2000 2000"
        # A directory's time says whether there are new names: a third program is one.
        time.sleep(2.1)
        reader("close")
        reader("open")
        assert reader("read") == "a1000 b1000"
        third = Program(place, points[0])
        for line in ("open", "write 2000 c", "close"):
            third(line)
        third.end()
        reader("close")
        reader("open")
        assert reader("read") == "a1000 b1000 c1000"
        writer.end()
        reader.end()


def seen_when_closed(place: Place) -> None:
    """Who makes a file and has it open is found by others; what it closed, they see."""
    with nodes(place) as points:
        if points is None:
            return
        writer, reader = (Program(place, point) for point in points)
        assert writer("open") == "opened"
        assert reader("open") == "opened"
        for turn in range(3):
            writer(f"write {1000 * turn} {chr(97 + turn)}")
            writer("close")
            writer("open")
            reader("close")
            reader("open")
            wanted = " ".join(f"{chr(97 + at)}1000" for at in range(turn + 1))
            assert reader("read") == wanted
        writer.end()
        reader.end()


def seen_when_locked(place: Place) -> None:
    """Who takes a lock sees what was written before it was given back."""
    with nodes(place) as points:
        if points is None:
            return
        writer, reader = (Program(place, point) for point in points)
        writer("open")
        reader("open")
        for turn in range(4):
            writer("lock")
            writer(f"write {1000 * turn} {chr(97 + turn)}")
            writer("unlock")
            wanted = " ".join(f"{chr(97 + at)}1000" for at in range(turn + 1))
            reader("lock")
            assert reader("read") == wanted
            reader("unlock")
        writer.end()
        reader.end()


def told_when_closed(place: Place) -> None:
    """A storage that has no room says so when the file is closed, and the program is told."""
    with mounted(place, "tmpfs", "size=1m") as disk:
        if disk is None:
            return
        (place.scratch / "root").symlink_to(disk)
        with nodes(place) as points:
            if points is None:
                return
            writer = Program(place, points[0])
            writer("open")
            writer("write 0 a")
            assert writer("close") == "closed"
            writer("open")
            writer("write 1000 b 3000")
            assert writer("close") == "No space left on device"
            reader = Program(place, points[1])
            reader("open")
            assert reader("read") == "a1000"
            reader.end()


def draft_of(file: Path) -> Path:
    """The directory that all who make this file agree on (make_container.cpp)."""
    number = 0xCBF29CE484222325
    for byte in file.name.encode():
        number = (number ^ byte) * 0x100000001B3 % (1 << 64)
    return file.parent / f".iotune-{number:016x}.draft"


def waits_for_its_maker(place: Place) -> None:
    """A new file that another process is making is that one's."""
    with nodes(place) as points:
        if points is None:
            return
        folder, elsewhere = points[0], points[0] / "elsewhere"
        elsewhere.mkdir()
        maker = Program(place, elsewhere)
        for line in ("open", "write 0 a", "close"):
            maker(line)
        maker.end()
        assert sorted(os.listdir(elsewhere)) == ["f"]
        draft = draft_of(folder / "f")
        draft.mkdir()
        program = Program(place, folder)
        opened: list[str] = []
        waiting = threading.Thread(target=lambda: opened.append(program("open")))
        waiting.start()
        time.sleep(0.5)
        assert opened == [] and not (folder / "f").exists()
        (elsewhere / "f").rename(folder / "f")
        draft.rmdir()
        waiting.join()
        assert program("read") == "a1000"
        program.end()


if __name__ == "__main__":
    main(
        {
            "waits-for-its-maker": waits_for_its_maker,
            "seen-when-opened": seen_when_opened,
            "seen-when-closed": seen_when_closed,
            "seen-when-locked": seen_when_locked,
            "told-when-closed": told_when_closed,
        }
    )
