"""`iotune report --site`: a folder of traces by workload, without a name of anybody."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from iotune.cli import app
from iotune.html_report.site import Site, SiteRun, SiteWorkload, site_of
from iotune.html_report.site_page import LAST_RUNS, site_page
from iotune.traces.trace import open_trace
from support.installed.page import Element, parsed
from support.repository import TESTS

NEWEST = max((TESTS / "data").glob("v*"), key=lambda one: int(one.name[1:]))


def reported(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["report", *(str(word) for word in words)])


def rows(whole: Element, caption: str) -> list[list[str]]:
    for table in whole.all("table"):
        if caption in table.all("caption")[0].text:
            return [[cell.text for cell in row.children] for row in table.all("tr")]
    raise AssertionError(f"no table {caption!r}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "ann" / "traces"
    place.mkdir(parents=True)
    for name in ("four-ranks-hdf5", "merged-ranks", "pause", "serial-posix"):
        shutil.copy(NEWEST / f"{name}.iotrace", place)
    shutil.copy(NEWEST / "four-ranks-hdf5.iotrace", tmp_path / "again.iotrace")
    (place / "bad.iotrace").write_text("none")
    return tmp_path


def test_workloads_by_time_in_io(folder: Path) -> None:
    site = site_of(folder)
    times = [one.io_seconds for one in site.workloads]
    assert times == sorted(times, reverse=True) and sum(times) > 0
    counted = {one.program: len(one.runs) for one in site.workloads}
    assert counted == {"ph5example": 3, "serial": 1, "pause": 1}
    traces = [NEWEST / "four-ranks-hdf5.iotrace", NEWEST / "merged-ranks.iotrace"]
    alone = [open_trace(one).summary.io_seconds for one in traces]
    assert site.workloads[0].io_seconds == pytest.approx(2 * alone[0] + alone[1])
    assert site.left_out == ["1 of 6 traces: is not a trace of iotune"]


def test_the_page_names_nobody(folder: Path) -> None:
    result = reported("--site", folder, "-o", "-")
    assert result.exit_code == 0
    assert (
        "ann" not in result.stdout.replace("scanned", "").split("</style>")[1].split("<script")[0]
    )
    assert str(folder) not in result.stdout and "/tmp" not in result.stdout
    whole = parsed(result.stdout)
    table = rows(whole, "Time in I/O is that")
    assert table[1][:5] == ["ph5example", "4", "1", "1", "3"]
    assert [one.text for one in whole.all("h2")][-1] == "What is missing"
    (figure,) = whole.all("figure")
    assert len(figure.all("rect", class_="untuned")) == 3


def test_users_are_numbered_by_their_time(folder: Path, monkeypatch) -> None:
    real = Path.stat

    def stat(self: Path, **options: bool) -> os.stat_result:
        found = list(real(self, **options))
        if self.name == "serial-posix.iotrace":
            found[4] = 4711
        return os.stat_result(found)

    monkeypatch.setattr(Path, "stat", stat)
    site = site_of(folder)
    users = {one.program: {run.user for run in one.runs} for one in site.workloads}
    assert users == {"ph5example": {1}, "serial": {2}, "pause": {1}} and site.users == 2
    assert "4711" not in site_page(site)


def test_only_the_last_runs_are_drawn() -> None:
    runs = [SiteRun(1, 1e9 + at, 2.0, 1.0 + at, 10, 0, at % 2 == 0) for at in range(50)]
    whole = parsed(site_page(Site([SiteWorkload("a.out", 4, 1, runs)], 1, [])))
    (figure,) = whole.all("figure")
    bars = [*figure.all("rect", class_="tuned"), *figure.all("rect", class_="untuned")]
    assert len(bars) == LAST_RUNS
    assert rows(figure, "The last runs")[-1][3] == "50 s"


def test_bad_input_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "bad.iotrace").write_text("none")
    (tmp_path / "empty").mkdir()
    cases: tuple[tuple[list[str | Path], int, str], ...] = (
        (["--site", tmp_path / "nowhere"], 1, "no such directory"),
        (["--site", tmp_path / "empty"], 1, "there is no trace in it"),
        (["--site", tmp_path, "-o", tmp_path], 1, "it is a directory"),
        (["--site", tmp_path, "-o", "-"], 1, "no trace in it can be read"),
        (["--site", tmp_path, NEWEST / "serial-posix.iotrace"], 2, "name no traces"),
    )
    for words, status, said in cases:
        result = reported(*words)
        assert result.exit_code == status and result.stdout == ""
        assert said in result.stderr
