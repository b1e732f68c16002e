"""docs/safety.md has a row for every parameter, and the tests that it names exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SAFETY = (ROOT / "docs" / "safety.md").read_text()


def test_every_parameter_has_a_row() -> None:
    table = (ROOT / "patterndb" / "parameters.h").read_text()
    known = re.findall(r'^    \{"(\w+)", ParameterLayer::', table, re.MULTILINE)
    assert len(known) > 10, known
    offered = SAFETY.split("## Never set")[0]
    rows = re.findall(r"^\| (\w+) \|", offered, re.MULTILINE)
    described = [name for name in rows if name != "setting"]
    assert sorted(described) == sorted(known)


def test_every_test_that_it_names_exists() -> None:
    sources = {path.name: path.read_text() for path in (ROOT / "tests").rglob("*_test.cpp")}
    sources |= {path.name: path.read_text() for path in (ROOT / "tests").rglob("test_*.py")}
    named = re.findall(r"`((?:test_\w+\.py|\w+_test\.cpp)\s[^`]+)`", SAFETY)
    assert len(named) > 20, named
    for one in named:
        source, *cases = one.split()
        assert source in sources, one
        for case in cases:
            assert f'"{case}"' in sources[source] or f"TEST({case}," in sources[source], (one, case)
