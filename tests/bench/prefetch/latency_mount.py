"""A mounted file system with a latency of its own (`iotune fuse`), for benchmarks."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench import paired


def is_possible(build: Path) -> bool:
    return (build / "bin" / "iotune-fuse").exists() and os.access("/dev/fuse", os.W_OK)


@contextmanager
def mounted(
    build: Path, name: str, options: Sequence[str], below: Path | None = None
) -> Iterator[Path]:
    """A folder with `m`, below which the files of `root` are seen; gone at the end.

    It lies in `below`, where that is given: the latency is added to that storage's.
    """
    scratch = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=below))
    mount, root = scratch / "m", scratch / "root"
    for folder in (mount, root):
        folder.mkdir()
    try:
        with subprocess.Popen(
            [str(build / "bin" / "iotune-fuse"), *options, str(mount), str(root)]
        ) as server:
            try:
                while not os.path.ismount(mount):
                    if server.poll() is not None:
                        raise paired.ArmFailed("iotune-fuse ended")
                    time.sleep(0.01)
                yield scratch
            finally:
                if os.path.ismount(mount):
                    subprocess.run(["fusermount3", "-u", "-z", str(mount)], check=False)
                server.wait()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@contextmanager
def direct(name: str, below: Path | None = None) -> Iterator[Path]:
    """The same folder without a file system of ours: `m` is `root` itself."""
    scratch = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=below))
    try:
        (scratch / "root").mkdir()
        (scratch / "m").symlink_to("root")
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def drop_pages(path: Path) -> None:
    """Forget what the page cache has of a file."""
    fd = os.open(path, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)
