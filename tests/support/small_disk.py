"""A disk that is soon full, or that nobody may write on."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def small_disk(options: str) -> Iterator[Path | None]:
    """A tmpfs of its own; None where there is no right to mount."""
    point = Path(subprocess.run(["mktemp", "-d", "/tmp/iotune-disk-XXXXXX"], text=True,
                                capture_output=True, check=True).stdout.strip())  # fmt: skip
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(point)],
                          capture_output=True, text=True, check=False)  # fmt: skip
    try:
        yield point if done.returncode == 0 else None
    finally:
        if done.returncode == 0:
            subprocess.run(["umount", "-l", str(point)], check=False)
        point.rmdir()
