"""Whether an HDF5 file is kept in pages, by its first bytes: HDF5 itself is not needed for that.

The superblock's extension says it in the message "File Space Info" (HDF5 File Format Specification,
IV.A.2.x). What is not read here is taken for a file without pages.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_PLACES = (0, *(512 << step for step in range(16)))  # of a superblock: behind a user block
_MOST_HEADER_BYTES = 1 << 16
_FILE_SPACE_INFO, _PAGED = 0x17, 1


def page_bytes_of(path: str | Path) -> int:
    """Bytes of a page; 0 where the file has none, is no HDF5 file, or cannot be read."""
    try:
        with open(path, "rb") as file:
            return next((bytes_ for place in _PLACES if (bytes_ := _at(file, place))), 0)
    except (OSError, ValueError, struct.error, IndexError):
        return 0


def _at(file: BinaryIO, place: int) -> int:
    file.seek(place)
    head = file.read(64)
    # Older versions of the superblock have no extension, and no pages.
    if head[:8] != _SIGNATURE or head[8] not in (2, 3):
        return 0
    width, length_width = head[9], head[10]
    base, extension = (
        int.from_bytes(head[12 + k * width : 12 + (k + 1) * width], "little") for k in range(2)
    )  # fmt: skip
    if extension == (1 << 8 * width) - 1:
        return 0
    file.seek(base + extension)
    header = file.read(_MOST_HEADER_BYTES)
    for kind, body in _messages(header):
        if kind == _FILE_SPACE_INFO and body[0] == 1:
            paged = body[1] == _PAGED
            at = 3 + length_width
            return int.from_bytes(body[at : at + length_width], "little") if paged else 0
    return 0


def _messages(header: bytes) -> Iterator[tuple[int, bytes]]:
    """Type and content of an object header's messages, in its first block."""
    if header[:4] == b"OHDR":
        flags = header[5]
        at = 6 + (16 if flags & 0x20 else 0) + (4 if flags & 0x10 else 0)
        width = 1 << (flags & 3)
        end = at + width + int.from_bytes(header[at : at + width], "little")
        at += width
        fixed = 6 if flags & 4 else 4
        while at + fixed <= min(end, len(header)):
            size = int.from_bytes(header[at + 1 : at + 3], "little")
            yield header[at], header[at + fixed : at + fixed + size]
            at += fixed + size
        return
    (size,) = struct.unpack_from("<I", header, 8)
    at, end = 16, 16 + size
    while at + 8 <= min(end, len(header)):
        kind, bytes_ = struct.unpack_from("<HH", header, at)
        yield kind, header[at + 8 : at + 8 + bytes_]
        at += 8 + bytes_
