"""Runs that are ended when their time is over leave nothing behind."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from iotune.launch.limited_run import run_limited


def lives(pid: int) -> bool:
    """Whether the process runs; one that nobody has waited for does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def gone(pid: int) -> bool:
    for _ in range(200):
        if not lives(pid):
            return True
        time.sleep(0.05)
    return False


def test_output_and_status_come_back():
    done = run_limited(["sh", "-c", "echo out; echo err >&2; exit 3"])
    assert (done.returncode, done.stdout, done.stderr) == (3, "out\n", "err\n")
    assert run_limited(["env"], {"ONLY": "this"}, 60).stdout == "ONLY=this\n"


@pytest.mark.parametrize("ignoring", ["", "trap '' TERM; "])
def test_who_a_run_started_ends_with_it(tmp_path: Path, ignoring: str):
    note = tmp_path / "pids"
    script = f"{ignoring}sleep 300 & echo $! $$ > {note}.new; mv {note}.new {note}; wait; sleep 300"
    began = time.monotonic()
    with pytest.raises(subprocess.TimeoutExpired):
        run_limited(["sh", "-c", script], None, 2)
    assert time.monotonic() - began < 120  # and not after its 300
    assert all(gone(int(pid)) for pid in note.read_text().split())


def test_what_cannot_be_started_says_so(tmp_path: Path):
    with pytest.raises(FileNotFoundError):
        run_limited([str(tmp_path / "missing")])
