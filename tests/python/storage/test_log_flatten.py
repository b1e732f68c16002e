"""`iotune log flatten`: whole or not at all, by several ranks, and after kills."""

from __future__ import annotations

import fcntl
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from support.log_containers import add_writer, make_container

SCRIPT = """
import os, sys
import iotune.logstore.flatten as flattening
flattening.PIECE_BYTES = 1000
left = int(sys.argv[1])
real = os.fdatasync
def sync(descriptor):
    global left
    real(descriptor)
    left -= 1
    if left == 0:
        os.kill(os.getpid(), 9)
os.fdatasync = sync
from iotune.entry import main
sys.argv = ["iotune", "log", *sys.argv[2:]]
main()
"""


def flatten(
    *words: object, die_after: int = 0, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """In pieces of 1000 bytes; killed before the last of so many is noted."""
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, str(die_after), "flatten", *map(str, words)],
        capture_output=True,
        check=False,
        env=os.environ | (environment or {}),
        timeout=120,
    )


@pytest.fixture
def content() -> bytes:
    return bytes(i * 7 % 251 for i in range(20_500))


@pytest.fixture
def kept(tmp_path: Path, content: bytes) -> Path:
    """Two writers in turns, as a file of its own mode and time."""
    path = make_container(tmp_path / "file")
    for rank in range(2):
        writes = [(at, content[at : at + 500]) for at in range(500 * rank, len(content), 1000)]
        add_writer(path, f"node{rank}.10.0", writes, first_ns=1000)
    handle = path / "handle"
    handle.touch()
    handle.chmod(0o640)
    os.utime(handle, ns=(10**18, 15 * 10**17))
    return path


def test_a_copy_has_bytes_mode_and_time(kept: Path, tmp_path: Path, content: bytes) -> None:
    copy = tmp_path / "copy"
    assert flatten(kept, copy).returncode == 0
    assert copy.read_bytes() == content
    assert stat.S_IMODE(copy.stat().st_mode) == 0o640
    assert copy.stat().st_mtime_ns == 15 * 10**17
    assert {one.name for one in tmp_path.iterdir()} == {"file", "copy"}


def test_extended_attributes_survive(kept: Path, tmp_path: Path) -> None:
    try:
        os.setxattr(kept, "user.note", b"given to the directory")
    except OSError:
        pytest.skip("NOT VERIFIED: no extended attributes here")
    os.setxattr(kept / "handle", "user.origin", b"given by a mount")
    copy = tmp_path / "copy"
    assert flatten(kept, copy).returncode == 0
    assert flatten(kept).returncode == 0
    for file in (copy, kept):
        assert os.getxattr(file, "user.note") == b"given to the directory"
        assert os.getxattr(file, "user.origin") == b"given by a mount"


def test_in_its_own_place_the_file_replaces_the_container(kept: Path, content: bytes) -> None:
    with (kept / "container").open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_SH)
        done = flatten(kept)
    assert done.returncode == 1
    assert b"is in use" in done.stderr
    assert flatten(kept).returncode == 0
    assert kept.read_bytes() == content
    assert {one.name for one in kept.parent.iterdir()} == {"file"}
    assert b"is no container" in flatten(kept).stderr


@pytest.mark.parametrize("in_place", [False, True])
def test_after_a_kill_the_same_command_goes_on(
    kept: Path, tmp_path: Path, content: bytes, in_place: bool
) -> None:
    words = [kept] if in_place else [kept, tmp_path / "copy"]
    for _ in range(2):
        assert flatten(*words, die_after=4).returncode == -signal.SIGKILL
        assert kept.is_dir()
        assert not (tmp_path / "copy").exists()
    done = flatten(*words)
    assert done.returncode == 0, done.stderr
    assert b"6 of 21 pieces are there" in done.stderr
    assert words[-1].read_bytes() == content
    assert not list(tmp_path.glob("*.flattening"))


