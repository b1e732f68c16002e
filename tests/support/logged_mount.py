"""Folders of logged files as `iotune fuse --logstore` shows them: files to every program."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from support.place import Place, not_verified


def why_not() -> str:
    """Why this machine can mount nothing; empty: it can."""
    if not os.access("/dev/fuse", os.W_OK) or shutil.which("fusermount3") is None:
        return "iotune fuse: /dev/fuse or fusermount3 cannot be had here"
    if os.geteuid() != 0 and not os.stat(str(shutil.which("fusermount3"))).st_mode & 0o4000:
        return "iotune fuse: fusermount3 is not set-uid"
    return ""


class Mount:
    """A mount with the server that serves it."""

    def __init__(self, program: object, root: Path, path: Path, *options: str) -> None:
        self.root, self.path = root, path
        self.root.mkdir(exist_ok=True)
        self.path.mkdir(exist_ok=True)
        words = [str(program), str(self.path), str(self.root), "--logstore", *options]
        self.server = subprocess.Popen(words)
        end = time.monotonic() + 20
        while not os.path.ismount(self.path):
            assert self.server.poll() is None
            assert time.monotonic() < end
            time.sleep(0.01)

    def end(self) -> None:
        if os.path.ismount(self.path):
            subprocess.run(["fusermount3", "-u", "-z", str(self.path)], check=True)
        assert self.server.wait(20) in (0, -signal.SIGKILL)


def copy_of_logs(place: Place, folder: Path) -> Path | None:
    """The folder's files as ordinary ones, in a new folder; None, and a line: nobody can mount."""
    program = place.bin / "iotune-fuse"
    reason = why_not() or ("" if program.exists() else "iotune fuse: it was not built")
    if reason:
        not_verified(reason)
        return None
    copy = folder.with_name(f"{folder.name} flat")
    mount = Mount(program, folder, folder.with_name(f"{folder.name} mounted"))
    try:
        subprocess.run(["cp", "-r", mount.path, copy], check=True)
    finally:
        mount.end()
    return copy
