"""A loop device whose reads are throttled, with ext4 on it: a slow disk. As root."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

GROUPS = Path("/sys/fs/cgroup/blkio")
DEVICE_BYTES = 640 << 20


class Impossible(RuntimeError):
    """Why there is none here."""


def run(*words: object) -> str:
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise Impossible(f"{words[0]}: {done.stderr.strip() or done.returncode}")
    return done.stdout.strip()


@contextmanager
def throttled_loop(bytes_a_second: int) -> Iterator[tuple[Path, Callable[[], None]]]:
    """Yield a folder on it, and what a child calls to be throttled (preexec_fn)."""
    if os.geteuid() != 0 or not (GROUPS / "blkio.throttle.read_bps_device").exists():
        raise Impossible("needs root and the blkio controller of cgroup v1")
    for tool in ("losetup", "mkfs.ext4", "mount"):
        if shutil.which(tool) is None:
            raise Impossible(f"no {tool}")
    scratch = Path(tempfile.mkdtemp(prefix="throttled-", dir="/var/tmp"))
    mount, group, device = scratch / "mnt", GROUPS / f"iotune-{scratch.name}", ""
    mount.mkdir()
    try:
        with open(scratch / "image", "wb") as image:
            image.truncate(DEVICE_BYTES)
        device = run("losetup", "--find", "--show", scratch / "image")
        run("mkfs.ext4", "-q", device)
        run("mount", device, mount)
        group.mkdir()
        number = os.stat(device).st_rdev
        limit = f"{os.major(number)}:{os.minor(number)} {bytes_a_second}"
        (group / "blkio.throttle.read_bps_device").write_text(limit)

        def enter() -> None:
            (group / "cgroup.procs").write_text(str(os.getpid()))

        yield mount, enter
    finally:
        if os.path.ismount(mount):
            subprocess.run(["umount", str(mount)], check=False)
        if device:
            subprocess.run(["losetup", "--detach", device], check=False)
        if group.exists():
            group.rmdir()
        shutil.rmtree(scratch, ignore_errors=True)
