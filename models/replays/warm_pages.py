"""Pages that a virtual machine's host has not taken back, for runs that go through the page cache.

Its kernel reports every two seconds to the host which pages are free, the host takes those, and a
process that gets one again waits for it, longest for those that a device has filled. Which pages a
run gets depends on what the run before had: VORPAL's collective read of three files on four fake
nodes without collective buffering took 0.56 to 0.75 s after a run like it, and 0.80 to 1.04 after
one of the default; with pages touched before each run 0.54 to 0.66 after either. Replays of
column-io's write, for training, took 0.21 to 0.73 s after mere pauses, and 0.21 to 0.27 so.
"""

from __future__ import annotations

import errno
import mmap
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from iotune.models.replays.page_cache_timing import PAUSE_SECONDS, Pause, slowed_by_page_reporting

from iotune import core

# Files and buffers, and as much again: the kernel chooses among them.
_MOST_BYTES = 4 << 30
_POPULATE_WRITE = 23  # MADV_POPULATE_WRITE of Linux 5.14; Python has no name for it


class Pace(Protocol):
    """What keeps a run's time from depending on the run before."""

    def before_run(self) -> AbstractContextManager[None]:
        """The run is what is done within."""


def pace_of(directory: Path, moved_bytes: int, most_bytes: int = _MOST_BYTES) -> Pace:
    """The pace of runs that write or read so many bytes in files of this directory.

    `most_bytes`: of memory that is touched before each run.
    """
    if slowed_by_page_reporting(directory, moved_bytes):
        return WarmPages(min(most_bytes, _MOST_BYTES))
    return Pause(0.0)


class WarmPages:
    """Before each run memory is touched, held until older free pages are reported, and freed."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._pause = Pause(PAUSE_SECONDS)
        self._most_bytes = most_bytes

    @contextmanager
    def before_run(self) -> Iterator[None]:
        """The run is what is done within; it begins with up to `most_bytes` of warm free pages."""
        held = _touched(min(self._most_bytes, _available_bytes() // 2))
        with self._pause.before_run():
            held.close()
            yield


def _touched(size_bytes: int) -> mmap.mmap:
    """Large pages, for files are read into such: small ones would be taken from elsewhere."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    size_bytes = max(1, size_bytes)
    try:
        held = mmap.mmap(-1, size_bytes, flags=flags)
    except OSError:  # `ulimit -v`: the run does without
        return mmap.mmap(-1, 1, flags=flags)
    try:
        held.madvise(mmap.MADV_HUGEPAGE)
        held.madvise(_POPULATE_WRITE)
    except OSError as problem:
        if problem.errno != errno.EINVAL:  # not an older kernel, or one without large pages
            return held
        step_bytes = os.sysconf("SC_PAGE_SIZE")
        held[::step_bytes] = bytes(len(range(0, size_bytes, step_bytes)))
    return held


def _available_bytes() -> int:
    """What can be had without anything being written out.

    0 in a job whose memory is limited: what it holds already is not known here, and who takes more
    than the rest is killed, or another process of the job is.
    """
    lines = Path("/proc/meminfo").read_text().splitlines()
    bytes_of = {line.split(":")[0]: int(line.split()[1]) << 10 for line in lines}
    limit = core.job_limit_bytes()
    limited = limit is not None and limit < bytes_of["MemTotal"]
    return 0 if limited else bytes_of["MemAvailable"]
