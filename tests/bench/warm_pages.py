"""Pages that a virtual machine's host has not taken back, for runs that go through the page cache.

Such a kernel tells its host every two seconds which pages are free, the host takes those, and who
gets one again waits for it, most of all for those that a device has filled. Which pages a run gets
depends on what the run before had: VORPAL's collective read of three files on four fake nodes
without collective buffering took 0.56 to 0.75 s after a run like it, and 0.80 to 1.04 after one
of the default; with pages touched before each run 0.54 to 0.66 after either.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from iotune.models.steady import PAUSE_SECONDS, Pause

# Of a run's files: column-io's default took 0.78 to 0.99 s for 1.0 GiB so, and for 2.0 GiB 1.2 to
# 3.7, for the host may begin to take pages back before such a run's end.
WARM_BYTES = 5 << 28
# Files and buffers, and as much again: the kernel chooses among them.
_MOST_BYTES = 4 << 30
_POPULATE_WRITE = 23  # MADV_POPULATE_WRITE of Linux 5.14; Python has no name for it


class WarmPages:
    """Before each run memory is touched, held until free pages of before are told of, and freed."""

    def __init__(self) -> None:
        self._pause = Pause(PAUSE_SECONDS)

    @contextmanager
    def before_run(self) -> Iterator[None]:
        """The run is what is done within; it begins with up to `_MOST_BYTES` of warm free pages."""
        held = _touched(min(_MOST_BYTES, _available_bytes() // 2))
        with self._pause.before_run():
            held.close()
            yield


def _touched(size_bytes: int) -> mmap.mmap:
    """Large pages, for files are read into such: small ones would be taken from elsewhere."""
    held = mmap.mmap(-1, size_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    try:
        held.madvise(mmap.MADV_HUGEPAGE)
        held.madvise(_POPULATE_WRITE)
    except OSError:  # an older kernel, or one without large pages
        step_bytes = os.sysconf("SC_PAGE_SIZE")
        held[::step_bytes] = bytes(len(range(0, size_bytes, step_bytes)))
    return held


def _available_bytes() -> int:
    """What can be had without anything being written out."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
