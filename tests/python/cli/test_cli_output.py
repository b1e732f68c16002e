"""What the commands print, on a trace whose summary and calls are given here."""

from __future__ import annotations

import json
import os
import runpy
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from iotune import core
from iotune.cli import app
from iotune.cli.output import Column, data, document, say, seconds_text, size_text, table
from iotune.errors import Error
from iotune.reports.show_calls import call_line
from iotune.reports.show_run import is_file
from support.installed.shown_run import DATASET, FILE, SUMMARY, TUNED, summarized_as
from support.repository import ROOT


class FakeDatabase:
    """What the commands ask a database."""

    rows: list[dict[str, Any]] = []
    source = "train"

    def __init__(self, path: Any = None, read_only: bool = False):
        pass

    def ingest(self, spool: Any = None) -> Any:
        return {"files": 0}

    def observations(self, workload: dict[str, Any], file_bytes: int, left_out: Any = ()) -> Any:
        assert workload == {
            "program": "cyclic-io", "file": "cyclic00001.h5", "ranks": 2, "nodes": 1
        }  # fmt: skip
        return self.rows

    def export_json(self) -> str:
        return "{}"

    def patterns(self) -> Any:
        settings = {"romio_cb_write": "disable"}
        answer = {"id": 7, "settings": settings, "gain": 2.5, "low": 2.4, "high": 2.6,
                  "rounds": 10, "source": self.source}  # fmt: skip
        return {"patterns": [{"answers": [{**answer, "id": 6, "gain": 9.0}, answer]}]}


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The newest trace in a default directory of its own; its content comes from SUMMARY."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("IOTUNE_BUFFER_DIR", str(tmp_path / "buffers"))
    monkeypatch.setattr(core, "summarize", summarized_as(SUMMARY))
    monkeypatch.setattr(core, "processes", lambda path: [])
    monkeypatch.setattr(core, "Database", FakeDatabase)
    monkeypatch.setattr(core, "filesystem_of", lambda path: "ext4")
    monkeypatch.setattr(FakeDatabase, "rows", [])
    directory = tmp_path / "iotune" / "traces"
    directory.mkdir(parents=True, mode=0o700)
    for age, name in ((10, "old"), (0, "new")):
        path = directory / f"{name}.iotrace"
        path.write_bytes(b"IOTUNE-TRACE\1\0\0\0")
        os.utime(path, (time.time() - age, time.time() - age))
    return directory / "new.iotrace"


