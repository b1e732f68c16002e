"""The kept traces, and what iotune reads in them."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from support.repository import TESTS

DATA = TESTS / "data"


def kept(folder: Path = DATA) -> list[Path]:
    """All of them below `folder`."""
    return sorted([*folder.rglob("*.iotrace"), *folder.rglob("*.iobuf.gz")])


def unpacked(trace: Path, place: Path) -> Path:
    """The file that iotune reads; buffers, which are mostly zeros, are kept packed."""
    if trace.suffix != ".gz":
        return trace
    found = place / trace.stem
    found.write_bytes(gzip.decompress(trace.read_bytes()))
    return found


def expected(trace: Path) -> tuple[Path, Path]:
    """Where the patterns and the calls that stand in a trace are written down."""
    stem = trace.name.split(".")[0]
    return trace.with_name(f"{stem}.json"), trace.with_name(f"{stem}.calls.json")


def write_expected(trace: Path, readable: Path) -> None:
    """Write them down."""
    patterns, calls = expected(trace)
    patterns.write_text(shown_patterns(readable))
    calls.write_text(shown_calls(readable))


def shown_patterns(readable: Path) -> str:
    """`iotune show --json`."""
    summary: dict[str, Any] = json.loads(_typed("show", str(readable), "--json"))
    # Whether its process runs can be known on its own host only.
    summary["warnings"] = [
        one.replace("is still running", "ended early (a signal, _exit or exec)")
        for one in summary["warnings"]
    ]
    return json.dumps(summary, indent=2) + "\n"


def shown_calls(readable: Path) -> str:
    """`iotune show --calls --json`."""
    return _typed("show", str(readable), "--calls", "--json")


def _typed(*words: str) -> str:
    command = [sys.executable, "-m", "iotune", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
