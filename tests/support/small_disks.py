"""File systems of a size that a test chooses."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

from support.place import Place, not_verified


@contextlib.contextmanager
def mounted(place: Place, kind: str, options: str) -> Iterator[Path | None]:
    """A file system of its own; None, and a line, where this user may not mount any."""
    point = place.scratch / "mounted"
    point.mkdir()
    done = subprocess.run(["mount", "-t", kind, "-o", options, "iotune-test", str(point)],
                          capture_output=True, text=True, check=False)  # fmt: skip
    if done.returncode != 0:
        not_verified(f"mount -t {kind} -o {options}: {done.stderr.strip()}")
        yield None
        return
    try:
        yield point
    finally:
        subprocess.run(["umount", "-l", str(point)], check=True)
        point.rmdir()
