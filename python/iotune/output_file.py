"""Files that a user named for a result: each is there as a whole or not at all.

The one rule for every command: a result takes the place of nothing, or of a regular file of this
user's under that very name, by rename from a new file in the same folder. recorder/replaceable.h is
the twin for traces.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from iotune.errors import Error


def demand_replaceable(target: Path, force: bool = True) -> None:
    """Raise Error where a result must not take the place of what is at `target`.

    A rename would remove a device or a FIFO, and a link may lead anywhere. Without `force` nothing
    may be there at all.
    """
    try:
        found = target.lstat()
    except FileNotFoundError:
        _demand_folder(target)
        return
    except OSError as problem:
        raise Error(f"{target}: {problem.strerror}") from None
    except ValueError:
        raise Error(f"{str(target)!r} is no name of a file") from None
    why = _why_kept(found)
    if why:
        raise Error(f"{target} is left alone: {why}")
    if not force:
        raise Error(f"{target} is there already; --force replaces it")


def _why_kept(found: os.stat_result) -> str:
    if stat.S_ISLNK(found.st_mode):
        return "it is a symbolic link: name the file itself"
    if stat.S_ISDIR(found.st_mode):
        return "it is a directory"
    if not stat.S_ISREG(found.st_mode):
        return "it is no regular file (-o - writes to stdout)"
    if found.st_uid != os.geteuid():
        return "it belongs to another user"
    return ""


def _demand_folder(target: Path) -> None:
    if not target.name or target.name == "..":
        raise Error(f"{str(target)!r} is no name of a file")
    if not target.parent.is_dir():
        raise Error(f"{target.parent}: no such directory")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise Error(f"{target.absolute().parent} may not be written: -o names another place")


@contextlib.contextmanager
def new_file(target: Path, force: bool = True) -> Iterator[BinaryIO]:
    """Gives a file beside `target` that takes its name at the end; removed after any failure.

    Raises Error where `target` may not be replaced (demand_replaceable), and for what the system
    refuses (no room, no permission).
    """
    demand_replaceable(target, force)
    try:
        # A name of its own length: the target's may be as long as names can be.
        number, name = tempfile.mkstemp(prefix=".iotune-", suffix=".part", dir=target.parent)
    except OSError as problem:
        raise Error(f"{target}: {problem.strerror}") from None
    try:
        with os.fdopen(number, "wb", buffering=1 << 20) as file:
            yield file
            file.flush()
            # Network file systems tell of a full disk only now.
            os.fsync(file.fileno())
            os.fchmod(file.fileno(), _mode_for(target))
        take_name(name, target, force)
    except OSError as problem:
        raise Error(f"{target}: {problem.strerror or problem}") from None
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


def write_text(target: Path, text: str, force: bool = True) -> None:
    """Write a document; bytes that came as surrogates leave as they were. Raises Error."""
    with new_file(target, force) as file:
        file.write(text.encode("utf-8", "surrogateescape"))


def _mode_for(target: Path) -> int:
    """Who may read it: as before where it replaces a file."""
    try:
        return stat.S_IMODE(target.lstat().st_mode) & 0o777
    except FileNotFoundError:
        return 0o666 & ~_umask()


def take_name(name: str, target: Path, force: bool) -> None:
    """Give a finished file, which lies in the same folder or file system, the target's name.

    Without `force` never over what is there. Raises Error, and OSError for what the system refuses.
    """
    # The write may have taken long: what is there now decides.
    demand_replaceable(target, force)
    if not force:
        # A link never replaces what somebody else made meanwhile.
        try:
            os.link(name, target)
            return
        except FileExistsError:
            demand_replaceable(target, force)
        except OSError:  # a file system without links
            demand_replaceable(target, force)
    os.replace(name, target)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
