"""A shared file that is kept as logs, read from Python: logstore/README.md says what that is."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from iotune.core import as_error, native_part


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


def is_container(path: str | os.PathLike[str]) -> bool:
    """Whether the directory is a container of the log store, of whatever version."""
    return bool(native_part().LogContainer.is_at(os.fsencode(path)))


class LogContainer:
    """A container as it was when it was opened; later writes need another one.

    Raises Error where there is none, for a newer version and for one that is not to be trusted
    (links, names that are no files). What is damaged is no error: the writers tell.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        with as_error():
            self._native: Any = native_part().LogContainer(os.fsencode(path))
        self.size: int = self._native.size
        self.made_ns: int = self._native.made_ns
        self.id: int = self._native.id
        self.map_bytes: int = self._native.map_bytes  # that the merged index takes in memory
        # Of a program that wrote past the log store; they are no part of the file.
        self.handle_bytes: int = self._native.handle_bytes
        self.writers = [LogWriter(*one) for one in self._native.writers()]
        self.strangers: list[str] = self._native.strangers()

    def is_whole(self) -> bool:
        """Whether all that was synced is there."""
        return all(writer.is_whole for writer in self.writers)

    def read(self, offset: int, size: int) -> bytes:
        """The file's bytes, fewer only at its end. Raises Error where some are missing."""
        with as_error():
            found: bytes = self._native.read(offset, size)
        return found
