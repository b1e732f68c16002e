"""The lock of a container (logstore/FORMAT.md): who writes shares it, who compacts has it alone."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from iotune.errors import Error

_NO_LOCKS = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK)


@contextlib.contextmanager
def container_lock(container: Path, alone: bool) -> Iterator[None]:
    """Keep compactions away, and with `alone` writers, too. Raises Error where there are some."""
    path = container / "container"
    try:
        # Over NFS a lock that nobody shares needs a descriptor that may write.
        descriptor = os.open(path, os.O_RDWR if alone else os.O_RDONLY)
    except OSError as problem:
        raise Error(f"{path}: {problem.strerror}") from None
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        by = "somebody has it open for writing" if alone else "it is being compacted"
        raise Error(f"{container} is in use: {by}") from None
    except OSError as problem:
        if alone or problem.errno not in _NO_LOCKS:
            os.close(descriptor)
            raise Error(f"{container} cannot be locked: {problem.strerror}") from None
    try:
        yield
    finally:
        os.close(descriptor)
