"""h5py's scripts as people write them: a plain one has no finding, a shuffled reader its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import iotune
from iotune.findings import findings_of
from support.installed.habits import ids, needs_the_library
from support.preloaded import plain_environment

pytestmark = needs_the_library

PLAIN = """
import h5py, numpy
with h5py.File("a.h5", "w") as file:
    group = file.create_group("run")
    group.attrs["dt"] = 0.1
    group.attrs["name"] = "plain"
    for k in range(10):
        group.create_dataset(f"step{k}", data=numpy.random.rand(256, 512))
with h5py.File("a.h5") as file:
    print(sum(file[f"run/step{k}"][...].sum() for k in range(10)))
"""
SHUFFLED = """
import h5py, numpy
data = numpy.random.rand(16384, 128).astype("f4")
with h5py.File("a.h5", "w") as file:
    file.create_dataset("x", data=data, chunks=(256, 128), compression="gzip")
with h5py.File("a.h5", rdcc_nbytes=1 << 20) as file:
    for k in numpy.random.default_rng(0).permutation(16384)[:1000]:
        file["x"][k]
"""
SORTED = SHUFFLED.replace("(0).permutation(16384)[:1000]:", "(0).integers(0, 64, 64):").replace(
    'file["x"][k]', 'file["x"][256 * k : 256 * k + 256]'
)


# Opened once, one chunk after the other.
KEPT = SORTED.replace("    for k", '    x = file["x"]\n    for k').replace(
    '    file["x"][', "    x["
)


def recorded(work: Path, name: str, script: str) -> iotune.Trace:
    folder = work / name
    folder.mkdir()
    trace = folder / "run.iotrace"
    subprocess.run(
        [
            *(sys.executable, "-m", "iotune", "run", "--mode", "record", "-o", str(trace), "--"),
            *(sys.executable, "-c", script),
        ],
        cwd=folder,
        env=plain_environment() | {"XDG_STATE_HOME": str(work), "IOTUNE_DB": "none"},
        check=True,
        timeout=100,
        capture_output=True,
    )
    return iotune.open_trace(trace)


@pytest.mark.parametrize(
    ("name", "script", "expected"),
    [
        ("plain", PLAIN, []),
        ("sorted", SORTED, []),
        ("kept", KEPT, []),
        ("shuffled", SHUFFLED, ["chunk-cache", "reopened-datasets", "small-transfers"]),
    ],
)
def test_scripts_have_what_they_deserve(
    tmp_path: Path, name: str, script: str, expected: list[str]
) -> None:
    pytest.importorskip("h5py")
    found = ids(findings_of(recorded(tmp_path, name, script)))
    assert set(expected) <= set(found) and (bool(found) == bool(expected)), found
