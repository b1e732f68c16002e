"""Where things lie in the checkout."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
TESTBEDS = TESTS / "testbed"
CALLS_TABLE = ROOT / "recorder" / "calls.table"
# What tools/setup.sh companions fetched.
COMPANIONS = ROOT / "build" / "companions"
# The installed command and its interpreter.
IOTUNE = ROOT / ".venv" / "bin" / "iotune"
VENV_PYTHON = ROOT / ".venv" / "bin" / "python"
# The programs of a build.
KERNELS = Path(os.environ.get("IOTUNE_KERNELS", ROOT / "build" / "dev" / "bin"))


def program_source(name: str) -> Path:
    """The source of one of the tests' programs, wherever below tests/*/programs it lies."""
    (found,) = TESTS.glob(f"*/programs/**/{name}")
    return found
