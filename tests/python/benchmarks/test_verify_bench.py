"""The table of published verdicts, and how others are compared with it."""

from __future__ import annotations

from dataclasses import replace

from bench.verify.published_tests import MODELS, Row, compared, outcome, table

ROW = Row("pnetcdf", "add_var", 4, {"posix": 0, "commit": 4, "session": 4, "mpiio": 4}, "add_var")
FILE = {"pairs": 3, "posix": 0, "commit": 1, "session": 2, "mpiio": 3}


def test_each_published_test_has_a_program_or_a_reason() -> None:
    rows = table()
    assert len(rows) == 91
    assert all(bool(row.program) != bool(row.missing) for row in rows)
    assert sum(bool(row.program) for row in rows) >= 60
    names = [row.name for row in rows]
    assert len(set(names)) == len(names)


def test_verdicts_are_compared_and_numbers_are_not() -> None:
    found = compared(ROW, {"a": FILE, "b": FILE})
    assert outcome(found) == "same"
    assert (found["ours"][0], found["published"][0]) == (6, 4)
    assert all(found[model] == "same" for model in MODELS)


def test_another_verdict_differs_until_it_is_explained() -> None:
    raced = {"a": {**FILE, "posix": 1}}
    found = compared(ROW, raced)
    assert outcome(found) == "different" and found["posix"] == "1 here, 0 published"
    explained = replace(ROW, explained={"posix": "other_program"})
    assert outcome(compared(explained, raced)) == "explained"
    assert outcome(compared(explained, {"a": {**FILE, "mpiio": 0}})) == "different"


def test_a_row_without_figures_differs_from_nothing() -> None:
    unknown = Row("pnetcdf", "test_varm", None, dict.fromkeys(MODELS), "test_varm")
    assert outcome(compared(unknown, {"a": FILE})) == "same"
