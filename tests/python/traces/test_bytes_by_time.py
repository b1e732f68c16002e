"""Bytes by file, direction and bin of the run's time: their sums, and where a pause is."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import iotune
from iotune.cli import app
from iotune.html_report.call_pass import CallPass
from iotune.html_report.rank_rows import rank_rows
from iotune.html_report.time_bins import BINS, WRITE
from iotune.traces.bytes_by_time import bytes_by_time, spread
from support.installed import kept_traces
from support.repository import TESTS

NEWEST = max((TESTS / "data").glob("v*"), key=lambda one: int(one.name[1:]))
OLDER = TESTS / "data" / "v2" / "serial-posix.iotrace"
HDF5 = NEWEST / "four-ranks-hdf5.iotrace"
PAUSE = NEWEST / "pause.iotrace"
PAUSE_SECONDS = 0.3


def longest_gap(filled: np.ndarray) -> int:
    """The most bins in a row of which all are empty, between two that are not."""
    return int(np.diff(np.flatnonzero(filled)).max()) - 1


def test_no_byte_is_lost_or_counted_twice() -> None:
    draw = np.random.default_rng(43)
    for bins in (1, 3, 64):
        count = 500
        row, start = draw.integers(0, 4, count), draw.integers(0, 1000, count)
        duration = np.where(draw.random(count) < 0.3, draw.integers(0, 3000, count), 1)
        length = draw.integers(1, 1 << 40, count)
        cells = np.zeros((4, bins), np.int64)
        spread(cells, row, 13, start, duration, length)
        assert (cells >= 0).all()
        for one in range(4):
            assert cells[one].sum() == length[row == one].sum()


def test_a_long_transfer_is_spread_evenly() -> None:
    cells = np.zeros((1, 8), np.int64)
    one = (np.array([value]) for value in (15, 20, 400))
    spread(cells, np.array([0]), 10, *one)
    assert cells.tolist() == [[0, 100, 200, 100, 0, 0, 0, 0]]


@pytest.mark.parametrize(
    "trace", kept_traces.kept(), ids=lambda one: f"{one.parent.name}-{one.name}"
)
def test_the_sums_are_those_of_the_calls(trace: Path, tmp_path: Path) -> None:
    run = iotune.open_trace(kept_traces.unpacked(trace, tmp_path))
    for layer in (None, "posix", "mpiio"):
        found = run.bytes_by_time(layer=layer)
        calls = run.calls(layer=layer)
        moved = calls[calls["call"].astype(str).str.contains("read|write|put|get")]
        if layer is None:
            moved = moved[moved["level"] == 0]
        assert found["bytes"].sum() == moved["length_bytes"].fillna(0).sum()
        assert sum(found.attrs["by_time_kind"].values()) == found["bytes"].sum()


def test_the_pause_within_a_loop_is_seen() -> None:
    run = iotune.open_trace(PAUSE)
    writes = run.bytes_by_time(file="*pause.bin")
    assert writes["bytes"].sum() == 120 * 4096
    elapsed = run.metadata["elapsed_seconds"]
    filled = np.zeros(BINS)
    filled[(writes["start_ns"] // (writes["end_ns"] - writes["start_ns"])).to_numpy()] = 1
    # Two bins of the recorder, each at most a 32nd of the time, may seem to reach into it.
    assert longest_gap(filled) > PAUSE_SECONDS / elapsed * BINS - 5
    assert writes.attrs["by_time_kind"]["bin"] > 80 * 4096
    before = writes[writes["end_ns"] < 0.2e9]["bytes"].sum()
    assert before == 60 * 4096


def test_the_heat_map_shows_the_pause() -> None:
    run = iotune.open_trace(PAUSE)
    elapsed = run.metadata["elapsed_seconds"]
    gathered = CallPass(rank_rows([{"rank": -1}]), elapsed, {})
    assert gathered.read(PAUSE) == []
    writes = gathered.bins.bytes[0, WRITE, 0]
    assert writes.sum() == pytest.approx(120 * 4096)
    assert longest_gap(writes) > PAUSE_SECONDS / elapsed * BINS - 5
    assert gathered.bins.interpolated_bytes == 0 and gathered.bins.binned_share > 0.6
    result = CliRunner().invoke(app, ["report", "--db", "none", str(PAUSE), "-o", "-"])
    assert result.exit_code == 0, result.stderr
    assert "it is known in which 64th to 32nd" in result.stdout


def test_an_older_trace_is_estimated_and_the_report_says_so() -> None:
    found = iotune.open_trace(OLDER).bytes_by_time()
    assert "bin" not in found.attrs["by_time_kind"] and found.attrs["by_time_kind"]["pattern"] > 0
    result = CliRunner().invoke(app, ["report", "--db", "none", str(OLDER), "-o", "-"])
    assert result.exit_code == 0, result.stderr
    assert "are interpolated between" in result.stdout


def test_the_export_has_a_row_for_each_bin(tmp_path: Path) -> None:
    to = tmp_path / "run.bytes-by-time.csv"
    result = CliRunner().invoke(app, ["export", str(HDF5), "-o", str(to), "--layer", "posix"])
    assert result.exit_code == 0, result.stderr
    with to.open(newline="") as file:
        rows = list(csv.DictReader(file))
    found = iotune.open_trace(HDF5).bytes_by_time(layer="posix")
    assert [int(row["bytes"]) for row in rows] == found["bytes"].tolist()
    assert [row["operation"] for row in rows] == found["operation"].tolist()
    assert {int(row["rank"]) for row in rows} <= {0, 1, 2, 3}
    assert all(int(row["from_ns"]) < int(row["to_ns"]) for row in rows)
    shown = CliRunner().invoke(app, ["show", str(HDF5), "--json"])
    assert json.loads(shown.stdout)["processes"] == 4


def test_bins_are_some() -> None:
    with pytest.raises(iotune.Error, match="of bins there are 1 to"):
        bytes_by_time(PAUSE, 1.0, bins=0)
