"""How many storage targets a directory's files can lie on, as far as its user may know.

Lustre: its targets (OSTs) that are in use, by `lfs osts` or by what its client tells below /sys and
/proc. CephFS: the OSDs that objects of a file fall on, by the kernel client; the client in user
space (ceph-fuse) tells nobody but the cluster's administrators. Where the number is not known the
stripe counts are those that were worth a try elsewhere.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from iotune.models.settings.file_layout import osd_of

_LFS_SECONDS = 10.0
# One line a target: "3: work-OST0003_UUID ACTIVE".
_LFS_LINE = re.compile(r"^\s*[0-9]+:\s+\S+\s+ACTIVE\s*$", re.MULTILINE)
# CephFS's own size of objects; one that a site changed is met by several offsets.
_OBJECT_BYTES = 4 << 20
# Objects are dealt out at random: after so many without a new OSD, for each that is known, none is
# left with a probability of 1 - e^-8 each.
_SURE, _MOST_OBJECTS = 8, 1 << 16

Where = Callable[[int, int], int]  # descriptor, number of an object: its OSD


@dataclass(frozen=True)
class Targets:
    """What is known of a directory's storage."""

    count: int | None = None
    why_unknown: str = ""  # as the end of a sentence
    overstripes: bool = False  # a file may have more stripes than there are targets
    # Whether it must be asked to: CephFS deals out as many objects as there are.
    by_setting: bool = False


def targets_of(directory: Path, filesystem: str) -> Targets:
    """Of a directory that may be written."""
    if filesystem == "lustre":
        return lustre_targets(directory)
    if filesystem == "cephfs":
        return ceph_targets(directory)
    return Targets(None, f"{filesystem} has no striping of files")


def lustre_targets(directory: Path, root: Path = Path("/")) -> Targets:
    """Lustre's. `root`: of /sys and /proc, for tests."""
    count = _by_lfs(directory) or _by_client(root)
    if count is None:
        return Targets(None, "neither lfs nor its client tells how many targets Lustre has")
    # Servers before 2.13 refuse it, and the file then gets what they have.
    return Targets(count, overstripes=True, by_setting=True)


def _by_lfs(directory: Path) -> int | None:
    command = shutil.which("lfs")
    if command is None:
        return None
    try:
        done = subprocess.run(
            [command, "osts", str(directory)], capture_output=True, text=True, check=False,
            timeout=_LFS_SECONDS,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return None
    return len(_LFS_LINE.findall(done.stdout)) or None


def _by_client(root: Path) -> int | None:
    """Where the client has one Lustre alone: which of several it is nothing tells here."""
    for folder in ("sys/fs/lustre/lov", "proc/fs/lustre/lov"):
        for name in ("activeobd", "numobd"):
            found = [_number(one) for one in sorted((root / folder).glob(f"*/{name}"))]
            if len(found) == 1 and found[0]:
                return found[0]
    return None


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def ceph_targets(directory: Path, where: Where | None = None) -> Targets:
    """The OSDs that objects of a new file in the directory fall on. `where`: for tests."""
    try:
        with tempfile.NamedTemporaryFile(dir=directory, prefix=".iotune-") as file:
            count = _different(file.fileno(), where or _osd_of_object)
    except OSError:
        return Targets(
            None, "only the kernel's client of CephFS tells which servers a file is on",
            overstripes=True,
        )  # fmt: skip
    return Targets(count, overstripes=True)


def _different(fd: int, where: Where) -> int:
    found: set[int] = set()
    since = 0
    for number in range(_MOST_OBJECTS):
        osd = where(fd, number)
        since = since + 1 if osd in found else 0
        found.add(osd)
        if since >= _SURE * len(found):
            break
    return len(found)


def _osd_of_object(descriptor: int, number: int) -> int:
    return osd_of(descriptor, number * _OBJECT_BYTES)