def test_what_was_written_past_the_log_store_is_not_left_behind(kept: Path) -> None:
    (kept / "handle").write_bytes(b"past")
    done = flatten(kept)
    assert done.returncode == 1
    assert b"past the log store" in done.stderr
    assert (kept / "handle").read_bytes() == b"past"
    assert not list(kept.parent.glob("*.flattening"))


def test_what_changed_since_is_copied_anew(kept: Path, tmp_path: Path, content: bytes) -> None:
    copy = tmp_path / "copy"
    assert flatten(kept, copy, die_after=4).returncode == -signal.SIGKILL
    add_writer(kept, "node9.1.0", [(0, b"NEW")], first_ns=9000)
    done = flatten(kept, copy)
    assert done.returncode == 0
    assert b"earlier attempt" not in done.stderr
    assert copy.read_bytes() == b"NEW" + content[3:]


def replace_killed_between(kept: Path, exchanges: bool) -> None:
    """An in-place flatten that dies when the file has its place, or just before."""
    script = """
import os, sys
import iotune.logstore.flatten as flattening
from iotune import core
real = core.native_part()
class Native:
    def __getattr__(self, name):
        return getattr(real, name)
    def exchange_names(self, one, other):
        if sys.argv[2] == "yes":
            real.exchange_names(one, other)
            os.kill(os.getpid(), 9)
        return False
flattening.native_part = Native
def rename(one, other, real=os.rename):
    real(one, other)
    os.kill(os.getpid(), 9)
os.rename = rename
from pathlib import Path
from iotune.analysis.launched import Ranks
flattening.flatten(Path(sys.argv[1]), Path(sys.argv[1]), Ranks())
"""
    words = [sys.executable, "-c", script, str(kept), "yes" if exchanges else "no"]
    assert subprocess.run(words, check=False).returncode == -signal.SIGKILL


@pytest.mark.parametrize("exchanges", [False, True])
def test_a_kill_while_the_places_change(kept: Path, content: bytes, exchanges: bool) -> None:
    replace_killed_between(kept, exchanges)
    assert kept.exists() == exchanges
    done = flatten(kept)
    assert done.returncode == 0, done.stderr
    assert kept.read_bytes() == content
    assert {one.name for one in kept.parent.iterdir()} == {"file"}


def ranks_of(kept: Path, words: list[object], count: int) -> list[subprocess.Popen[bytes]]:
    """As Open MPI starts them."""
    return [
        subprocess.Popen(
            [sys.executable, "-c", SCRIPT, "0", "flatten", str(kept), *map(str, words)],
            stderr=subprocess.PIPE,
            env=os.environ
            | {
                "OMPI_COMM_WORLD_RANK": str(rank),
                "OMPI_COMM_WORLD_SIZE": str(count),
                "PMIX_NAMESPACE": f"job-{os.getpid()}",
            },
        )
        for rank in range(count)
    ]


@pytest.mark.parametrize("in_place", [False, True])
def test_ranks_share_the_work(kept: Path, tmp_path: Path, content: bytes, in_place: bool) -> None:
    copy = tmp_path / "copy"
    assert flatten(kept, copy, die_after=5).returncode == -signal.SIGKILL
    ranks = ranks_of(kept, [] if in_place else [copy], 3)
    said = [rank.communicate(timeout=120)[1] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0, 0], said
    assert (kept if in_place else copy).read_bytes() == content
    assert said[1] == said[2] == b""
    assert (b"4 of 21 pieces" in said[0]) != in_place


def test_the_failure_of_ranks_is_one_line(kept: Path, tmp_path: Path) -> None:
    (tmp_path / "copy").touch()
    ranks = ranks_of(kept, [tmp_path / "copy"], 2)
    said = [rank.communicate(timeout=120)[1] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [1, 1]
    assert said[0].count(b"\n") == 1
    assert b"--force replaces it" in said[0]
    assert said[1] == b""
    assert {one.name for one in tmp_path.iterdir()} == {"file", "copy"}
