"""A file that is there as a whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from iotune.errors import Error


@contextlib.contextmanager
def new_file(target: Path, force: bool) -> Iterator[BinaryIO]:
    """Gives a file beside `target` that takes its name at the end; removed after any failure.

    Raises Error where `target` is there and `force` is not given, and for what the system
    refuses (no room, no permission).
    """
    try:
        if target.exists() and not target.is_file():
            raise Error(f"{target} is no regular file; -o - writes to stdout")
        _refuse_existing(target, force)
        target = target.resolve()  # a link stays one
        number, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as problem:
        raise Error(f"{target}: {problem.strerror}") from None
    try:
        with os.fdopen(number, "wb", buffering=1 << 20) as file:
            yield file
            file.flush()
            # Network file systems tell of a full disk only now.
            os.fsync(file.fileno())
            os.fchmod(file.fileno(), 0o666 & ~_umask())
        _take_name(name, target, force)
    except OSError as problem:
        raise Error(f"{target}: {problem.strerror or problem}") from None
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


def _refuse_existing(target: Path, force: bool) -> None:
    if not force and os.path.lexists(target):
        raise Error(f"{target} is there already; --force replaces it")


def _take_name(name: str, target: Path, force: bool) -> None:
    if not force:
        # A link never replaces what somebody else made meanwhile.
        try:
            os.link(name, target)
            return
        except FileExistsError:
            _refuse_existing(target, force)
        except OSError:  # a file system without links
            _refuse_existing(target, force)
    os.replace(name, target)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
