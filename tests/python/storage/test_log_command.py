"""`iotune log`: files that are kept as logs, by containers that only FORMAT.md made."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from iotune.errors import Error
from iotune.logstore import LogContainer, is_container
from support.installed.json_schemas import conforming
from support.log_containers import add_writer, make_container


def run(*words: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "iotune", "log", *map(str, words)], capture_output=True, check=False
    )


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """Two writers that overlap, and a hole."""
    (tmp_path / "run").mkdir()
    path = make_container(tmp_path / "run" / "file.h5")
    add_writer(path, "node1.10.0", [(0, b"hello"), (3, b"LO")], first_ns=1000)
    add_writer(path, "node2.11.0", [(7, b"world"), (0, b"H")], first_ns=2000)
    return path


CONTENT = b"HelLO\0\0world"


def test_a_container_is_read_as_its_format_says(kept: Path) -> None:
    container = LogContainer(kept)
    assert container.read(0, 100) == CONTENT
    assert container.read(5, 3) == CONTENT[5:8]
    assert container.read(100, 1) == b""
    assert container.size == 12
    assert container.is_whole()
    assert [writer.entries for writer in container.writers] == [2, 2]


def test_ls_finds_containers_and_nothing_else(kept: Path, tmp_path: Path) -> None:
    (tmp_path / "run" / "plain").mkdir()
    assert run("ls", tmp_path).stdout.decode().split() == [str(kept)]
    assert conforming("log-ls", run("ls", tmp_path, "--json").stdout) == [str(kept)]
    assert not is_container(tmp_path)
    assert run("ls", tmp_path / "no").returncode == 1


def test_stat_tells_size_and_writers(kept: Path) -> None:
    shown = run("stat", kept).stdout.decode()
    assert "(12 bytes)" in shown
    assert "node2.11.0" in shown
    facts = conforming("log-stat", run("stat", kept, "--json").stdout)
    assert facts["size"] == 12
    assert facts["whole"] is True
    assert facts["writers"][0]["durable_bytes"] == 7


def test_cat_and_flatten_give_the_bytes(kept: Path, tmp_path: Path) -> None:
    assert run("cat", kept).stdout == CONTENT
    copy = tmp_path / "copy"
    assert run("flatten", kept, copy).returncode == 0
    assert copy.read_bytes() == CONTENT
    again = run("flatten", kept, copy)
    assert again.returncode == 1
    assert b"--force" in again.stderr
    assert run("flatten", kept, copy, "--force").returncode == 0


def test_holes_stay_holes(tmp_path: Path) -> None:
    path = make_container(tmp_path / "file")
    add_writer(path, "a", [(0, b"x"), (64 << 20, b"y")], first_ns=1)
    copy = tmp_path / "copy"
    assert run("flatten", path, copy).returncode == 0
    assert copy.stat().st_size == (64 << 20) + 1
    assert copy.stat().st_blocks * 512 <= 17 << 20
    with copy.open("rb") as file:
        file.seek(64 << 20)
        assert file.read() == b"y"


def test_what_was_synced_and_is_lost_is_said_and_never_made_up(kept: Path, tmp_path: Path) -> None:
    assert run("verify", kept).returncode == 0
    os.truncate(kept / "node2.11.0.log", 3)
    verified = run("verify", kept)
    assert verified.returncode == 1
    assert b"node2.11.0: 3 bytes were synced" in verified.stdout
    assert run("cat", kept).returncode == 1
    assert run("flatten", kept, tmp_path / "copy").returncode == 1
    assert not (tmp_path / "copy").exists()
    (kept / "node1.10.0.index").unlink()
    assert b"node1.10.0: no index" in run("verify", kept).stdout


def test_bytes_that_went_past_the_log_store_are_said(kept: Path) -> None:
    assert conforming("log-stat", run("stat", kept, "--json").stdout)["strangers"] == []
    (kept / "handle").write_bytes(b"past")
    verified = run("verify", kept)
    assert verified.returncode == 1
    assert b"handle: 4 B that were written past the log store" in verified.stdout
    assert run("cat", kept).stdout == CONTENT


def test_what_was_not_synced_is_no_loss(kept: Path) -> None:
    add_writer(kept, "node3.1.0", [(0, b"NNNN"), (4, b"MMMM")], first_ns=9000, durable=False)
    os.truncate(kept / "node3.1.0.log", 6)
    verified = run("verify", kept)
    assert verified.returncode == 0
    assert b"4 bytes that were not synced are not there" in verified.stderr
    assert run("cat", kept).stdout == b"NNNNO" + CONTENT[5:]


def test_newer_and_hostile_ones_are_one_line(kept: Path, tmp_path: Path) -> None:
    (kept / "x.log").symlink_to("/etc/passwd")
    with pytest.raises(Error, match=r"x\.log: is a link"):
        LogContainer(kept)
    (kept / "x.log").unlink()
    content = bytearray((kept / "container").read_bytes())
    content[16] = 2
    (kept / "container").write_bytes(content)
    shown = run("stat", kept)
    assert shown.returncode == 1
    assert b"version 2" in shown.stderr
    assert shown.stderr.count(b"\n") == 1
    assert b"is no container" in run("cat", tmp_path).stderr


def test_a_dash_is_stdout(kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    plain = run("map", kept)
    dash = run("map", kept, "-o", "-")
    assert dash.returncode == 0, dash.stderr
    assert dash.stdout == plain.stdout != b""
    assert not Path("-").exists()
