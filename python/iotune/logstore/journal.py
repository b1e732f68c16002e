"""What a killed run had gathered and not written yet: written into its file from the log beside it.

IOTUNE_GATHER=log keeps it in DIRECTORY/.NAME.iotune, a container of the log store. Of the file no
byte is touched that the log does not have.
"""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

from iotune.errors import Error
from iotune.logstore.container import LogContainer, is_container
from iotune.logstore.locks import container_lock
from iotune.output_file import demand_replaceable


def journal_of(file: Path) -> Path:
    """Where the log of what is gathered for `file` lies."""
    return file.parent / f".{file.name}.iotune"


def has_journal(file: Path) -> bool:
    """Whether an ordinary file has such a log beside it."""
    try:
        return stat.S_ISREG(os.stat(file).st_mode) and is_container(journal_of(file))
    except OSError:
        return False


def complete(file: Path, copy: Path | None = None, force: bool = False) -> int:
    """Write into `file`, or into a `copy` of it, what its log has; returns its size in bytes.

    Without a copy the log goes when all of it is on the storage. Raises Error where the log is in
    use or has lost bytes; the file is as it was then.
    """
    journal = journal_of(file)
    with container_lock(journal, alone=True):
        log = LogContainer(journal, verify=True)
        if not log.is_whole():
            raise Error(f"{journal} has lost bytes: see iotune log verify")
        try:
            if copy is not None:
                demand_replaceable(copy, force)
                shutil.copyfile(file, copy)
            descriptor = os.open(copy or file, os.O_WRONLY)
            try:
                log.copy_to(descriptor, 0, log.size, fill_holes=False)
                os.fsync(descriptor)
                size = os.fstat(descriptor).st_size
            finally:
                os.close(descriptor)
            if copy is None:
                shutil.rmtree(journal)
        except OSError as problem:
            raise Error(f"{problem.filename or copy or file}: {problem.strerror}") from None
    return size
