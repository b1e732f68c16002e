"""The files of the installed package, and the tools that check packages."""

from __future__ import annotations

import subprocess
from importlib import metadata
from pathlib import Path

import pytest

import iotune
from support.repository import ROOT

PACKAGE = Path(iotune.__file__).parent
# Made by tools/setup.sh packaging.
TOOLS = ROOT / "build" / "packaging"


def tool(name: str, environment: str = "venv") -> Path:
    """A program of the packaging tools; skips the test where they are not installed."""
    path = TOOLS / environment / "bin" / name
    if not path.exists():
        pytest.skip(f"NOT VERIFIED: there is no {name} (tools/setup.sh packaging)")
    return path


def output(*command: object) -> str:
    """What a program that must succeed prints."""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


def metadata_files() -> list[Path]:
    """What lies in the package's .dist-info."""
    files = metadata.files("iotune") or []
    return [Path(str(file.locate())) for file in files if ".dist-info" in str(file)]


def native_files() -> list[Path]:
    """Libraries, extension and programs of the package."""
    found = sorted(PACKAGE.glob("_core*.so"))
    found += sorted(PACKAGE.glob("lib/*.so")) + sorted(PACKAGE.glob("bin/*"))
    return found
