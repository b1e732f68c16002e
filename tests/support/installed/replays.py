"""Programs that are recorded, replayed and recorded again."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import iotune
from iotune.replay.mpi import Mpi
from iotune.replay.replayer import find_call_replayer
from support.repository import program_source


def typed(work: Path, *words: str, status: int = 0) -> str:
    environment = os.environ | {f"XDG_{kind}_HOME": str(work) for kind in ("STATE", "DATA")}
    done = subprocess.run(
        [sys.executable, "-m", "iotune", *words],
        cwd=work,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout if status == 0 else done.stderr


def record(work: Path, trace: str, command: Sequence[str]) -> iotune.Trace:
    typed(work, "run", "--mode", "record", "--timing", "exact", "-o", trace, "--", *command)
    return iotune.open_trace(work / trace)


def compiled(work: Path, compiler: str, name: str) -> str:
    program = work / name
    subprocess.run(
        [compiler, "-O1", str(program_source(f"{name}.c")), "-o", str(program)], check=True
    )
    return str(program)


def replayed(
    work: Path, mpi: Mpi, name: str, ranks: int, *options: str
) -> tuple[iotune.Trace, str]:
    """The trace of a replay of program.iotrace, and its plan."""
    plan, directory = work / f"{name}.plan", work / name
    plan.write_text(typed(work, "replay", "program.iotrace", "--plan-only", *options))
    directory.mkdir()
    command = [*mpi.command(ranks), str(find_call_replayer(mpi)), "--file-dir", str(directory)]
    return record(work, f"{name}.iotrace", [*command, str(plan)]), plan.read_text()


def base_name(path: str) -> str:
    """Of a file, whether of the run or of its replay."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", re.sub(r"^f\d+-", "", Path(path).name))
