"""`iotune run` of a program that becomes another user: its calls are that user's."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.preloaded import plain_environment

NOBODY = 65534
BUFFERS = Path(f"/dev/shm/iotune-{NOBODY}")
WRITE = "open('data', 'w').write('a' * 100000)"


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder in which both may write."""
    folder = Path(tempfile.mkdtemp(prefix="iotune-user-"))
    folder.chmod(0o777)
    before = set(BUFFERS.iterdir()) if BUFFERS.exists() else set()
    yield folder
    shutil.rmtree(folder)
    for run in set(BUFFERS.iterdir()) - before if BUFFERS.exists() else ():
        shutil.rmtree(run)


@pytest.mark.skipif(
    os.getuid() != 0 or not shutil.which("setpriv"),
    reason="NOT VERIFIED: a program that becomes another user: no root, or no setpriv",
)
@pytest.mark.parametrize("before", ["", f'/usr/bin/python3 -c "{WRITE}"; mv data mine; '])
def test_it_is_said_whose_the_calls_are(shared: Path, before: str) -> None:
    # given: a part of the run before, or none
    line = f'{before}exec setpriv --reuid={NOBODY} --clear-groups /usr/bin/python3 -c "{WRITE}"'
    trace = shared / "run.iotrace"
    # when
    done = subprocess.run(
        [sys.executable, "-m", "iotune", "run", "-o", str(trace), "--", "sh", "-c", line],
        cwd=shared, env=plain_environment() | {"XDG_STATE_HOME": str(shared), "IOTUNE_DB": "none"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    # then
    assert done.returncode == 0, done.stderr
    assert (shared / "data").stat().st_uid == NOBODY
    assert trace.exists() == bool(before)
    begin = "a part is missing in the trace" if before else "nothing was recorded"
    assert f"iotune: {begin}: the program became another user (nobody)" in done.stderr
    (run,) = BUFFERS.glob("*")
    assert str(run) in done.stderr and list(run.glob("*.iobuf"))
    assert "next: sudo -H -u nobody iotune show" in done.stderr
