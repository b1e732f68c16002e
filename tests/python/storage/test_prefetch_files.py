"""Real loaders whose samples are files: each is opened, read whole and closed, and the next one is
read ahead by the order of the epoch before.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import iotune
from iotune.cli.fuse import _program
from iotune.traces.run_epochs import prefetched_in_all
from support.installed.habits import needs_the_library
from support.preloaded import plain_environment
from support.repository import COMPANIONS, program_source

TORCH = COMPANIONS / "torch" / "bin" / "python"
SAMPLES = 1024

pytestmark = [
    needs_the_library,
    pytest.mark.skipif(
        not TORCH.exists(), reason="NOT VERIFIED: zarr: no PyTorch here (tools/setup.sh torch)"
    ),
]


def samples_read(work: Path, kind: str, trace: Path, *words: str, **environment: str) -> list[str]:
    """What each epoch has read, behind a latency: the count of its samples, and their sum."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "iotune", "fuse", "m", "root", "--latency", "2ms", "--"),
            *(sys.executable, "-m", "iotune", "run", "-o", str(trace), "--"),
            *(str(TORCH), str(program_source("dataloader_reader.py")), kind, "m/data", "--cold"),
            *("--order", "seed", *words),
        ],
        cwd=work,
        env=plain_environment()
        | {"XDG_STATE_HOME": str(work), "IOTUNE_DB": "none", "PYTHONWARNINGS": "ignore"}
        | environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if line[:1].isdigit()]
    return [" ".join(row[2:4]) for row in rows]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("zarr", ["--workers", "2", "--persistent"]),
        ("npy", ["--workers", "2"]),  # new workers for each epoch
    ],
)
def test_chunks_and_samples_are_read_ahead(tmp_path: Path, kind: str, words: list[str]) -> None:
    if not os.access("/dev/fuse", os.W_OK) or shutil.which("fusermount3") is None:
        pytest.skip("NOT VERIFIED: prefetching: /dev/fuse or fusermount3 cannot be had here")
    _program()
    # given
    for name in ("m", "root"):
        (tmp_path / name).mkdir()
    program = program_source("dataloader_reader.py")
    subprocess.run(
        [str(TORCH), str(program), kind, str(tmp_path / "root" / "data"), "make"],
        check=True,
        env=plain_environment(),
    )
    bare = samples_read(tmp_path, kind, tmp_path / "bare.iotrace", "--epochs", "1", *words)
    # when
    trace = tmp_path / "run.iotrace"
    ahead = {"IOTUNE_PREFETCH": "recorded", "IOTUNE_PREFETCH_SCHEDULE": "ours"}
    found = samples_read(tmp_path, kind, trace, "--epochs", "2", *words, **ahead)
    # then: the same samples, and files of the second epoch were there before they were opened
    assert found == 2 * bare
    run = iotune.open_trace(trace).summary
    done = prefetched_in_all(run)
    read_ahead = [one for one in run.files if one.prefetch is not None and one.prefetch.hits]
    assert done is not None and len(read_ahead) >= SAMPLES // 8, done
    assert prefetched_in_all(iotune.open_trace(tmp_path / "bare.iotrace").summary) is None
    plans = list((tmp_path / "iotune" / "prefetch").glob("*.files"))
    assert plans and sum(one.stat().st_size for one in plans) <= 8 * SAMPLES
