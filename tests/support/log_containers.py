"""Containers of the log store, written as logstore/FORMAT.md says and by nothing else.

None of iotune's code has a part in it: a reader that agrees with these agrees with the page.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

CONTAINER_ID = 0x1234
_POLYNOMIAL = 0x82F63B78


def crc32c(content: bytes) -> int:
    """CRC-32C (Castagnoli), bit by bit."""
    crc = 0xFFFFFFFF
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (_POLYNOMIAL if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def varint(value: int) -> bytes:
    """Unsigned LEB128."""
    groups = bytearray()
    while value >= 0x80:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    groups.append(value)
    return bytes(groups)


def rows(pairs: Sequence[tuple[int, int]]) -> bytes:
    """A list(2) in the plain form of patterns/README.md: each row less the one before."""
    content = varint(len(pairs))
    if not pairs:
        return content
    content += b"\0"
    before = (0, 0)
    for pair in pairs:
        for new, old in zip(pair, before):
            step = new - old
            content += varint(step * 2 if step >= 0 else -step * 2 - 1)
        before = pair
    return content


def _head(magic: bytes, fields: bytes) -> bytes:
    content = (magic + b"\0" + struct.pack("<II", 1, 0) + fields).ljust(60, b"\0")
    return content + struct.pack("<I", crc32c(content))


def index_of(writes: Sequence[tuple[int, bytes]], first_ns: int, durable: bool = True) -> bytes:
    """An index with one block: single writes, a nanosecond after each other."""
    log_bytes = sum(len(content) for _, content in writes)
    none: list[tuple[int, int]] = []
    payload = b"".join(
        rows(pairs)
        for pairs in (
            none,  # bodies
            none,  # parts
            none,  # strides
            [(0, 1)] * len(writes),
            [(offset, len(content)) for offset, content in writes],
            none,  # holes
            [(0, first_ns), (len(writes), first_ns + len(writes))],
        )
    )
    checked = struct.pack("<IIQQQ", len(payload), durable, 0, 0, log_bytes) + payload
    block = b"LBLK" + struct.pack("<I", crc32c(checked)) + checked
    return _head(b"IOTUNE-LOGINDEX", struct.pack("<QqqqI", CONTAINER_ID, 0, 0, -1, 0)) + block


def make_container(path: Path) -> Path:
    """An empty one."""
    path.mkdir()
    (path / "README").write_text("a file\\n")
    (path / "handle").touch()
    (path / "container").write_bytes(
        _head(b"IOTUNE-LOGSTORE", struct.pack("<Qq", CONTAINER_ID, 10**18))
    )
    return path


def add_writer(
    path: Path, name: str, writes: Sequence[tuple[int, bytes]], first_ns: int, durable: bool = True
) -> None:
    """A process that wrote these, in this order."""
    (path / f"{name}.log").write_bytes(b"".join(content for _, content in writes))
    (path / f"{name}.index").write_bytes(index_of(writes, first_ns, durable))
