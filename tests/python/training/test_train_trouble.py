"""A training that meets trouble says what, where and what to do, and the database is whole."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.installed.columns_program import Home, needs_mpi

pytestmark = [pytest.mark.mpi, needs_mpi]

FEW = ("--rounds", "3", "--candidates", "cb_buffer_size=4194304")


@contextlib.contextmanager
def small_storage(folder: Path, kib: int) -> Iterator[Path]:
    """A file system of so many KiB."""
    if os.getuid() != 0:
        pytest.skip("NOT VERIFIED: a file system of its own needs root")
    folder.mkdir()
    size = f"size={kib}k"
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", size, "tmpfs", folder], check=False
    ).returncode:
        pytest.skip("NOT VERIFIED: no right to mount")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=False)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """On a storage of the kind that the small ones are of: no training is moved to another."""
    with small_storage(tmp_path_factory.mktemp("home") / "tmpfs", 256 << 10) as folder:
        found = Home(folder)
        found.record()
        assert found.iotune("db", "list").returncode == 0
        yield found


@pytest.fixture
def home(recorded: Home, tmp_path: Path) -> Home:
    """With data of its own."""
    found = Home(recorded.folder)
    shutil.copytree(recorded.folder / "data", tmp_path / "data")
    found.environment = {**recorded.environment, "XDG_DATA_HOME": str(tmp_path / "data")}
    return found


def database_of(home: Home) -> Path:
    return Path(home.environment["XDG_DATA_HOME"]) / "iotune" / "patterns.db"


def rows(home: Home, question: str) -> list[Any]:
    with contextlib.closing(sqlite3.connect(database_of(home))) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return db.execute(question).fetchall()


def demand_untrained(home: Home, done: subprocess.CompletedProcess[str], *words: str) -> None:
    """It failed, said why in one line, and changed no answer."""
    assert done.returncode == 1, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr and not done.stdout, done.stderr
    lines = [one for one in done.stderr.splitlines() if all(word in one for word in words)]
    assert len(lines) == 1, done.stderr
    assert rows(home, "SELECT count(*) FROM tunings") == [(0,)]


def launcher(folder: Path, script: str) -> str:
    """One that is MPICH's, but for what `script` does in front of a replay."""
    path = folder / "mpirun-odd"
    path.write_text(
        f'#!/bin/sh\ncase "$*" in *iotune-replay*) {script} ;; esac\nexec mpirun.mpich "$@"\n'
    )
    path.chmod(0o755)
    return str(path)


def test_a_launcher_that_is_none(home: Home, tmp_path: Path) -> None:
    for odd in ("/bin/false", "/no/such/mpirun", str(tmp_path)):
        home.environment["IOTUNE_MPIRUN"] = odd
        demand_untrained(home, home.iotune("train", *FEW), odd, "IOTUNE_MPIRUN")


def test_a_launcher_that_fails(home: Home, tmp_path: Path) -> None:
    home.environment["IOTUNE_MPIRUN"] = launcher(tmp_path, "echo 'no nodes are free' >&2; exit 7")
    done = home.iotune("train", *FEW)
    demand_untrained(home, done, "stays untrained", "no nodes are free")


def test_a_launcher_that_runs_nothing(home: Home, tmp_path: Path) -> None:
    home.environment["IOTUNE_MPIRUN"] = launcher(tmp_path, "exit 0")
    demand_untrained(
        home, home.iotune("train", *FEW), "stays untrained", "mpirun-odd", "IOTUNE_MPIRUN"
    )


@pytest.mark.parametrize("action", ["kill -SEGV $$", "exit 1", "sleep 1000"])
def test_a_candidate_that_crashes_or_hangs(action: str, home: Home, tmp_path: Path) -> None:
    odd = f'grep -q 12345678 "$IOTUNE_CONFIG" 2>/dev/null && {{ {action}; }}'
    home.environment["IOTUNE_MPIRUN"] = launcher(tmp_path, odd)
    done = home.iotune("train", "--rounds", "3", "--candidates", "cb_buffer_size=12345678",
                       "--candidates", "cb_buffer_size=4194304", "--json")  # fmt: skip
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    # The other one was measured, and there is an answer.
    assert rows(home, "SELECT count(*) FROM tunings") == [(1,)]
    assert '"failed: ' in done.stdout and done.stdout.count('"applied"') == 1, done.stdout


def test_no_space_where_it_is_measured(home: Home, tmp_path: Path) -> None:
    with small_storage(tmp_path / "small", 512) as small:
        done = home.iotune("train", *FEW, "--dir", str(small))
        demand_untrained(home, done, str(small), "--dir")
        assert list(small.iterdir()) == []


def test_the_space_ends_while_it_is_measured(home: Home, tmp_path: Path) -> None:
    """Who takes it is another: what was looked at before is no more true."""
    with small_storage(tmp_path / "small", 200 << 10) as small:
        odd = f"dd if=/dev/zero of={small}/others bs=1M 2>/dev/null"
        home.environment["IOTUNE_MPIRUN"] = launcher(tmp_path, odd)
        done = home.iotune("train", *FEW, "--dir", str(small))
        demand_untrained(home, done, "stays untrained")


def test_no_space_for_the_database(home: Home, tmp_path: Path) -> None:
    with small_storage(tmp_path / "small", 4096) as small:
        shutil.copytree(home.environment["XDG_DATA_HOME"], small / "data")
        home.environment["XDG_DATA_HOME"] = str(small / "data")
        others = os.open(small / "others", os.O_WRONLY | os.O_CREAT)
        with contextlib.suppress(OSError):
            while True:
                os.write(others, bytes(4096))
        os.close(others)
        before = database_of(home).read_bytes()
        done = home.iotune("train", *FEW)
        assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
        assert database_of(home).read_bytes() == before
        assert str(small) in done.stderr, done.stderr
        # With room again it goes on.
        (small / "others").unlink()
        done = home.iotune("train", *FEW)
        assert done.returncode == 0, done.stderr
        assert rows(home, "SELECT count(*) FROM tunings") == [(1,)]


def test_a_survey_whose_launcher_fails(home: Home, tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    home.environment["IOTUNE_MPIRUN"] = launcher(tmp_path, "echo 'no nodes are free' >&2; exit 7")
    (tmp_path / "there").mkdir()
    words = ("train", "--survey", "--budget", "20s", "--dir", str(tmp_path / "there"))
    demand_untrained(home, home.iotune(*words), "no nodes are free", "patterns one after")
    with small_storage(tmp_path / "small", 256) as small:
        home.environment.pop("IOTUNE_MPIRUN")
        done = home.iotune(*words[:-1], str(small))
        demand_untrained(home, done, str(small), "0 MiB free", "--dir")
        assert list(small.iterdir()) == []
