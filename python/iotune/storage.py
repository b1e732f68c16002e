"""Which file system a directory lies on, by the names that the database uses."""

from __future__ import annotations

import os
from pathlib import Path

# Other spellings in /proc/self/mountinfo (patterndb/places.cpp, canonical_filesystem).
_SAME = {
    "ext2": "ext4",
    "ext3": "ext4",
    "overlayfs": "overlay",
    "nfs4": "nfs",
    "nfs3": "nfs",
    "ceph": "cephfs",
    "cifs": "smb",
    "smb2": "smb",
    "smb3": "smb",
    "wekafs": "weka",
}


def filesystem_of(directory: str | os.PathLike[str]) -> str:
    """ext4, tmpfs, lustre …; "unknown" where it cannot be told."""
    try:
        device = os.stat(directory).st_dev
        lines = Path("/proc/self/mountinfo").read_text(errors="replace").splitlines()
    except OSError:
        return "unknown"
    wanted = f"{os.major(device)}:{os.minor(device)}"
    found = "unknown"
    for line in lines:
        words = line.split(" ")
        if words[2] == wanted and "-" in words:
            kind = words[words.index("-") + 1]
            found = "fuse" if kind.startswith("fuse") else _SAME.get(kind, kind)
    return found
