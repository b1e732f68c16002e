"""What besides a setting changes the times of writes through the page cache, and how runs avoid it.

Some hundred MiB reach the kernel's pages within hundredths of a second. Two things then change the
time by more than most settings do. The first is whatever a process does for the first time: so a
run writes short files several times over. The second is free page reporting: a virtual machine's
kernel reports pages that were free for long to its host, the host takes them, and a process that
gets one again waits for it. Two seconds after its end a run's pages are reported. So the next run
begins later than that, and with pages that were touched for it (warm_pages.py).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from iotune import core

# How often the first run writes its files. Their shortest time counts, for the first one is cold.
FIRST_RUN_REPEATS = 3
LONG_ENOUGH_SECONDS = 0.3
MOST_REPEATS = 9
# Writes end in the kernel's pages. Those of a disk's files are written out later.
_DISK = ("ext4", "xfs", "btrfs", "f2fs", "overlay")
_MEMORY = ("tmpfs", "ramfs")
PAUSE_SECONDS = 2.3
# Pages for fewer bytes are at hand: the kernel need not give any that the host took.
_MANY_BYTES = 64 << 20


class Pause:
    """So many seconds at least from the end of a run to the beginning of the next."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._ended = -math.inf  # monotonic

    @contextmanager
    def before_run(self) -> Iterator[None]:
        """Wait; the run is what is done within."""
        time.sleep(max(0.0, self._ended + self.seconds - time.monotonic()))
        try:
            yield
        finally:
            self._ended = time.monotonic()


def is_page_cached(directory: Path) -> bool:
    """Whether a write to a file of `directory` takes the time of memory."""
    return core.filesystem_of(directory) in (*_DISK, *_MEMORY)


def repeats_for(seconds: float) -> int:
    """How often a run writes files that take `seconds`, so that it takes LONG_ENOUGH_SECONDS.

    An odd number. From three times on the median counts, so that one slow time does no harm.
    """
    times = math.ceil(LONG_ENOUGH_SECONDS / max(seconds, 1e-6))
    return min(MOST_REPEATS, times + 1 - times % 2) if times > 1 else 1


def slowed_by_page_reporting(directory: Path, moved_bytes: int) -> bool:
    """Whether runs that write or read so many bytes there may get pages that the host took.

    On file systems in memory they do not: 0.10 to 0.12 s with any pause.
    """
    if moved_bytes < _MANY_BYTES or core.filesystem_of(directory) not in _DISK:
        return False
    return _reports_free_pages()


def _reports_free_pages() -> bool:
    """Whether this is a virtual machine whose kernel reports free pages to its host."""
    try:
        words = Path("/proc/cpuinfo").read_text().split()
    except OSError:
        return False
    return "hypervisor" in words and Path("/sys/module/page_reporting").is_dir()
