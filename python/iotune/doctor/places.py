"""Checks of the folders that iotune writes to: traces and buffers."""

from __future__ import annotations

import mmap
import os
import tempfile
from pathlib import Path

from iotune import core
from iotune.doctor.check import FAILS, PARTLY, WORKS, Check
from iotune.errors import Error
from iotune.locations import TRACES_CAP_BYTES, buffer_root, traces_dir, why_no_buffers
from iotune.reports.tables import size_text

# Others cannot be mapped without a fault where they are full (core/os/mapped_file.cpp).
_MAPPABLE = ("tmpfs", "ext4", "xfs")
_LEAST_BYTES = 16 << 20
_MAPPED_BYTES = 1 << 16


def places_checks() -> list[Check]:
    """All checks of this file."""
    return [_traces(), _buffers()]


def existing(path: Path) -> Path:
    """The path or the nearest folder above it that is there."""
    whole = path.absolute()
    return next((one for one in (whole, *whole.parents) if one.exists()), Path("/"))


def _traces() -> Check:
    given = os.environ.get("IOTUNE_TRACE", "")
    folder = Path(given).absolute().parent if given else traces_dir()
    there = existing(folder)
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        return Check("traces", PARTLY, f"{there} cannot be written: traces go below /tmp",
                     "`iotune run -o FILE`, or XDG_STATE_HOME on a disk that can be written",
                     str(folder))  # fmt: skip
    try:
        space = os.statvfs(there)
    except OSError as problem:
        return Check("traces", PARTLY, f"{there}: {problem.strerror}", "name another place by -o",
                     str(folder))  # fmt: skip
    free = space.f_bavail * space.f_frsize
    if free < _LEAST_BYTES:
        return Check("traces", PARTLY, f"{size_text(free)} are free: traces may be incomplete",
                     f"make room: iotune keeps {size_text(TRACES_CAP_BYTES)} at most",
                     str(folder))  # fmt: skip
    kind = core.filesystem_of(there)
    return Check("traces", WORKS, f"can be written, {size_text(free)} free on {kind}", "",
                 str(folder))  # fmt: skip


def _buffers() -> Check:
    root = buffer_root()
    why = why_no_buffers()
    elsewhere = "name a folder on tmpfs, ext4 or xfs in IOTUNE_BUFFER_DIR"
    if why:
        return Check("buffers", FAILS, why, elsewhere, str(root))
    there = existing(root)
    kind = core.filesystem_of(there)
    if kind not in _MAPPABLE:
        return Check("buffers", FAILS, f"on {kind}, where a full disk would end the program",
                     elsewhere, str(root))  # fmt: skip
    try:
        with tempfile.TemporaryFile(dir=there) as file:
            os.posix_fallocate(file.fileno(), 0, _MAPPED_BYTES)
            with mmap.mmap(file.fileno(), _MAPPED_BYTES) as memory:
                memory[-1] = 1
    except (OSError, ValueError, Error) as problem:
        return Check("buffers", FAILS, f"a file cannot be mapped: {problem}", elsewhere, str(root))
    space = os.statvfs(there)
    free = size_text(space.f_bavail * space.f_frsize)
    return Check("buffers", WORKS, f"{kind} of this node, {free} free, can be mapped", "",
                 str(root))  # fmt: skip
