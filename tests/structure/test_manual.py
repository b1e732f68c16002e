"""docs/man has the pages that the commands write, and man can read them."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from iotune.terminal.manual import pages
from support.repository import ROOT

FOLDER = ROOT / "docs" / "man"


def test_the_pages_are_those_of_the_commands() -> None:
    written = pages()
    kept = {path.name: path.read_text() for path in FOLDER.iterdir()}
    assert kept.keys() == written.keys(), "run python -m iotune.terminal.manual docs/man"
    stale = [name for name, text in written.items() if kept[name] != text]
    assert not stale, f"run python -m iotune.terminal.manual docs/man: {stale}"


def test_every_page_has_its_sections() -> None:
    for name, text in pages().items():
        for section in ("NAME", "SYNOPSIS", "DESCRIPTION"):
            assert f"\n.SH {section}\n" in text, f"{name}: {section}"


def test_groff_complains_of_none() -> None:
    if shutil.which("groff") is None:
        pytest.skip("no groff here")
    for path in sorted(FOLDER.iterdir()):
        done = subprocess.run(
            ["groff", "-man", "-Tutf8", "-ww", path], capture_output=True, text=True, check=True
        )
        assert not done.stderr, f"{path.name}: {done.stderr}"
