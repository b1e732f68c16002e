"""How a file is spread over storage targets, as the settings that spread a new file so.

A read is as fast as its file's layout lets it be, so a replay reads a file of the same one.
"""

from __future__ import annotations

import fcntl
import os
import re
import struct
from pathlib import Path

# The head of Lustre's plain layouts (lustre_user.h), in the byte order of the host: magic,
# pattern, the object's id, stripe bytes, stripe count. Layouts of several parts (PFL) have another
# magic and no one width.
_LUSTRE_HEAD = struct.Struct("=II16xIH")
_LUSTRE_MAGICS = (0x0BD10BD0, 0x0BD30BD0)
_ALL_TARGETS = 0xFFFF
# struct ceph_ioctl_dataloc of the kernel's client (fs/ceph/ioctl.h): offsets in file and object,
# number and size of the object, its name, offset and size of the block, OSD, and its address.
_CEPH_PLACE = struct.Struct("=QQQQ64sQQq128s")
_CEPH_ASK_PLACE = (3 << 30) | (_CEPH_PLACE.size << 16) | (0x97 << 8) | 3


def striping_of(path: str | Path) -> dict[str, str]:
    """`striping_factor` (targets) and `striping_unit` (bytes) of the file.

    Empty where the file is not there, or lies on a file system without layouts, or has one that
    the two do not say.
    """
    text = _attribute(path, "ceph.file.layout").decode("ascii", "replace")
    numbers = dict(re.findall(r"(stripe_count|stripe_unit)=([0-9]+)", text))
    if len(numbers) == 2:
        return _settings(int(numbers["stripe_count"]), int(numbers["stripe_unit"]))
    head = _attribute(path, "lustre.lov")
    if len(head) < _LUSTRE_HEAD.size:
        return {}
    magic, _, unit_bytes, count = _LUSTRE_HEAD.unpack_from(head)
    if magic not in _LUSTRE_MAGICS or count == _ALL_TARGETS:
        return {}
    return _settings(count, unit_bytes)


def osd_of(descriptor: int, offset: int = 0) -> int:
    """The OSD of CephFS that serves this byte of an open file, written or not.

    Raises OSError where the file system is another, or its client in user space: that tells nobody.
    """
    asked = bytearray(_CEPH_PLACE.size)
    struct.pack_into("=Q", asked, 0, offset)
    fcntl.ioctl(descriptor, _CEPH_ASK_PLACE, asked)
    return int(_CEPH_PLACE.unpack(asked)[7])


def _settings(count: int, unit_bytes: int) -> dict[str, str]:
    if count == 0 or unit_bytes == 0:
        return {}
    return {"striping_factor": str(count), "striping_unit": str(unit_bytes)}


def _attribute(path: str | Path, name: str) -> bytes:
    try:
        return os.getxattr(path, name)
    except (OSError, ValueError):
        return b""
