"""docs/safety.md has a row for every parameter, and the tests that it names exist."""

from __future__ import annotations

import re

from support.repository import ROOT, TESTS

SAFETY = (ROOT / "docs" / "safety.md").read_text()


def test_every_parameter_has_a_row() -> None:
    table = (ROOT / "patterndb" / "settings" / "parameters.h").read_text()
    known = re.findall(r'^    \{"(\w+)", ParameterLayer::', table, re.MULTILINE)
    assert len(known) > 10, known
    offered = SAFETY.split("## Never set")[0]
    rows = re.findall(r"^\| (\w+) \|", offered, re.MULTILINE)
    described = [name for name in rows if name != "setting"]
    assert sorted(described) == sorted(known)


def test_every_row_names_a_test() -> None:
    offered = SAFETY.split("## Never set")[0]
    rows = [line for line in offered.splitlines() if re.match(r"^\| (?!setting )\w+ \|", line)]
    assert len(rows) > 10, rows
    for row in rows:
        assert "test" in row.rstrip("| ").split("|")[-1], row


def test_every_test_that_it_names_exists_and_is_run() -> None:
    lists = "\n".join(path.read_text() for path in TESTS.rglob("CMakeLists.txt"))
    run = set(re.findall(r"[\w.-]+", lists))
    sources = {path.name: path.read_text() for path in TESTS.rglob("*_test.cpp")}
    sources |= {path.name: path.read_text() for path in TESTS.rglob("test_*.py")}
    named = re.findall(r"`((?:test_\w+\.py|\w+_test\.cpp)\s[^`]+)`", SAFETY)
    assert len(named) > 20, named
    for one in named:
        source, *cases = one.split()
        assert source in sources, one
        for case in cases:
            if source.endswith(".py"):
                assert f'"{case}"' in sources[source], (one, case)
                assert case in run and source in lists, (one, case)
            else:
                assert re.search(rf"TEST(_F|_P)?\({case},", sources[source]), (one, case)
                assert source in run, one