def typed(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def with_file(monkeypatch: pytest.MonkeyPatch, file: dict[str, Any]) -> None:
    monkeypatch.setattr(core, "summarize", summarized_as({**SUMMARY, "files": [file]}))


def test_show_prints_patterns_on_stdout_and_talks_on_stderr(trace: Path) -> None:
    # when
    result = typed("show")
    # then
    assert result.exit_code == 0
    lines = [line.rstrip() for line in result.stdout.splitlines()]
    assert lines == [
        "cyclic-io, 2 ranks, 1 node, 0.61 s, 90 calls, MPICH 4.0.2, HDF5 1.10.8",
        "3.1 MiB written in 1 file; 82% of its time in I/O (500 ms, of its slowest process)",
        "",
        "/scratch/cyclic00001.h5   3.1 MiB written in 500 ms (6.1 MiB/s)",
        "    dataset    descriptor              operation  mode        ranks  grid  calls"
        "  repeats    bytes  seconds    bandwidth",
        "    /time      <1D,(*),(1)>            write      collective      1  1         1"
        "        1      8 B    10 µs  781.2 KiB/s",
        "  * /Step#0/x  <1D,(CYCLIC),(200000)>  write      collective      2  2         2"
        "        1  3.1 MiB   400 ms    7.6 MiB/s",
    ]
    assert "iotune: 3 bytes were passed over" in result.stderr
    assert result.stderr.splitlines()[-1] == "iotune: next: iotune explain"


def test_time_of_calls_that_overlap_is_over_all_of_the_run(
    trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(core, "summarize", summarized_as({**SUMMARY, "io_seconds": 11218.0}))
    line = typed("show").stdout.splitlines()[1]
    assert "; over 100% of its time in I/O (" in line, line


def test_show_of_a_named_trace_names_it_in_the_next_command(trace: Path) -> None:
    assert typed("show", str(trace)).stderr.splitlines()[-1].endswith(f"iotune explain {trace}")


def test_show_for_programs_is_the_analyzer_s_own_result(trace: Path) -> None:
    # Ranks are no workers.
    expected = {**SUMMARY, "workers": [], "epochs": []}
    assert json.loads(typed("show", "--json").stdout) == expected


def test_show_may_be_limited_to_a_file(trace: Path) -> None:
    assert "CYCLIC" in typed("show", "--file", "cyclic00001.h5").stdout
    assert "CYCLIC" in typed("show", "--file", "cyclic*.h5").stdout
    assert "the run touched no 00001.h5" in typed("show", "--file", "00001.h5").stdout


def test_a_file_is_named_by_its_path_or_the_end_of_it() -> None:
    for wanted in ("/a/b/c.h5", "c.h5", "b/c.h5", "*.h5", "/a/*", "c.?5"):
        assert is_file("/a/b/c.h5", [wanted]), wanted
    for wanted in (".h5", "a", "b/c", "/c.h5", "*.H5"):
        assert not is_file("/a/b/c.h5", [wanted]), wanted


def test_call_options_need_calls(trace: Path) -> None:
    for option in (
        ["--rank", "0"], ["--layer", "hdf5"], ["--limit", "3"], ["--call", "p*"], ["--to", "1s"]
    ):  # fmt: skip
        result = typed("show", *option)
        assert result.exit_code == 2
        assert "--calls" in result.stderr


def test_a_call_looks_as_in_the_paper() -> None:
    text = "H5Pcreate (H5P_FILE_ACCESS) 167772177"
    line = call_line(1396296304.235831, 0.00025, "exact", 0, text)
    assert line == "1396296304.235831 H5Pcreate (H5P_FILE_ACCESS) 167772177 0.000250"


def test_interpolated_times_and_depth_and_rank_are_marked() -> None:
    line = call_line(1396296304.235831, 0.00025, "pattern", 2, "pwrite (…) 8", "[3] ")
    assert line == "[3] ~1396296304.235831     pwrite (…) 8 ~0.000250"


def test_an_untrained_run_is_explained(trace: Path) -> None:
    result = typed("explain")
    assert "<1D,(CYCLIC),(200000)> of 8-byte elements, written collectively" in result.stdout
    assert "this workload was never seen before" in result.stdout
    assert "no settings were in effect" in result.stdout
    assert "iotune train" in result.stderr.splitlines()[-1]


def test_a_tuned_run_is_explained(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # given two default runs and a tuned one, and some on another platform
    with_file(monkeypatch, TUNED)
    here = {"filesystem": "ext4", "mpi": "MPICH 4.0.2", "hdf5": "1.10.8", "host_class": "x86_64"}
    FakeDatabase.rows = [
        measured(here, "", 2, 1.5, 1e6),
        measured(here, "romio_cb_write=disable", 1, 0.5, 3e6),
        measured({**here, "filesystem": "tmpfs"}, "", 9, 0.1, 9e9),
        measured({**here, "mpi": "Open MPI"}, "", 9, 0.1, 9e9),
    ]
    # when
    text = typed("explain").stdout
    file = json.loads(typed("explain", "--json").stdout)["files"][0]
    # then
    assert "row 7, pattern" in text
    assert "applied" in text and "refused" in text and "the program set it" in text
    # A single tuned run proves nothing: its rate is shown, no ratio.
    assert (file["tuned_runs"], file["default_runs"]) == (1, 2) and file["production"] is None
    assert (file["tuned_bytes_per_second"], file["default_bytes_per_second"]) == (3e6, 1e6)
    assert "median of 1 run" in text and "in production" not in text
    # `make demo` reads the same fields.
    demo = runpy.run_path(str(ROOT / "tools" / "demo.py"))
    assert demo["against_default"](file) == "3.00x"
    # What training measured is shown with its interval, as the row has it.
    assert file["trained"] == {"ratio": 2.5, "low": 2.4, "high": 2.6, "rounds": 10}
    assert "trained: 2.50x (2.40 to 2.60, 10 paired rounds)" in text


def test_production_speaks_once_it_has_several_runs(
    trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given
    with_file(monkeypatch, TUNED)
    here = {"filesystem": "ext4", "mpi": "MPICH 4.0.2", "hdf5": "1.10.8", "host_class": "x86_64"}
    FakeDatabase.rows = [
        measured(here, "", 5, 1.5, 1e6), measured(here, "romio_cb_write=disable", 6, 0.5, 3e6)
    ]  # fmt: skip
    # when
    text = typed("explain").stdout
    # then the shown rates and the shown ratio agree
    assert "in production: 3.00x (3.00 to 3.00, not paired)" in text
    assert "2.9 MiB/s with these settings (median of 6 runs)" in text


@pytest.mark.parametrize(
    ("runs", "words"),
    [(6, "the site's answer: your own runs confirm it"),
     (1, "your own runs have not confirmed it yet (with it and at the default: 1 and 2)")],
)  # fmt: skip
def test_a_sites_answer_is_shown_as_such(
    trace: Path, monkeypatch: pytest.MonkeyPatch, runs: int, words: str
) -> None:
    # given
    with_file(monkeypatch, TUNED)
    here = {"filesystem": "ext4", "mpi": "MPICH 4.0.2", "hdf5": "1.10.8", "host_class": "x86_64"}
    FakeDatabase.rows = [
        measured(here, "", min(runs + 1, 5), 1.5, 1e6),
        measured(here, "romio_cb_write=disable", runs, 0.5, 3e6),
    ]
    assert "the site's" not in typed("explain").stdout
    # when
    monkeypatch.setattr(FakeDatabase, "source", "site")
    text = " ".join(typed("explain").stdout.split())
    file = json.loads(typed("explain", "--json").stdout)["files"][0]
    # then
    assert words in text
    assert (file["of_site"], file["confirmed"]) == (True, runs == 6)


def test_files_without_hdf5_are_compared_with_their_own_platform(
    trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given a file of MPI-IO in a run that has HDF5 loaded
    inferred = {**DATASET, "inferred": True, "layer": "mpiio"}
    with_file(monkeypatch, {**TUNED, "datasets": [inferred], "speaker": 0})
    here = {"filesystem": "ext4", "mpi": "MPICH 4.0.2", "hdf5": "none", "host_class": "x86_64"}
    FakeDatabase.rows = [measured(here, "", 5, 1.5, 1e6)]
    # then
    assert json.loads(typed("explain", "--json").stdout)["files"][0]["default_runs"] == 5


def measured(
    platform: dict[str, str], settings: str, runs: int, seconds: float, rate: float
) -> dict[str, Any]:
    return {
        "platform": platform, "settings_text": settings, "runs": runs, "files": runs,
        "rates": [rate] * runs, "median_seconds": seconds, "median_bytes_per_second": rate,
        "gain": None, "last_at": 1.0,
    }  # fmt: skip


def test_without_a_database_the_rest_is_explained(
    trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given
    def broken(*_: Any) -> Any:
        raise Error("patterns.db: damaged")

    monkeypatch.setattr(core, "Database", broken)
    with_file(monkeypatch, TUNED)
    # when
    result = typed("explain")
    # then
    assert result.exit_code == 0
    assert "patterns.db: damaged" in result.stderr
    assert "row 7" in result.stdout


def test_an_error_is_one_line_and_status_1(trace: Path, tmp_path: Path) -> None:
    for path, says in ((tmp_path / "none", "No such file"), (tmp_path, "Is a directory")):
        result = typed("show", str(path))
        assert result.exit_code == 1
        assert len(result.stderr.splitlines()) == 1
        assert result.stderr.startswith("iotune: ") and says in result.stderr
        assert result.stdout == ""


def test_a_file_that_is_no_trace_is_an_error(trace: Path, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("something else")
    assert "is not a trace of iotune" in typed("explain", str(tmp_path / "x")).stderr


def test_usage_errors_end_with_2() -> None:
    wrong = [
        "show --bogus",
        "bogus",
        "show --calls --rank x",
        "run",
        "db show x",
        "train --rounds 2",
        "train --for soon",
        "fuse mount . --latency long",
        "fuse mount . --bandwidth wide",
        "fuse mount . --prefetch magic",
        "fuse mount . --prefetch-memory much",
    ]
    for words in [line.split() for line in [*wrong, "train --candidates cb_nodes"]]:
        assert typed(*words).exit_code == 2, words


def test_every_command_has_help_with_its_own_docstring() -> None:
    for command in ("run", "show", "explain", "train", "replay", "lib", "db"):
        result = typed(command, "--help")
        assert result.exit_code == 0
        assert "Usage" in result.stdout
    for command in ("list", "show", "query", "add", "import", "export", "ingest"):
        assert typed("db", command, "--help").exit_code == 0


def test_a_name_gives_the_terminal_no_orders(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = "a\x1b[2J\x9b31m\nb"
    table([Column("program")], [[hostile]])
    say(hostile)
    said = capsys.readouterr()
    assert "\\x1b[2J\\x9b31m\\x0ab" in said.out, said.out
    assert not {"\x1b", "\x9b"} & {*said.out, *said.err}, said
    data(hostile)
    assert "\x1b" not in capsys.readouterr().out
    document(hostile)  # into a file or a pipe it goes as it is
    assert capsys.readouterr().out == hostile + "\n"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    document(hostile)
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1536, "1.5 KiB"),
        (1 << 50, "1.0 PiB"),
        (1 << 63, "8.0 EiB"),
        ((1 << 64) - 1, "16.0 EiB or more"),
    ],
)
def test_sizes_are_for_people(count: int, text: str) -> None:
    assert size_text(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (2.5e-5, "25 µs"), (0.0401, "40.1 ms"), (2.0, "2 s"), (123.4, "123 s")],
)
def test_seconds_are_for_people(seconds: float, text: str) -> None:
    assert seconds_text(seconds) == text


def test_of_files_outside_the_sample_only_what_was_set_is_reported(
    trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given
    nothing: dict[str, Any] = {
        "datasets": [],
        "speaker": None,
        "bytes_written": 0,
        "sampled_out": True,
    }
    plain = {**FILE, **nothing, "path": "/scratch/cyclic00009.h5"}
    tuned = {**TUNED, **nothing, "path": "/scratch/cyclic00010.h5"}
    summary = {**SUMMARY, "files": [FILE, plain, tuned]}
    monkeypatch.setattr(core, "summarize", summarized_as(summary))
    # when
    shown, one, explained = typed("show"), typed("show", "--file", "*9.h5"), typed("explain")
    # then
    assert "cyclic00001.h5" in shown.stdout and "cyclic00009.h5" not in shown.stdout
    assert "cyclic00009.h5   not in the sample that was recorded of its series" in one.stdout
    assert "cyclic00009.h5" not in explained.stdout
    reported = explained.stdout.split("/scratch/cyclic00010.h5")[1]
    assert "its calls were not recorded" in reported and "romio_cb_write" in reported
    assert "effect  " not in reported
    assert "not shown: 1 further file of a series" in reported
