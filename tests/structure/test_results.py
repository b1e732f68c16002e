"""The pages of results: tables are those of the data, four parts are there, no figure by hand.

Each rule is tried on a folder that breaks it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from bench.results import pages, tables
from bench.results.pivot import Pivot
from bench.results.writers import WRITERS
from support.repository import ROOT

FOLDER = ROOT / "docs" / "results"
# A figure with a fraction, or an interval. Counts that say what is measured are none.
FIGURE = re.compile(r"\d+\.\d+|\(\S+ to \S+\)")
ROW = {"what": "added, ns", "value": 20.77, "low": 20.3, "high": 21.29, "goal": "<= 40 ns",
       "holds": True}  # fmt: skip
MACHINE = {"cpu": "a processor", "cores": 2, "kernel": "6.1", "load": 0.5}


def without_tables(text: str) -> str:
    """A page's own prose."""
    prose = pages.MARKED.sub("", text)
    lines = [line for line in prose.splitlines() if not line.startswith("    ")]
    return re.sub(r"`[^`]*`|\]\([^)]*\)", "", "\n".join(lines))


def missing_parts(folder: Path) -> list[str]:
    """Pages without one of the four parts, in their order, or without a table."""
    wrong = []
    for page in sorted(folder.glob("*.md")):
        text = page.read_text()
        if not pages.MARKED.search(text):
            wrong.append(f"{page.name}: no table")
        if page.name == "README.md":
            continue
        found = [line for line in text.splitlines() if line.startswith("## ")]
        if found != list(pages.PARTS):
            wrong.append(f"{page.name}: {found}")
    return wrong


def written_by_hand(folder: Path) -> list[str]:
    """Figures outside of the tables that are made, and tables that nothing makes."""
    wrong = []
    for page in sorted(folder.glob("*.md")):
        prose = without_tables(page.read_text())
        wrong += [f"{page.name}: {figure}" for figure in FIGURE.findall(prose) if figure]
        wrong += [f"{page.name}: {line}" for line in prose.splitlines() if line.startswith("|")]
    return wrong


def data_without_a_page(folder: Path) -> list[str]:
    """Data that no page shows."""
    text = "".join(page.read_text() for page in folder.glob("*.md"))
    shown = {match["name"] for match in pages.MARKED.finditer(text)}
    names = {path.name.removesuffix(".json.gz") for path in (folder / "data").glob("*/*.json.gz")}
    return sorted(names - shown)


def test_the_pages_are_those_of_the_data():
    """`make results` changes nothing."""
    assert [page.name for page in pages.stale(FOLDER)] == []


@pytest.mark.parametrize("rule", [missing_parts, written_by_hand, data_without_a_page])
def test_the_pages_obey(rule):
    assert rule(FOLDER) == []


@pytest.fixture
def folder(tmp_path):
    """A folder with one page, of one run, before its table is written."""
    content = {"name": "tracer", "rows": [ROW], "machine": MACHINE, "rounds": {},
               "taken": {"date": "2026-11-28", "commit": "abc"}}  # fmt: skip
    tables.store(tmp_path / "data" / "runs" / "tracer.json.gz", content)
    parts = "\n\n".join(pages.PARTS)
    marked = "<!-- results: tracer all -->\n<!-- end of results -->"
    (tmp_path / "tracer.md").write_text(f"# T\n\n{parts}\n\n{marked}\n")
    return tmp_path


def test_a_page_is_written_once(folder):
    assert [page.name for page in pages.write(folder)] == ["tracer.md"]
    text = (folder / "tracer.md").read_text()
    assert "| added, ns | 20.77 | 20.3 to 21.29 | ≤ 40 ns: holds |" in text
    assert "*Taken 2026-11-28: build of abc, 2 cores of a processor, Linux 6.1" in text
    assert pages.write(folder) == []


def test_a_changed_figure_is_found(folder):
    pages.write(folder)
    page = folder / "tracer.md"
    page.write_text(page.read_text().replace("20.77", "19.77"))
    assert pages.stale(folder) == [page]


def test_what_is_transcribed_says_so_until_a_run_is_taken_in(folder):
    run = tables.load(folder / "data" / "runs" / "tracer.json.gz")
    (folder / "data" / "runs" / "tracer.json.gz").unlink()
    content = {"name": "tracer", "transcribed": {"commit": "abc", "page": "x"}, "tables": {
        "all": {"columns": ["a", "b"], "rows": [["c", "1"]], "taken": "On a day."}}}  # fmt: skip
    transcribed = folder / "data" / "transcribed" / "tracer.json.gz"
    tables.store(transcribed, content)
    pages.write(folder)
    text = (folder / "tracer.md").read_text()
    assert "| c | 1 |\n\n*Transcribed from the page of commit abc; the run's file" in text

    (folder / "tracer.json").write_text(json.dumps(run))
    pages.take(folder, folder / "tracer.json", "def", None)
    pages.write(folder)
    assert "build of def" in (folder / "tracer.md").read_text()
    assert not transcribed.exists()


@pytest.mark.parametrize(
    ("rule", "name", "text", "finding"),
    [
        (missing_parts, "a.md", "# A\n", "a.md: no table"),
        (missing_parts, "tracer.md", "## Results\n", "tracer.md: ['## Results']"),
        (written_by_hand, "a.md", "It takes 20.5 ns.\n", "a.md: 20.5"),
        (written_by_hand, "a.md", "It takes 20 (19 to 21).\n", "a.md: (19 to 21)"),
        (written_by_hand, "a.md", "| a | b |\n", "a.md: | a | b |"),
        (data_without_a_page, "tracer.md", "# T\n", "tracer"),
    ],
)
def test_a_page_that_breaks_a_rule_is_found(folder, rule, name, text, finding):
    (folder / name).write_text(text)
    assert finding in rule(folder)


def test_a_table_that_is_not_there_is_named(folder):
    (folder / "a.md").write_text("<!-- results: tracer gone -->\n<!-- end of results -->\n")
    with pytest.raises(tables.NoSuchTable, match="tracer has no table 'gone'"):
        pages.write(folder)


@pytest.mark.parametrize(
    ("low", "high", "holds", "said"),
    [(1.0, 2.0, True, "≤ 3: holds"), (2.0, 4.0, False, "≤ 3: undecided"),
     (3.5, 4.0, False, "≤ 3: **missed**"), (None, None, False, "≤ 3: **missed**")],
)  # fmt: skip
def test_a_verdict_is_the_intervals(low, high, holds, said):
    row = {**ROW, "goal": "<= 3", "low": low, "high": high, "holds": holds}
    assert tables.verdict(row) == said


def test_rows_stand_beside_each_other():
    rows = [
        {**ROW, "what": f"{case}: {arm}, ms", "goal": None} for case in "ab" for arm in ("x", "y")
    ]
    pivot = Pivot("case", "(?P<case>.*): (?P<measure>.*), ms", {"x": "X", "y": "Y"})
    made = pivot.table(rows, "")
    value = "20.77 (20.3 to 21.29)"
    assert made.columns == ["case", "X", "Y"]
    assert made.rows == [["a", value, value], ["b", value, value]]


def test_each_writer_has_data():
    """A writer whose benchmark is gone, or was renamed, is found."""
    known = {path.name.removesuffix(".json.gz") for path in (FOLDER / "data").glob("*/*.json.gz")}
    assert set(WRITERS) - known == set()
