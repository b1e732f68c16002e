"""On a terminal of 80 cells nothing is wider, no descriptor is broken, and no name gives orders."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from iotune.cli import app, db, explain
from iotune.reports.evidence import Comparison
from iotune.reports.show_calls import call_line
from iotune.reports.show_run import print_run
from iotune.reports.tables import Column, paragraph, table
from iotune.traces.summary import run_summary
from support.installed.shown_run import DATASET, FILE, SUMMARY, TUNED, summarized_as

HOSTILE = "\x1b[2J\x9b31m\n\r\x07\u202e"
LONG = {
    **DATASET,
    "dataset": "/Timestep_0/plasma/species_electron/momentum_x",
    "descriptor": "<3D,(BLOCK,CYCLIC(16),*),(1024,2048,4096)>||CYCLIC(4096)",
    "process_grid": [4, 8, 1],
}


@pytest.fixture
def terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[], list[str]]:
    """Makes stdout one of 80 cells; gives what was printed on it since."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    # The class: each phase of a test has a stdout of its own.
    monkeypatch.setattr("_pytest.capture.CaptureIO.isatty", lambda self: True, raising=False)
    return lambda: capsys.readouterr().out.splitlines()


def run_of(*files: dict[str, Any], **more: Any) -> Any:
    return run_summary({**SUMMARY, "files": list(files), **more})


def test_a_table_that_does_not_fit_has_fewer_columns(terminal: Callable[[], list[str]]) -> None:
    print_run(run_of(FILE))
    lines = terminal()
    assert max(map(len, lines)) <= 80
    [head] = [line for line in lines if "descriptor" in line]
    assert "bytes" in head and "repeats" not in head
    [row] = [line for line in lines if "/Step#0/x" in line]
    assert "<1D,(CYCLIC),(200000)>" in row
    assert row.index(" 2 ") + 2 == head.index("ranks") + len("ranks")  # numbers stand to the right


def test_a_row_that_does_not_fit_is_a_block(terminal: Callable[[], list[str]]) -> None:
    print_run(run_of({**FILE, "datasets": [LONG]}))
    lines = terminal()
    assert max(map(len, lines)) <= 80
    text = "\n".join(lines)
    # nothing is lost, and what is copied is whole
    for whole in (LONG["dataset"], LONG["descriptor"], "ranks 2", "grid 4x8x1", "repeats 1"):
        assert whole in text
    assert not any("descriptor" in line for line in lines)


def test_explanations_fit(terminal: Callable[[], list[str]]) -> None:
    reason = "of this MPI-IO the ranks' transfers were taken apart, and nothing of it was asked for"
    settings = [{**TUNED["settings"][1], "reason": reason}, TUNED["settings"][0]]
    run = run_of({**TUNED, "settings": settings, "decision_message": reason})
    explain._explain(run, run.files[0], Comparison())
    lines = terminal()
    assert max(map(len, lines)) <= 80
    words = " ".join(" ".join(lines).split())
    assert "262144,1048576" in words and "romio_cb_write" in words
    assert reason in words  # of the message, under its label
    assert all(line.startswith(" ") for line in lines[1:] if line)


PATTERN = {
    "id": 7, "descriptor": LONG["descriptor"], "op": "write", "mode": "collective", "ranks": 32,
    "workloads": [{"program": "vpic-io", "file": "particles_#.h5", "speaker": True}],
    "answers": [
        {"platform": {"filesystem": "lustre", "mpi": "MPICH 4.0.2", "hdf5": "1.10.8"},
         "state": "tuned", "settings": {"romio_cb_write": "disable", "striping_factor": "8"},
         "gain": 3.9, "low": 3.8, "high": 4.0},
    ],
}  # fmt: skip


def test_the_database_s_list_fits(terminal: Callable[[], list[str]]) -> None:
    db._table([PATTERN])
    lines = terminal()
    assert max(map(len, lines)) <= 80
    assert any(LONG["descriptor"] in line for line in lines)
    text = " ".join(" ".join(lines).split())
    for whole in ("romio_cb_write=disable;striping_factor=8", "3.90x (3.80 to 4.00)", "tuned"):
        assert whole in text


def test_files_that_are_alike_are_one_with_their_count(capsys: pytest.CaptureFixture[str]) -> None:
    # given a series, a file of each process, one that is like none, and two alike
    series = [{**FILE, "path": f"/scratch/run7/ckpt_{step:04}.h5"} for step in range(30)]
    ranks = [
        {**FILE, "path": f"/scratch/run7/part.{rank}", "io_seconds": 1.0 + rank}
        for rank in range(8)
    ]
    other = {**FILE, "path": "/scratch/run7/ckpt_0030.h5", "datasets": [{**DATASET, "calls": 9,
             "descriptor": "<1D,(BLOCK),(200000)>"}], "speaker": 0}  # fmt: skip
    pair = [{**FILE, "path": f"/scratch/{name}.h5"} for name in ("a1", "a2")]
    run = run_of(*series, other, *ranks, *pair)
    # when
    print_run(run)
    # then
    text = capsys.readouterr().out
    assert "/scratch/run7/ckpt_#.h5   30 files: 91.6 MiB written in all" in text
    assert "/scratch/run7/part.#   8 files: 24.4 MiB written in all, 1 s to 8 s each" in text
    assert re.findall(r"^/scratch/\S+", text, re.MULTILINE) == [
        "/scratch/run7/ckpt_#.h5", "/scratch/run7/ckpt_0030.h5", "/scratch/run7/part.#",
        "/scratch/a1.h5", "/scratch/a2.h5",
    ]  # fmt: skip
    # each by itself where it is asked for
    print_run(run, everything=True)
    assert capsys.readouterr().out.count("\n/scratch/") == 41
    print_run(run, ["ckpt_000*.h5"])
    assert capsys.readouterr().out.count("\n/scratch/") == 10


