"""The brute force decides the small programs, put down on paper, as the standards do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tomllib

from support.installed.brute_force import MODELS, judge
from support.installed.paper_programs import PATH, PROGRAMS, put_down
from support.repository import TESTS

EXPECTED: dict[str, Any] = tomllib.loads((Path(__file__).parent / "expected.toml").read_text())
FORMS = [(name, form) for name in EXPECTED for form in ("race", "ordered")]


def test_every_program_is_there_in_c_and_on_paper() -> None:
    sources = {path.stem for path in (TESTS / "mpi" / "programs" / "order").rglob("*.c")}
    assert sources == set(EXPECTED) == set(PROGRAMS)


@pytest.mark.parametrize("name", EXPECTED)
def test_each_model_asks_for_more_than_the_weaker_ones(name: str) -> None:
    for form in ("race", "ordered"):
        said = EXPECTED[name][form]
        assert said["posix"] <= said["commit"] <= said["session"] <= said["pairs"]
        assert said["posix"] <= said["mpiio"] <= said["pairs"]
        assert said["because"] and EXPECTED[name]["by"]
    assert EXPECTED[name]["race"] != EXPECTED[name]["ordered"]


@pytest.mark.parametrize("below", [True, False], ids=["posix-inside", "mpi-alone"])
@pytest.mark.parametrize(("name", "form"), FORMS)
def test_a_small_program_on_paper(name: str, form: str, below: bool, tmp_path: Path) -> None:
    # given the program's calls, in one of the orders that it may have
    trace = tmp_path / "paper.iotrace"
    put_down(name, form == "ordered", EXPECTED[name]["ranks"], trace, below)
    # when every pair is decided by itself
    found = judge(trace)
    # then it is what the standards say
    said = EXPECTED[name][form]
    assert found == {PATH: {word: said[word] for word in ("pairs", *MODELS)}}
