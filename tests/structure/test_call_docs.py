"""docs/calls.md says what recorder/calls.table says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support.repository import CALLS_TABLE, ROOT


def test_the_documented_calls_are_those_of_the_table(tmp_path: Path) -> None:
    made = tmp_path / "calls.md"
    script = ROOT / "recorder" / "generate" / "generate_call_docs.py"
    table = CALLS_TABLE
    subprocess.run([sys.executable, str(script), str(table), str(made)], check=True)
    assert made.read_text() == (ROOT / "docs" / "calls.md").read_text(), (
        "run recorder/generate/generate_call_docs.py recorder/calls.table docs/calls.md"
    )
