"""Logs of other tools, imported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import iotune
from iotune.importing import Imported, import_log
from support.repository import TESTS

LOGS = TESTS / "data" / "logs"


def imported(log: Path, tmp_path: Path, times: str = "exact") -> tuple[iotune.Trace, Imported]:
    done = import_log(log, tmp_path / "made.iotrace", times=times)
    assert sorted(path.name for path in tmp_path.glob("*made*")) == ["made.iotrace"]
    return iotune.open_trace(done.trace), done


def rows(trace: iotune.Trace, *names: str, layer: str = "posix") -> list[tuple]:
    frame = trace.calls(layer=layer)
    if names:
        frame = frame[frame["call"].isin(names)]
    columns = ["rank", "call", "file", "offset_bytes", "length_bytes", "start_ns", "duration_ns"]
    return [tuple(row) for row in frame[columns].itertuples(index=False)]


def typed(work: Path, *words: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "iotune", *words],
        cwd=work,
        env=os.environ | {"XDG_STATE_HOME": str(work / "state")},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done
