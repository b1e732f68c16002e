"""What else than a setting moves the times of writes to local storage, and what keeps it out.

Some hundred MiB are in the kernel's pages within hundredths of a second, and there two things
are larger than most gains. One is what a process does for the first time, so short files are
written several times over in a run. The other is pages that were free for long: a virtual
machine's kernel tells its host of them, which takes them, and who gets one again waits for it. The
pages of the run before are told of two seconds after its end; so the next one begins later, and
with pages that others touched for it (warm_pages.py).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from iotune import core

# Rounds of the first run: the shortest of them is no longer the first of its process.
SETTLING = 3
LONG_ENOUGH_SECONDS = 0.3
MOST_REPEATS = 9
# What is written stays in the kernel's pages, of a disk at first.
_DISK = ("ext4", "xfs", "btrfs", "f2fs", "overlay")
_MEMORY = ("tmpfs", "ramfs")
PAUSE_SECONDS = 2.3
# Fewer pages come from those that are at hand.
_MANY_BYTES = 64 << 20


class Pause:
    """Between two runs, from the end of the one to the beginning of the next."""

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


def is_cached(directory: Path) -> bool:
    """Whether what is written there takes the time of memory."""
    return core.filesystem_of(directory) in (*_DISK, *_MEMORY)


def repeats(seconds: float) -> int:
    """How often files are written that take `seconds`, for a run to be long enough.

    An odd number: of three and more times the median is told, whatever one of them met.
    """
    times = math.ceil(LONG_ENOUGH_SECONDS / max(seconds, 1e-6))
    return min(MOST_REPEATS, times + 1 - times % 2) if times > 1 else 1


def meets_slow_pages(directory: Path, moved_bytes: int) -> bool:
    """Whether runs that write or read so many bytes there find pages that are slow to get.

    In memory they do not: 0.10 to 0.12 s with any pause.
    """
    if moved_bytes < _MANY_BYTES or core.filesystem_of(directory) not in _DISK:
        return False
    return _tells_a_host_of_pages()


def _tells_a_host_of_pages() -> bool:
    try:
        words = Path("/proc/cpuinfo").read_text().split()
    except OSError:
        return False
    return "hypervisor" in words and Path("/sys/module/page_reporting").is_dir()
