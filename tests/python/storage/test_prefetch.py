"""What `iotune explain` says of prefetching, and what it says where there was none."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from iotune.cli.fuse import _program
from iotune.launch import preload
from support import preloaded
from support.installed.user_home import Home

pytestmark = pytest.mark.skipif(
    preload.find_library(preload.LIBRARY) is None, reason="libiotune.so is not installed"
)

READER = """
import os, sys, time
fd = os.open(sys.argv[1], os.O_RDONLY)
for i in range(60):
    os.pread(fd, 65536, i * 600_000)
    time.sleep(0.02)
"""


# Planes of the second axis: each takes a chunk out of every row of chunks.
CHUNKS = """
import h5py, sys, time
with h5py.File(sys.argv[1], "r") as file:
    for y in range(0, 64, 16):
        for z in range(0, 128, 4):
            file["field"][z : z + 4, y : y + 16, :]
            time.sleep(0.005)
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    if not os.access("/dev/fuse", os.W_OK) or shutil.which("fusermount3") is None:
        pytest.skip("NOT VERIFIED: prefetching: /dev/fuse or fusermount3 cannot be had here")
    _program()
    return Home(tmp_path)


def read_all(home: Home, tmp_path: Path, predictor: str, delivery: str = "hint") -> None:
    """Run READER on a file system with latency."""
    for name in ("m", "root"):
        (tmp_path / name).mkdir(exist_ok=True)
    (tmp_path / "root" / "data").write_bytes(os.urandom(600_000) * 61)
    (tmp_path / "reader.py").write_text(READER)
    done = subprocess.run(
        [sys.executable, "-m", "iotune", "fuse", "m", "root", "--latency", "5ms", "--",
         "env", preloaded.setting(preload.preload_path()), f"IOTUNE_PREFETCH={predictor}",
         f"IOTUNE_PREFETCH_DELIVERY={delivery}", f"IOTUNE_TRACE={tmp_path / 'run.iotrace'}",
         # the interpreter itself: what stands in PATH may be a script
         os.path.realpath(sys.executable), "-S", "reader.py", "m/data"],
        cwd=tmp_path, env=home.environment, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_explain_tells_what_prefetching_did(home: Home, tmp_path: Path) -> None:
    # when
    read_all(home, tmp_path, "pattern")
    # then
    (file,) = home.asked("explain", str(tmp_path / "run.iotrace"))["files"]
    assert file["path"] == str(tmp_path / "m" / "data")
    done = file["prefetch"]
    assert done["predictor"] == "pattern" and done["reads"] == 60 and done["streams"] == 1
    assert done["hits"] + 10 >= done["requests"] - done["unused_bytes"] // 65536
    assert done["requested_bytes"] == 65536 * done["requests"]
    assert 2 <= done["depth"] <= 32
    text = home.type("explain", str(tmp_path / "run.iotrace")).stdout
    assert f"pattern: {done['hits']} of 60 reads hit" in text, text
    assert f"up to {done['depth']} ahead, 1 stream" in text


def test_a_script_s_chunks_are_read_ahead_through_the_wheel_s_hdf5(
    home: Home, tmp_path: Path
) -> None:
    h5py = pytest.importorskip("h5py")
    # given
    for name in ("m", "root"):
        (tmp_path / name).mkdir()
    with h5py.File(tmp_path / "root" / "planes.h5", "w") as file:
        # Chunks further apart than what the kernel reads ahead by itself.
        file.create_dataset("field", (128, 64, 2048), "f4", chunks=(4, 16, 2048), fillvalue=1)
        file["field"][...] = 2
    (tmp_path / "chunks.py").write_text(CHUNKS)
    # when
    done = subprocess.run(
        [sys.executable, "-m", "iotune", "fuse", "m", "root", "--latency", "2ms", "--",
         "env", preloaded.setting(preload.preload_path()), "IOTUNE_PREFETCH=pattern",
         f"IOTUNE_TRACE={tmp_path / 'run.iotrace'}", sys.executable, "chunks.py", "m/planes.h5"],
        cwd=tmp_path, env=home.environment, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    # then
    assert done.returncode == 0, done.stderr
    found = home.asked("explain", str(tmp_path / "run.iotrace"))["files"]
    (prefetch,) = [one["prefetch"] for one in found if one["path"].endswith("planes.h5")]
    assert prefetch["reads"] >= 128 and prefetch["hits"] >= 64, prefetch


def test_explain_tells_what_was_served(home: Home, tmp_path: Path) -> None:
    # The cache's table has to be in memory.
    with tempfile.TemporaryDirectory(prefix="iotune-test-", dir="/dev/shm") as buffers:
        home.environment["IOTUNE_BUFFER_DIR"] = buffers
        read_all(home, tmp_path, "pattern", "cache")
    (file,) = home.asked("explain", str(tmp_path / "run.iotrace"))["files"]
    done = file["prefetch"]
    assert 0 < done["served"] <= 60, done
    text = home.type("explain", str(tmp_path / "run.iotrace")).stdout
    assert f"{done['served']} served from the cache" in text, text


def test_explain_says_nothing_of_what_was_not_asked_for(home: Home, tmp_path: Path) -> None:
    read_all(home, tmp_path, "none")
    assert home.asked("explain", str(tmp_path / "run.iotrace"))["files"] == []
