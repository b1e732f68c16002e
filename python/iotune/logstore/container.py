"""A shared file that is kept as logs, read from Python: logstore/README.md says what that is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

from iotune.core import native_part


class LogWriter(NamedTuple):
    """What a container has of one process that wrote to it; all sizes in bytes."""

    name: str
    entries: int  # writes, truncations and holes
    log_bytes: int
    durable_bytes: int  # of the log, that a sync vouches for
    unplaced_bytes: int  # at the log's end: where they belong is not known
    dropped_bytes: int  # of writes that were not synced and are not there
    missing_bytes: int  # of writes that were synced and are not there
    index_bytes_lost: int  # to damage
    has_index: bool
    is_whole: bool  # all that was synced is there
    is_covered: bool  # by the index that a compaction made


class Compacted(NamedTuple):
    """What a compaction has done; all but the last in bytes."""

    log_bytes_before: int
    log_bytes: int
    index_bytes_before: int
    index_bytes: int
    copied_bytes: int
    removed_logs: int


def is_container(path: str | os.PathLike[str]) -> bool:
    """Whether the directory is a container of the log store, of whatever version."""
    return bool(native_part().LogContainer.is_at(os.fsencode(path)))


class LogContainer:
    """A container as it was when it was opened; later writes need another one.

    Where it is compacted meanwhile it is read again. `verify`: also look how long the logs are that
    a compaction has vouched for. Raises Error where there is none, for a newer version and for one
    that is not to be trusted (links, names that are no files). What is damaged is no error: the
    writers tell.
    """

    def __init__(self, path: str | os.PathLike[str], verify: bool = False) -> None:
        self._native: Any = native_part().LogContainer(os.fsencode(path), verify)
        self.size: int = self._native.size
        self.made_ns: int = self._native.made_ns
        self.id: int = self._native.id
        self.map_bytes: int = self._native.map_bytes  # that the merged index takes in memory
        self.generation: int = self._native.generation  # of compactions; 0: never compacted
        self.index_bytes: int = self._native.merged_bytes + self._native.single_index_bytes
        # Of a program that wrote past the log store; they are no part of the file.
        self.handle_bytes: int = self._native.handle_bytes
        self.merged_damage: str = self._native.merged_damage  # empty where there is none
        self.writers = [LogWriter(*one) for one in self._native.writers()]
        self.strangers: list[str] = self._native.strangers()
        self.spare_files: list[str] = self._native.spare_files()  # that the next compaction removes

    def is_whole(self) -> bool:
        """Whether all that was synced is there."""
        # A process that opened the file and died has left an empty log.
        return not self.merged_damage and all(
            writer.is_whole or not (writer.has_index or writer.log_bytes or writer.index_bytes_lost)
            for writer in self.writers
        )

    def live_bytes(self, exact: bool = False) -> int:
        """How many bytes of the logs the file has; at most so many unless `exact`, which takes a
        walk over all pieces.
        """
        return int(self._native.live_bytes(exact))

    def read(self, offset: int, size: int) -> bytes:
        """The file's bytes, fewer only at its end. Raises Error where some are missing."""
        found: bytes = self._native.read(offset, size)
        return found

    def copy_to(self, descriptor: int, offset: int, length: int, fill_holes: bool = True) -> int:
        """Write a range's bytes to the same place of a file, but for holes; returns how many.

        `fill_holes`: the file has nothing there, and small holes are cheaper filled.
        """
        return int(self._native.copy_to(descriptor, offset, length, fill_holes))


class LogMap:
    """All writes of a container: by writer, in the order in which each made them.

    Of what was compacted, pieces of writes in the file's order, without times.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._native: Any = native_part().LogMapWalk(os.fsencode(path))
        self.has_times: bool = self._native.has_times
        self.writers: list[str] = self._native.names

    def csv(self, rows: int = 1 << 16) -> Iterator[bytes]:
        """A head line, and lines, so many at a time."""
        yield str(self._native.head).encode()
        while True:
            lines: bytes = self._native.lines(rows)
            if not lines:
                return
            yield lines

    def columns(self, rows: int = 1 << 16) -> Iterator[tuple[Any, Any, Any, Any]]:
        """Number of the writer, offset, length, time (ns): buffers of int64, so many at a time."""
        while True:
            columns: tuple[Any, Any, Any, Any] = self._native.columns(rows)
            if not len(memoryview(columns[0])):
                return
            yield columns


def compact(
    path: str | os.PathLike[str], least_live: float = 0.5, keep_indexes: bool = False
) -> Compacted:
    """Make the container smaller: one index in place of many, and logs written anew of which less
    than the share `least_live` is still needed (0: none, above 1: all, as one log).

    `keep_indexes`: the single indexes stay, and all logs. Raises Error, and nothing is lost, where
    somebody has it open for writing, and where there is no room, no permission, or damage.
    """
    done = native_part().compact_log_container(os.fsencode(path), least_live, keep_indexes)
    return Compacted(**done)
