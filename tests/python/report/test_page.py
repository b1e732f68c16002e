"""`iotune report` on kept traces: what the page says, and that everybody can read it."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from iotune.cli import app
from iotune.findings import Estimate, Evidence, Finding, Findings, Setting
from iotune.findings.finding import Snippet
from iotune.html_report import command, gather, page_of
from iotune.html_report import page as page_module
from iotune.html_report.heat_figure import heat_figures
from iotune.html_report.rank_rows import rank_rows
from iotune.html_report.time_bins import BINS, TimeBins
from iotune.importing import import_log
from iotune.traces.summary import FilePattern, PrefetchOutcome
from iotune.traces.trace import open_trace
from support.installed.page import Element, parsed, rows, sections, table_of
from support.log_containers import add_writer, make_container
from support.repository import TESTS

NEWEST = max((TESTS / "data").glob("v*"), key=lambda one: int(one.name[1:]))
HDF5 = NEWEST / "four-ranks-hdf5.iotrace"
MERGED = NEWEST / "merged-ranks.iotrace"
POSIX = NEWEST / "serial-posix.iotrace"
MOST_BYTES = 3 << 20


def reported(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["report", "--db", "none", *(str(word) for word in words)])


def page(*traces: Path) -> Element:
    result = reported(*traces, "-o", "-")
    assert result.exit_code == 0, result.stderr
    assert len(result.stdout) < MOST_BYTES
    return parsed(result.stdout)


def test_the_run_at_a_glance() -> None:
    glance = sections(page(HDF5))["glance"]
    given = {
        one.all("dt")[0].text: one.all("span", class_="value")[0].text
        for one in glance.all("dl")[0].children
    }
    assert given["program"] == "ph5example" and given["ranks"] == "4"
    assert given["written"] == "4.5 KiB" and given["read"] == "0 B"


def test_the_heat_map_has_all_bytes_and_says_what_is_approximate() -> None:
    for trace, guessed in ((HDF5, False), (MERGED, True)):
        heat = sections(page(trace))["heat"]
        first = heat.all("figure")[0]
        values = json.loads(first.all("script")[0].words[0])
        assert [len(values["cells"]), len(values["cells"][0])] == [4, 64]
        assert sum(map(sum, values["cells"])) == pytest.approx(4608, abs=64)
        assert rows(first.all("table")[0])[1][:2] == ["0", "1.1 KiB"]
        assert ("interpolated" in first.text) is guessed


def test_launchers_that_moved_nothing_have_no_row() -> None:
    rows = rank_rows([{"rank": 1}, {"rank": -1}, {"rank": -1}, {"rank": 0}])
    bins = TimeBins(rows.count, 1.0)
    bins.bytes[0, 1, 1] = 5  # of rank 1
    bins.bytes[0, 1, 3] = 7  # of the second process without a rank
    (figure,) = heat_figures(bins, rows, 1.0)
    assert figure.values["labels"] == ["rank 0", "rank 1", "process 2"]
    cells: Any = figure.values["cells"]
    assert [sum(line) for line in cells] == [0, 5 * BINS, 7 * BINS]


def test_datasets_and_their_decomposition() -> None:
    found = sections(page(HDF5))
    datasets = table_of(found["files"], "Datasets")
    assert datasets[1][:3] == ["/Data1 and 1 more", "<2D,(BLOCK,*),(6,24)>", "write, independent"]
    assert len(datasets) == 2 and datasets[1][6:8] == ["8", "4.5 KiB"]
    (figure,) = found["decompositions"].all("figure")
    assert "1 further dataset of the file is alike" in figure.text
    assert table_of(figure, "Shares of /Data1")[1] == ["0", "25.0%", "rows 0–5, columns 0–23"]
    labels = [one.text for one in figure.all("text", class_="owner")]
    assert labels == ["0", "1", "2", "3"]


def test_an_access_map_draws_loops() -> None:
    maps = sections(page(POSIX))["maps"]
    figure = next(one for one in maps.all("figure") if "serial.bin" in one.text)
    values = json.loads(figure.all("script")[0].words[0])
    assert [0, 512, 512, 200] in [one[4:8] for one in values["loops"]]
    assert "200×{(0,512); +512}" in table_of(figure, "largest loops")[1][2]
    assert figure.all("path", class_="line-write")[0].attributes["d"].startswith("M")


def test_more_accesses_make_no_larger_page(tmp_path: Path) -> None:
    def size(accesses: int) -> int:
        log = tmp_path / f"{accesses}.csv"
        lines = ["rank,file,op,offset,length,start,end"]
        for at in range(accesses):
            rank, own = at % 4, at // 4
            lines.append(f"{rank},/d/a,write,{4096 * own + 1024 * rank},1024,{own},{own}.5")
        log.write_text("\n".join(lines) + "\n")
        trace = import_log(log, tmp_path / f"{accesses}.iotrace").trace
        result = reported(trace, "-o", "-")
        assert f"{accesses:,} accesses" in result.stdout
        return len(result.stdout)

    few, many = size(400), size(20_000)
    assert many < 1.2 * few


def test_layers_do_not_count_what_is_below_them() -> None:
    facts = gather(open_trace(HDF5))
    own = facts.gathered.own_seconds()
    outermost = float(facts.gathered.seconds.sum())
    assert set(own) == {"hdf5", "mpiio", "posix"}
    assert sum(own.values()) == pytest.approx(outermost, rel=0.02)
    slowest = float(facts.gathered.seconds.sum(axis=1).max())
    assert slowest == pytest.approx(facts.run.io_seconds, rel=0.02)


def test_files_that_are_kept_as_logs(tmp_path: Path) -> None:
    facts = gather(open_trace(HDF5))
    container = make_container(tmp_path / "c.h5")
    add_writer(container, "1.n.1", [(0, b"abcd"), (8, b"ef")], 1000)
    facts.run.files[0].path = str(container)
    found = sections(parsed(page_of([facts], ["a"])))["logs"]
    row = table_of(found, "Logs of files")[1]
    assert row[0] == str(container) and row[1:5] == ["10 B", "1", "2", "6 B"]
    assert row[-1] == "yes"
    (container / "other").mkdir()
    facts.run.files[0].path = str(container / "other")  # any folder
    assert "logs" not in sections(parsed(page_of([facts], ["a"])))


def test_workers_and_epochs_have_a_panel(tmp_path: Path) -> None:
    # given: a process that reads its records three times over, the last time in another order
    log = tmp_path / "epochs.csv"
    lines = ["rank,file,op,offset,length,start,end"]
    for at in range(3 * 32):
        record = at % 32 * (7 if at >= 64 else 1) % 32
        lines.append(f"0,/d/train,read,{65536 * record},65536,{at},{at}.5")
    log.write_text("\n".join(lines) + "\n")
    trace = import_log(log, tmp_path / "epochs.iotrace").trace
    # then
    panel = sections(page(trace))["epochs"]
    given = {
        one.all("dt")[0].text: one.all("span", class_="value")[0].text
        for one in panel.all("dl")[0].children
    }
    assert given["epochs"] == "3" and given["bytes an epoch"] == "2.0 MiB"
    assert given["time an epoch"] == "31.5 s" and given["in reads"] == "51%"
    table = table_of(panel, "Epochs")
    assert [row[:3] for row in table[1:]] == [[str(n), "32", "2.0 MiB"] for n in (1, 2, 3)]
    assert [row[6] for row in table[1:]] == ["–", "as before", "another"]
    assert "IOTUNE_PREFETCH was not set" in panel.text


def test_files_that_were_read_ahead_alike_are_one() -> None:
    # given: a sample a file
    facts = gather(open_trace(POSIX))
    done = PrefetchOutcome(predictor="recorded", reads=2, hits=2, requested_bytes=1024)
    facts.run.files = [
        FilePattern(path=f"/d/{number:06}.npy", prefetch=done) for number in range(1000)
    ]
    # when
    section = sections(parsed(page_of([facts], ["run"])))["prefetch"]
    # then
    assert "/d/#.npy (1000 files)" in section.text
    assert "2,000 of 2000 reads hit" in section.text
    assert section.text.count(".npy") == 1


def test_what_has_nothing_to_say_is_absent() -> None:
    found = sections(page(POSIX))
    assert {"decompositions", "tuning", "prefetch", "losses"}.isdisjoint(found)
    links = {one.attributes["href"][1:] for one in page(POSIX).all("nav")[0].all("a")}
    assert links == set(found)


def test_two_runs_stand_side_by_side() -> None:
    one = page(HDF5, MERGED)
    found = sections(one)
    totals = table_of(found["beside"], "The runs beside each other")
    assert totals[0] == ["", "run 1", "run 2", "run 2 over run 1"]
    assert ["written", "4.5 KiB", "4.5 KiB", "1.00×"] in totals
    times = [
        [one.text for one in figure.all("g", class_="x-axis")[0].all("text", class_="t")]
        for figure in (
            column.all("figure")[0] for column in found["heat"].all("div", class_="column")
        )
    ]
    assert times[0] == times[1]
    columns = found["heat"].all("div", class_="column")
    for column, number, trace in zip(columns, "12", (HDF5, MERGED), strict=True):
        name = column.all("p", class_="run-name")[0]
        assert name.all("b")[0].text == number and trace.name in name.text


@pytest.mark.parametrize("traces", [[HDF5], [POSIX], [HDF5, POSIX]])
def test_screen_readers_and_keyboards_find_their_way(traces: list[Path]) -> None:
    whole = page(*traces)
    every = whole.every()
    ids = [one.attributes["id"] for one in every if "id" in one.attributes]
    assert len(ids) == len(set(ids))
    for one in every:
        for name in ("aria-labelledby", "for"):
            if name in one.attributes:
                assert one.attributes[name] in ids
        if one.attributes.get("href", "").startswith("#"):
            assert one.attributes["href"][1:] in ids
    assert whole.all("html")[0].attributes["lang"] == "en"
    for landmark in ("header", "nav", "main", "footer"):
        assert len(whole.all(landmark)) == 1
    levels = [int(one.name[1]) for one in every if re.fullmatch("h[1-6]", one.name)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in zip(levels, levels[1:]))
    for table in whole.all("table"):
        assert table.all("caption")[0].text
        assert all(one.attributes.get("scope") in ("col", "row") for one in table.all("th"))
    for figure in whole.all("figure"):
        assert figure.all("details"), figure.text
        assert all(one.attributes["aria-hidden"] == "true" for one in figure.all("svg")[:1])
    # What scrolls can be reached by keys, and has a name; landmarks are the sections alone.
    scrolling = whole.all("div", class_="scroll")
    assert len(scrolling) > 10
    for one in scrolling:
        assert one.attributes["tabindex"] == "0" and one.attributes["role"] == "group"
        assert {"aria-label", "aria-labelledby"} & set(one.attributes)


def test_the_file_needs_no_other() -> None:
    html = reported(HDF5, "-o", "-").stdout
    assert not re.findall(r'(?:src|href)="(?!#|data:)[^"]*"', html)
    assert not re.findall(r"@import|url\((?!#)", html)
    assert "http" not in re.sub(r"http://www\.w3\.org/2000/svg", "", html)


def test_paper_is_light() -> None:
    html = reported(HDF5, "-o", "-").stdout
    dark = colours("dark")["bg"]
    for before in html.split("<body>")[0].split(f"--bg:{dark}")[:-1]:
        assert before.rpartition("@media")[2].startswith(" screen")


def test_names_of_anybody_s_are_no_markup(tmp_path: Path) -> None:
    run = open_trace(HDF5)
    facts = gather(run)
    evil = '</script><script>alert(1)</script>"\x1b[31m\udcff'
    facts.run.identity = evil
    facts.run.files[0].path = f"/tmp/{evil}.h5"
    facts.run.files[0].datasets[0].dataset = evil
    facts.gathered._maps = {(f"/tmp/{evil}.h5", 3): one for one in facts.gathered.maps.values()}
    html = page_of([facts], ["a"])
    whole = parsed(html)
    assert "alert(1)" in whole.all("h1")[0].text
    assert not any(one.text == "alert(1)" for one in whole.all("script"))
    assert "\x1b" not in html and "\udcff" not in html
    html.encode("utf-8")


def with_findings(found: Findings) -> Element:
    facts = gather(open_trace(HDF5))
    facts.findings = found
    return sections(parsed(page_of([facts], ["a"])))["findings"]


def test_findings_say_what_to_do() -> None:
    finding = Finding(
        id="small-writes",
        severity="high",
        title="small writes",
        summary="8 writes of 576 B",
        layer="hdf5",
        advice="Write <more> at once.",
        evidence=(Evidence("8 calls of 4 ranks", "/f.h5", "/d"),),
        snippets=(Snippet("c", "if (a < b)\n  H5Dwrite(…);"),),
        settings=(Setting("cb_nodes", "may be set", "not proven"),),
        estimate=Estimate(0.5, 0.001, "all of it"),
        more_evidence=2,
    )
    found = with_findings(Findings((finding,), ("small-writes",), ("times of 3 calls",)))
    (article,) = found.all("article", class_="high")
    assert article.all("h3")[0].attributes["id"] == article.attributes["aria-labelledby"]
    assert article.all("code")[0].words == ["if (a < b)\n  H5Dwrite(…);"]
    for said in (
        *("high", "small-writes", "8 writes of 576 B", "Write <more> at once.", "(not proven)"),
        *("500 ms", "less than 1 % of the run's time", "8 calls of 4 ranks", "and 2 more"),
    ):
        assert said in article.text
    assert "times of 3 calls" in found.text


def test_no_finding_is_said_too() -> None:
    assert (
        "Nothing was found. Looked for: small-writes."
        in with_findings(Findings((), ("small-writes",))).text
    )


def colours(theme: str) -> dict[str, str]:
    css = (Path(page_module.__file__).parent / "templates" / "report.css").read_text()
    block = css.split(f"{{% set {theme} %}}")[1].split("{% endset %}")[0]
    return dict(re.findall(r"--([\w-]+):(#[0-9a-f]{3,6});", block))


def luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(2 * one for one in colour[1:])
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_have_the_contrast_of_wcag_aa(theme: str) -> None:
    found = colours(theme)
    assert contrast("#000", "#fff") == pytest.approx(21)
    text = [
        (ink, ground) for ink in ("ink", "muted", "accent") for ground in ("bg", "card", "ground")
    ]
    text += [(name, f"{name}-ground") for name in ("high", "medium", "low")]
    fills = ["write", "read", "other", "hdf5", "mpiio", "stdio", "posix", "high"]
    text += [("on", fill) for fill in (*fills, *(f"r{at}" for at in range(8)))]
    for ink, ground in text:
        assert contrast(found[ink], found[ground]) >= 4.5, (ink, ground)
    for fill in (*fills, *(f"r{at}" for at in range(8)), "edge"):
        assert contrast(found[fill], found["bg"]) >= 3, fill


def test_bad_input_is_one_line(tmp_path: Path) -> None:
    log = tmp_path / "not.iotrace"
    log.write_text("not a trace")
    cut = tmp_path / "cut.iotrace"
    cut.write_bytes(HDF5.read_bytes()[:40])
    out = tmp_path / "run.html"
    for words, said in (
        ([tmp_path / "none.iotrace", "-o", out], "No such file"),
        ([log, "-o", out], "is not a trace of iotune"),
        ([HDF5, "-o", tmp_path / "nowhere" / "run.html"], "no such directory"),
        ([HDF5, "-o", tmp_path], "it is a directory"),
        ([HDF5, "-o", "/dev/null"], "no regular file"),
        ([HDF5] * 9, "8 at most"),
    ):
        result = reported(*words)
        assert result.exit_code == 1 and result.stdout == ""
        (line,) = result.stderr.splitlines()
        assert said in line
    assert not out.exists()


def test_a_report_replaces_nothing_unasked(tmp_path: Path) -> None:
    out = tmp_path / "run.html"
    out.write_text("mine")
    result = reported(HDF5, "-o", out)
    assert result.exit_code == 1 and "--force" in result.stderr and out.read_text() == "mine"
    assert reported(HDF5, "-o", out, "--force").exit_code == 0
    parsed(out.read_text())


def test_a_second_process_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def said() -> str:
        page = reported(HDF5, "-o", "-").stdout
        return page.split('<section id="findings"')[1].split("</section>")[0]

    alone = said()
    monkeypatch.setattr(command, "_CALLS_FOR_TWO", 0)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    assert said() == alone


def test_on_a_terminal_it_shows_how_far_it_is(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    out = tmp_path / "run.html"
    words = [sys.executable, "-m", "iotune", "report", str(HDF5), "-o", str(out), "--db", "none"]
    done = subprocess.run(words, stderr=theirs, check=False, env={**os.environ, "TERM": "xterm"})
    os.close(theirs)
    said = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert done.returncode == 0 and "report: 1 run in" in said
    parsed(out.read_text())


def test_without_o_it_is_called_as_the_trace_is(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert reported(HDF5).exit_code == 0
    assert [one.name for one in tmp_path.iterdir()] == [f"{HDF5.stem}.html"]


def test_damage_is_reported_and_the_rest_is_shown(tmp_path: Path) -> None:
    content = bytearray(HDF5.read_bytes())
    content[len(content) // 2] ^= 0xFF
    damaged = tmp_path / "damaged.iotrace"
    damaged.write_bytes(bytes(content))
    result = reported(damaged, "-o", "-")
    assert result.exit_code == 0 and "damaged" in result.stderr
    assert "damaged" in sections(parsed(result.stdout))["losses"].text


def test_a_trace_without_calls_is_a_page_all_the_same(tmp_path: Path) -> None:
    empty = tmp_path / "empty.iotrace"
    empty.write_bytes(HDF5.read_bytes()[:16])
    assert "glance" in sections(page(empty))


@pytest.mark.parametrize("name", ["jinja2", "numpy"])
def test_what_is_not_installed_is_one_line(name: str, tmp_path: Path) -> None:
    (tmp_path / f"{name}.py").write_text("raise ImportError('it is not here')")
    done = subprocess.run(
        [sys.executable, "-m", "iotune", "report", str(HDF5), "-o", str(tmp_path / "a.html")],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "pip install 'iotune[report]'" in done.stderr and len(done.stderr.splitlines()) == 1
