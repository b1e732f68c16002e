"""Containers of the log store, written as logstore/FORMAT.md says and by nothing else.

None of iotune's code has a part in it: a reader that agrees with these agrees with the page.
"""

from __future__ import annotations

import os
import shutil
import signal
import struct
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from support.place import Place, not_verified

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


def rows(tuples: Sequence[tuple[int, ...]]) -> bytes:
    """A list(d) in the plain form of patterns/README.md: each row less the one before."""
    content = varint(len(tuples))
    if not tuples:
        return content
    content += b"\0"
    before = (0,) * len(tuples[0])
    for row in tuples:
        for new, old in zip(row, before):
            step = new - old
            content += varint(step * 2 if step >= 0 else -step * 2 - 1)
        before = row
    return content


def _head(magic: bytes, fields: bytes) -> bytes:
    content = (magic + b"\0" + struct.pack("<II", 1, 0) + fields).ljust(60, b"\0")
    return content + struct.pack("<I", crc32c(content))


def index_of(writes: Sequence[tuple[int, bytes]], first_ns: int, durable: bool = True) -> bytes:
    """An index with one block: single writes, a nanosecond after each other."""
    log_bytes = sum(len(content) for _, content in writes)
    none: list[tuple[int, ...]] = []
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


def _names(names: Sequence[str]) -> bytes:
    """Names as analyzer/index/FORMAT.md has them: one form of one column, its texts as they are."""
    if not names:
        return bytes(2) + bytes(3)
    texts = "".join(names).encode()
    ends = [sum(map(len, names[: i + 1])) for i in range(len(names))]
    content = varint(1) + varint(1) + varint(len(names)) + varint(0)
    content += rows([(i,) for i in range(len(names))])
    content += rows([(0,)] * len(names)) + rows([(i,) for i in range(len(names))])
    return content + rows([(end,) for end in ends]) + varint(len(texts)) + texts


def add_merged_index(
    path: Path,
    covered: Sequence[tuple[str, int, int]],
    segments: Sequence[tuple[int, int, int, int, int]],
    size: int,
    retired: Sequence[str] = (),
    twice: bool = True,
) -> None:
    """A merged index of writers (name, bytes of its index, bytes of its log).

    segments: start, length, stream, position, physical, as analyzer/index/FORMAT.md has them.
    """
    none: list[tuple[int, ...]] = []
    ends = [(len(segments), log_bytes) for _, _, log_bytes in covered]
    index = rows(ends) + _names([name for name, _, _ in covered])
    index += b"".join(rows(none) for _ in range(5))  # times
    index += b"".join(rows(none) for _ in range(3))  # slots, nests, levels
    index += rows(segments)
    length = struct.pack("<Q", len(index))
    block = b"IIDX" + struct.pack("<I", crc32c(length + index)) + length + index
    payload = rows([(index_bytes, log_bytes) for _, index_bytes, log_bytes in covered])
    payload += _names(retired) + b"IOTUNE-INDEX" + struct.pack("<I", 1) + block
    fields = struct.pack("<QQQQI", CONTAINER_ID, 1, size, len(payload), crc32c(payload))
    content = _head(b"IOTUNE-LOGMERGE", fields) + payload
    (path / "merged.index").write_bytes(content * (2 if twice else 1))


# --- Mounts of them: files to every program


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
