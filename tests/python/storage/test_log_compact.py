"""`iotune log compact`, and merged indexes that only FORMAT.md made."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from iotune.errors import Error
from iotune.logstore import LogContainer, compact
from support.log_containers import add_merged_index, add_writer, make_container


def run(*words: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "iotune", "log", *map(str, words)], capture_output=True, check=False
    )


def names(path: Path) -> set[str]:
    return {one.name for one in path.iterdir()} - {"README", "container", "handle"}


@pytest.mark.parametrize("twice", [True, False])
def test_a_merged_index_is_read_as_its_format_says(tmp_path: Path, twice: bool) -> None:
    path = make_container(tmp_path / "file")
    (path / "a.log").write_bytes(b"aaaaaaaa")
    (path / "b.log").write_bytes(b"bbbb")
    hole = 1 << 60
    segments = [(0, 4, 0, 0, 0), (4, 2, 1, 0, 0), (6, 2, 0, 1, hole + 6), (8, 4, 0, 2, 4)]
    add_merged_index(path, [("a", 500, 8), ("b", 500, 4)], segments, 14, ["z"], twice)
    (path / "z.log").write_bytes(b"nobody needs this")
    assert run("cat", path).stdout == b"aaaabb\0\0aaaa\0\0"
    container = LogContainer(path)
    assert [writer.is_covered for writer in container.writers] == [True, True]
    assert container.spare_files == ["z.log"]
    assert container.is_whole()
    # What is not covered is later, whatever its clock says.
    add_writer(path, "c", [(3, b"ccc")], first_ns=-(10**18))
    assert run("cat", path).stdout == b"aaaccc\0\0aaaa\0\0"
    # A retired name with an index is a new writer's.
    add_writer(path, "z", [(13, b"zz")], first_ns=0)
    assert run("cat", path).stdout == b"aaaccc\0\0aaaa\0zz"


def test_what_a_merged_index_vouches_for_and_is_lost_is_said(tmp_path: Path) -> None:
    path = make_container(tmp_path / "file")
    (path / "a.log").write_bytes(b"aaaa")
    add_merged_index(path, [("a", 500, 8)], [(0, 8, 0, 0, 0)], 8)
    assert b"a: 4 bytes were synced" in run("verify", path).stdout
    assert run("cat", path).returncode == 1
    assert run("compact", path).returncode == 1
    damaged = bytearray((path / "merged.index").read_bytes())
    damaged[70] ^= 1
    damaged[70 + len(damaged) // 2] ^= 1
    (path / "merged.index").write_bytes(damaged)
    verified = run("verify", path)
    assert verified.returncode == 1
    assert b"merged.index: is damaged" in verified.stdout


def test_compact_leaves_one_index_and_no_overwritten_bytes(tmp_path: Path) -> None:
    path = make_container(tmp_path / "file")
    for k in range(20):
        add_writer(path, f"node1.{k}.0", [(0, b"0123456789"), (20, b"abcd")], first_ns=100 * k)
    before = run("cat", path).stdout
    done = run("compact", path)
    assert done.returncode == 0
    assert b"logs     280 B -> 14 B, 0 B copied" in done.stdout
    assert names(path) == {"merged.index", "node1.19.0.log"}
    assert run("cat", path).stdout == before
    add_writer(path, "node1.20.0", [(2, b"Z")], first_ns=0)
    assert run("compact", path, "--all").returncode == 0
    assert run("cat", path).stdout == before[:2] + b"Z" + before[3:]
    assert len(names(path)) == 2
    assert run("verify", path).returncode == 0


def test_compact_keeps_indexes_where_it_is_asked_to(tmp_path: Path) -> None:
    path = make_container(tmp_path / "file")
    for k in range(3):
        add_writer(path, f"w{k}", [(0, b"0123456789")], first_ns=100 * k)
    before = names(path)
    assert run("compact", path, "--keep-indexes").returncode == 0
    assert names(path) == before | {"merged.index"}
    assert run("compact", path, "--keep-indexes", "--all").returncode == 2


def test_compact_is_refused_in_one_line(tmp_path: Path) -> None:
    path = make_container(tmp_path / "file")
    add_writer(path, "a", [(0, b"aaaa")], first_ns=1)
    with (path / "container").open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_SH)
        done = run("compact", path)
    assert done.returncode == 1
    assert b"is in use: somebody has it open for writing" in done.stderr
    assert done.stderr.count(b"\n") == 1
    assert b"is no container" in run("compact", tmp_path).stderr
    assert b"No such file" in run("compact", tmp_path / "no").stderr
    content = bytearray((path / "container").read_bytes())
    content[16] = 2
    (path / "container").write_bytes(content)
    assert b"of version 2" in run("compact", path).stderr


def test_a_reader_goes_on_where_its_logs_were_compacted(tmp_path: Path) -> None:
    path = make_container(tmp_path / "file")
    add_writer(path, "a", [(0, b"xxxx"), (0, b"yyyy"), (0, b"zzzz")], first_ns=1)
    container = LogContainer(path)
    compact(path)
    assert not (path / "a.log").exists()
    assert container.read(0, 10) == b"zzzz"
    os.remove(path / "compacted.2.log")
    with pytest.raises(Error, match=r"compacted\.2\.log"):
        LogContainer(path).read(0, 10)
