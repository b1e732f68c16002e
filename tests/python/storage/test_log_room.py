"""What compaction and flattening do where there is no room: nothing, and they say so before."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.log_containers import add_writer, make_container

MIB = 1 << 20


def run(*words: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "iotune", "log", *map(str, words)], capture_output=True, check=False
    )


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of 9 MiB."""
    point = tmp_path / "small"
    point.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=9m", "iotune-test", str(point)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"NOT VERIFIED: mount -t tmpfs: {done.stderr.strip()}")
    try:
        yield point
    finally:
        subprocess.run(["umount", "-l", str(point)], check=True)


def half_dead(path: Path) -> Path:
    """A log of 5 MiB of which 2 MiB are needed, in two pieces."""
    make_container(path)
    block = bytes(MIB // 2) + b"x" * (MIB // 2)
    add_writer(path, "a", [(0, block), (0, block), (0, block), (0, block), (MIB, block)], 1)
    return path


def test_flatten_asks_for_what_is_live(small: Path, tmp_path: Path) -> None:
    path = half_dead(tmp_path / "file")
    (small / "other").write_bytes(bytes(8 * MIB))
    done = run("flatten", path, small / "copy")
    assert done.returncode == 1
    assert b"has no room for 2.0 MiB" in done.stderr
    assert {one.name for one in small.iterdir()} == {"other"}
    (small / "other").write_bytes(bytes(5 * MIB))
    done = run("flatten", path, small / "copy")
    assert done.returncode == 0, done.stderr
    assert (small / "copy").stat().st_size == 2 * MIB


def test_compact_asks_for_what_is_live(small: Path) -> None:
    path = half_dead(small / "file")
    before = run("cat", path).stdout
    (small / "other").write_bytes(bytes(2 * MIB))
    done = run("compact", path)
    assert done.returncode == 1
    assert b"has no room" in done.stderr
    assert run("cat", path).stdout == before
    # The index was compacted all the same: the next attempt goes on from there.
    (small / "other").unlink()
    done = run("compact", path)
    assert done.returncode == 0, done.stderr
    assert b"logs     5.0 MiB -> 2.0 MiB" in done.stdout
    assert run("cat", path).stdout == before