def test_explanations_of_files_that_are_alike_are_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # given a series that was decided alike but for one file, whose setting was refused
    def of(step: int, **more: Any) -> dict[str, Any]:
        message = f"file {step} of ckpt_# in this run"
        return {**TUNED, "path": f"/s/ckpt_{step:04}.h5", "decision_message": message, **more}

    refused = [{**TUNED["settings"][0], "verdict": "refused", "reason": "the program set it"}]
    files = [of(step) for step in range(20)]
    files[7] = of(7, settings=refused)
    summary = {**SUMMARY, "files": files}
    monkeypatch.setattr("iotune.core.summarize", summarized_as(summary))
    monkeypatch.setattr("iotune.core.processes", lambda path: [])
    monkeypatch.setenv("IOTUNE_DB", "none")
    trace = tmp_path / "t.iotrace"
    trace.write_bytes(b"IOTUNE-TRACE\1\0\0\0")
    # when
    shown, each = (
        CliRunner().invoke(app, ["explain", str(trace), *more]).stdout for more in ([], ["--all"])
    )
    # then
    assert re.findall(r"^/s/.*", shown, re.MULTILINE) == [
        "/s/ckpt_#.h5   19 files alike; the first one:", "/s/ckpt_0007.h5",
    ]  # fmt: skip
    assert shown.count("recognised") == 2 and "file 0 of ckpt_#" in shown
    assert len(re.findall(r"^/s/ckpt_\d{4}\.h5$", each, re.MULTILINE)) == 20


def test_what_moved_nothing_is_counted_alone(capsys: pytest.CaptureFixture[str]) -> None:
    nothing = {**FILE, "bytes_written": 0, "bytes_read": 0, "datasets": [], "decision_source": ""}
    folder = {**nothing, "path": "/scratch/"}
    test = {**FILE, "path": "/scratch/out.h5.locktest.0", "bytes_written": 1, "datasets": []}
    refused = {**nothing, "path": "/scratch/set.h5", "settings": TUNED["settings"]}
    run = run_of(folder, FILE, test, refused)
    print_run(run)
    text = capsys.readouterr().out
    assert "locktest" not in text and "\n/scratch/ " not in text and "/scratch/set.h5" in text
    assert text.endswith(
        "not shown: 2 files and folders of which no byte was moved (--all shows all)\n"
    )
    print_run(run, everything=True)
    text = capsys.readouterr().out
    assert "locktest" in text and "\n/scratch/ " in text and "not shown" not in text
    print_run(run, ["*.locktest.0"])
    assert "locktest" in capsys.readouterr().out


def test_warnings_that_differ_by_numbers_are_one(capsys: pytest.CaptureFixture[str]) -> None:
    died = [f"process {number}: ended early" for number in range(100, 120)]
    print_run(run_of(FILE, warnings=[*died, "no room"]))
    assert capsys.readouterr().err == (
        "iotune: process 100: ended early (and 19 more like it)\niotune: no room\n"
    )


@pytest.mark.parametrize("is_terminal", [False, True])
def test_no_name_gives_orders(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], is_terminal: bool
) -> None:
    # given names of everything that somebody else may have chosen
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr("sys.stdout.isatty", lambda: is_terminal)
    hostile = {
        **TUNED,
        "path": f"/scratch/{HOSTILE}.h5",
        "decision_message": HOSTILE,
        "decision_pattern": HOSTILE,
        "datasets": [{**DATASET, "dataset": HOSTILE, "ambiguity": HOSTILE, "inferred": True}],
        "speaker": 0,
        "settings": [{**TUNED["settings"][0], "got": HOSTILE, "reason": HOSTILE}],
    }
    run = run_of(hostile, program_name=HOSTILE, mpi=HOSTILE, warnings=[HOSTILE])
    # when
    print_run(run)
    print_run(run, [HOSTILE])
    explain._explain(run, run.files[0], Comparison())
    db._table([{**PATTERN, "workloads": [{"program": HOSTILE, "file": "x", "speaker": True}]}])
    paragraph(call_line(1.0, 0.1, "exact", 0, f"open ({HOSTILE}) 3"))
    # then
    said = capsys.readouterr()
    assert not set(said.out + said.err) & set("\x1b\x9b\r\x07\u202e")
    assert "\\x1b[2J\\x9b31m\\x0a" in said.out


def test_bytes_that_are_no_text_do_not_reach_a_terminal(terminal: Callable[[], list[str]]) -> None:
    table([Column("name")], [["a\udc9b31m"]])
    assert terminal()[1] == "a\\x9b31m"


def test_off_a_terminal_nothing_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    print_run(run_of({**FILE, "datasets": [LONG]}))
    [row] = [line for line in capsys.readouterr().out.splitlines() if LONG["dataset"] in line]
    assert LONG["descriptor"] in row and row.endswith("MiB/s") and len(row) > 150
