"""A file that is kept as logs as an ordinary file: by many ranks, and in several attempts.

The copy grows in a directory beside its place. Pieces that are on the storage are noted there, so
that the same command goes on after a kill; the copy takes its name as a whole, by rename.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from iotune.analysis.launched import Abandoned, Exchange, Ranks
from iotune.core import native_part
from iotune.errors import Error
from iotune.logstore.container import LogContainer, is_container
from iotune.logstore.locks import container_lock
from iotune.output_file import demand_replaceable, take_name
from iotune.reports.tables import size_text
from iotune.talk import say

# Ranks and later attempts share the work in pieces: at most so large, and where the file is small
# at least so large.
PIECE_BYTES, LEAST_PIECE_BYTES = 64 << 20, 4 << 20
_PLAN, _PART, _MOVED, _COMPLETE = "plan.json", "part", "container", "complete"


def work_directory(copy: Path) -> Path:
    """Where a copy grows: beside its place, under a name that the next attempt finds."""
    name = f"{copy.name}.flattening"
    if len(os.fsencode(name)) > 255:
        digest = hashlib.sha256(os.fsencode(copy.name)).hexdigest()
        name = f"{digest[:32]}.flattening"
    return copy.absolute().parent / name


def state_of(container: Path) -> str:
    """A word that changes with whatever is written to the container."""
    found = hashlib.sha256()
    with os.scandir(container) as entries:
        for entry in sorted(entries, key=lambda one: one.name):
            if entry.name.endswith((".log", ".index")):
                about = entry.stat(follow_symlinks=False)
                found.update(f"{entry.name}\0{about.st_size}\0".encode("utf-8", "surrogateescape"))
    return found.hexdigest()


def flatten(source: Path, copy: Path, ranks: Ranks, force: bool = False) -> int:
    """Make an ordinary file of the container `source`; returns its size in bytes.

    `copy` equal to `source`: the file takes the container's place, which nobody may have open for
    writing. Every rank calls it. Raises Error, and Abandoned on ranks other than the one that
    failed.
    """
    return _Flattening(source, copy, ranks, force).run()


class _Flattening:
    def __init__(self, source: Path, copy: Path, ranks: Ranks, force: bool):
        self._source = source.absolute()
        self._copy = copy.absolute()
        self._ranks = ranks
        self._force = force
        self._in_place = self._source == self._copy
        self._work = work_directory(copy)
        self._part = self._work / _PART
        self._is_anothers = False

    def run(self) -> int:
        if not is_container(self._source) and not (self._work / _COMPLETE).exists():
            kind = Error if self._ranks.rank == 0 else Abandoned
            raise kind(f"{self._source} is no container")
        if self._ranks.rank != 0:
            return self._run_ranks()
        self._make_work()
        try:
            size = self._run_alone() if self._ranks.size == 1 else self._run_ranks()
        except BaseException:
            # Without a plan there is nothing that another attempt could go on with.
            if not self._is_anothers and not (self._work / _PLAN).exists():
                shutil.rmtree(self._work, ignore_errors=True)
            raise
        shutil.rmtree(self._work)
        return size

    def _run_alone(self) -> int:
        with self._prepared() as plan:
            self._copy_pieces(plan)
            self._finish(plan)
        return int(plan["size"])

    def _run_ranks(self) -> int:
        remedy = "for the copy"
        with Exchange(self._work, self._ranks, work="flatten", remedy=remedy) as exchange:
            if self._ranks.rank == 0:
                with self._prepared() as plan:
                    exchange.publish(plan)
                    self._copy_pieces(plan)
                    others = range(1, self._ranks.size)
                    exchange.wait_for(exchange.folder / f"copied-{rank}" for rank in others)
                    self._finish(plan)
            else:
                plan = exchange.plan()
                self._copy_pieces(plan)
                (exchange.folder / f"copied-{self._ranks.rank}").touch()
        return int(plan["size"])

    def _make_work(self) -> None:
        try:
            self._work.mkdir(mode=0o700, exist_ok=True)
        except OSError as problem:
            raise Error(f"{self._work}: {problem.strerror}") from None

    @contextlib.contextmanager
    def _prepared(self) -> Iterator[dict[str, Any]]:
        """The directory and the plan, while nobody else flattens or compacts."""
        if not is_container(self._source) and self._in_place:
            self._finish_replacing()
        if not self._in_place:
            demand_replaceable(self._copy, self._force)
        with container_lock(self._source, alone=self._in_place):
            container = LogContainer(self._source, verify=True)
            if not container.is_whole():
                raise Error(f"{self._source} has lost bytes: see iotune log verify")
            if container.handle_bytes:
                raise Error(
                    f"{self._source}: handle has bytes that were written past the log store and "
                    "are no part of the file; once it is empty the file can be flattened"
                )
            plan = {
                "source": os.fsdecode(self._source),
                "id": container.id,
                "size": container.size,
                "state": state_of(self._source),
                "piece": _piece_bytes(container.size),
            }
            try:
                with self._alone():
                    self._take_up(plan, container)
                    yield plan
            except OSError as problem:
                where = problem.filename or self._work
                raise Error(f"{os.fsdecode(where)}: {problem.strerror or problem}") from None

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        with (self._work / "lock").open("wb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self._is_anothers = True
                raise Error(f"{self._work}: somebody else makes the same copy") from None
            except OSError:  # a file system without locks
                pass
            yield

    def _take_up(self, plan: dict[str, Any], container: LogContainer) -> None:
        """Go on where an earlier attempt of the same file was ended, or begin."""
        before = self._work / _PLAN
        with contextlib.suppress(OSError, ValueError):
            if json.loads(before.read_text("utf-8", "surrogateescape")) == plan:
                self._demand_room(container, os.stat(self._part).st_blocks * 512)
                done = len(self._done())
                if done:
                    pieces = _pieces_of(plan)
                    say(f"{done} of {pieces} pieces are there from an earlier attempt")
                return
        for name in os.listdir(self._work):
            if name.startswith("done-") or name in (_PLAN, _PART, _COMPLETE):
                (self._work / name).unlink()
        self._demand_room(container, 0)
        descriptor = os.open(self._part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.ftruncate(descriptor, container.size)
        finally:
            os.close(descriptor)
        before.write_text(json.dumps(plan), "utf-8", "surrogateescape")

    def _demand_room(self, container: LogContainer, there: int) -> None:
        """Holes stay holes: no more is needed than is live."""
        room = os.statvfs(self._work)
        free = room.f_bavail * room.f_frsize
        if container.live_bytes() - there <= free:
            return
        needed = container.live_bytes(exact=True) - there
        if needed > free:
            raise Error(
                f"{self._work.parent} has no room for {size_text(needed)}: "
                f"{size_text(free)} are free"
            )

    def _done(self) -> set[int]:
        """Pieces that are on the storage, no matter who copied them."""
        done: set[int] = set()
        for path in self._work.glob("done-*"):
            for line in path.read_text("ascii", "replace").split("\n")[:-1]:
                if line.isdecimal():
                    done.add(int(line))
        return done

    def _copy_pieces(self, plan: dict[str, Any]) -> None:
        container = LogContainer(self._source)
        if container.size != plan["size"] or state_of(self._source) != plan["state"]:
            raise Error(f"{self._source} is being written to: flatten it later, or by one rank")
        done = self._done()
        journal = self._work / f"done-{self._ranks.rank}-{os.getpid()}"
        try:
            with self._part.open("r+b", buffering=0) as part, journal.open("wb", 0) as notes:
                for piece in range(self._ranks.rank, _pieces_of(plan), self._ranks.size):
                    if piece in done:
                        continue
                    container.copy_to(part.fileno(), piece * plan["piece"], plan["piece"])
                    os.fdatasync(part.fileno())
                    notes.write(f"{piece}\n".encode())
        except OSError as problem:
            raise Error(f"{self._part}: {problem.strerror}; {self._advice()}") from None
        except Error as problem:
            raise Error(f"{problem}; {self._advice()}") from None

    def _advice(self) -> str:
        return f"what was copied stays in {self._work}, and the same command goes on"

    def _finish(self, plan: dict[str, Any]) -> None:
        if len(self._done()) != _pieces_of(plan):
            raise Error(f"{self._work} has not all pieces: run the command again")
        with self._part.open("r+b") as part:
            native_part().take_log_attributes(os.fsencode(self._source), part.fileno())
            os.fsync(part.fileno())
        if self._in_place:
            (self._work / _COMPLETE).touch()
            self._replace()
        else:
            take_name(os.fspath(self._part), self._copy, self._force)
        _sync_directory(self._work.parent)

    def _replace(self) -> None:
        """Container and copy change places; where that cannot be at once, one after the other."""
        done = native_part().exchange_names(os.fsencode(self._part), os.fsencode(self._source))
        if not done:
            os.rename(self._source, self._work / _MOVED)
            os.rename(self._part, self._source)

    def _finish_replacing(self) -> None:
        """An earlier attempt was ended between the copy and the container's removal."""
        if not (self._work / _COMPLETE).exists():
            raise Error(f"{self._source} is no container")
        if not self._source.exists() and self._part.is_file():
            os.rename(self._part, self._source)
        if stat.S_ISREG(os.lstat(self._source).st_mode):
            shutil.rmtree(self._work, ignore_errors=True)
            raise Replaced(self._source)
        raise Error(f"{self._source} is no container")


class Replaced(Exception):
    """The container has already become the file, by an earlier attempt that this one has ended."""


def _pieces_of(plan: dict[str, Any]) -> int:
    return int(-(-plan["size"] // plan["piece"]))


def _piece_bytes(size: int) -> int:
    """By the file alone: the next attempt may have another number of ranks."""
    return min(PIECE_BYTES, max(LEAST_PIECE_BYTES, -(-size // 64)))


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
