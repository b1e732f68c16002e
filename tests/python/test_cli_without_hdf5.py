"""Programs that call MPI-IO or POSIX themselves: learnt, trained by their own calls, tuned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from user_home import KERNELS, Home

from iotune import preload

pytestmark = pytest.mark.skipif(
    preload.find_library(preload.LIBRARY) is None or not (KERNELS / "array_bytes").exists(),
    reason="libiotune.so is not installed, or the programs of tests/mpi are not built",
)

PATTERN = "<2D,(*,BLOCK),(512,64)>"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def explained(home: Home, name: str = "a.bin") -> dict[str, Any]:
    """What became of one file of the newest run."""
    (file,) = [one for one in home.asked("explain")["files"] if one["path"].endswith(f"/{name}")]
    return dict(file)


def write_columns(home: Home, how: str = "subarray") -> None:
    home.run("array_bytes", "a.bin", how, "512", "128", "1", "0")


def test_the_loop_closes_for_mpi_io(home: Home) -> None:
    # given a first run, of which nothing is known
    write_columns(home)
    (row,) = home.asked("db", "list")["patterns"]
    assert (row["descriptor"], row["mode"]) == (PATTERN, "collective")
    # when it is trained by the program's own calls
    (outcome,) = home.asked("train", "--rounds", "3", "--candidates", "cb_buffer_size=65536")
    # then the candidate reached the file, and the answer is one of MPI-IO
    assert [one["effect"] for one in outcome["candidates"]] == ["applied"]
    assert outcome["platform"]["mpi"] and outcome["platform"]["hdf5"] == "none"
    assert not list(home.work.glob(".iotune-replay-*"))
    assert home.asked("train") == []
    # and the next run is told so
    write_columns(home)
    assert (explained(home)["source"], explained(home)["state"]) == ("exact", outcome["state"])


def test_an_answer_is_applied_by_mpi_file_open(home: Home) -> None:
    # given
    write_columns(home)
    (row,) = home.asked("db", "list")["patterns"]
    # when
    home.type("db", "add", str(row["id"]), "cb_buffer_size=65536")
    write_columns(home)
    # then
    (setting,) = explained(home)["settings"]
    assert (setting["parameter"], setting["got"]) == ("cb_buffer_size", "65536")
    assert setting["verdict"] == "applied"


def test_what_hdf5_was_told_is_no_answer_for_mpi_io(home: Home) -> None:
    # given the same bytes by HDF5, with an answer
    home.run("column-io", "--collective", "--size", "512x64", "--output", "a.h5")
    (row,) = home.asked("db", "list")["patterns"]
    assert row["descriptor"] == PATTERN
    home.type("db", "add", str(row["id"]), "alignment=4194304,1048576")
    # when they are written by MPI-IO
    write_columns(home)
    write_columns(home)
    # then
    assert explained(home)["source"] == "untrained" and explained(home)["settings"] == []


def test_small_files_of_posix_alone_teach_nothing(home: Home) -> None:
    write_columns(home, "posix")
    assert home.asked("db", "list")["patterns"] == []
