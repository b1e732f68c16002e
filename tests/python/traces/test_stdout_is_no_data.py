"""What goes to stdout is in no sum, and processes without MPI are no ranks."""

from __future__ import annotations

import pytest

from iotune.comparing.changes import _moved
from iotune.reports.show_run import print_run
from iotune.traces.summary import FilePattern, RunSummary


def run(**more: object) -> RunSummary:
    files = [
        FilePattern(path="/w/data", bytes_written=4096),
        FilePattern(path="/w/said", bytes_written=999, is_stdout=True),
        FilePattern(path="/w/silent", is_stdout=True),
    ]
    return RunSummary(program_name="app", files=files, **more)  # type: ignore[arg-type]


def test_stdout_stands_below_the_files(capsys: pytest.CaptureFixture[str]) -> None:
    # when
    print_run(run(notes=["2 workers were ended"]))
    shown = capsys.readouterr().out
    # then
    assert "4.0 KiB written in 1 file" in shown
    assert "/w/said   stdout, no data file: 999 B written" in shown
    assert "silent" not in shown and "2 workers were ended" in shown
    assert [one.path for one in _moved(run().data_files)] == ["/w/data"]


@pytest.mark.parametrize(
    ("of", "headline"),
    [
        ({"processes": 2}, "app, 2 processes, "),
        ({"processes": 1}, "app, 1 rank, "),
        ({"processes": 3, "ranks": 2, "mpi": "MPICH"}, "app, 2 ranks, "),
        ({"processes": 2, "ranks": 1, "mpi": "MPICH"}, "app, 1 rank, "),
    ],
)
def test_processes_are_no_ranks(
    of: dict[str, object], headline: str, capsys: pytest.CaptureFixture[str]
) -> None:
    print_run(run(**of))
    assert headline in capsys.readouterr().out
