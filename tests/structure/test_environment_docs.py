"""docs/environment.md lists the variables that the sources read or set, and no others."""

from __future__ import annotations

import re
from pathlib import Path

from support.repository import ROOT

PRODUCT = ("core", "patterns", "recorder", "analyzer", "patterndb", "prefetch", "tuner", "python",
           "models", "kernels", "fuse", "logstore",
           "gather")  # fmt: skip
# A string that begins with a name: read, set, or said of itself.
READ = re.compile(r'"(IOTUNE_[A-Z0-9_]+)(?=["= :])')
ROW = re.compile(r"^\| (IOTUNE_[A-Z0-9_]+) \|(.*)\|$", re.MULTILINE)


def variables_read(root: Path) -> set[str]:
    found: set[str] = set()
    for room in PRODUCT:
        for path in (root / room).rglob("*"):
            if path.suffix in (".py", ".cpp", ".h", ".c") and "generate" not in path.parts:
                found.update(READ.findall(path.read_text(errors="replace")))
    return found


def test_every_variable_of_the_sources_is_documented_once() -> None:
    rows = [name for name, _ in ROW.findall((ROOT / "docs" / "environment.md").read_text())]
    assert sorted(rows) == sorted(variables_read(ROOT))


def test_every_row_has_a_meaning_and_a_default() -> None:
    for name, cells in ROW.findall((ROOT / "docs" / "environment.md").read_text()):
        assert all(cell.strip() for cell in cells.split("|")), name


def test_a_new_variable_is_found(tmp_path: Path) -> None:
    source = tmp_path / "recorder" / "new.cpp"
    source.parent.mkdir()
    source.write_text('auto* a = std::getenv("IOTUNE_NEW");\n#define IOTUNE_MACRO\n')
    assert variables_read(tmp_path) == {"IOTUNE_NEW"}
