"""Programs that call MPI-IO or POSIX themselves: learnt, trained by their own calls, tuned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from iotune import core
from iotune.launch import preload
from support.installed.user_home import Home
from support.repository import KERNELS

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
    # and a second one, which says what would help
    write_columns(home)
    assert "iotune train measures settings for it" in home.type("explain").stdout
    # when it is trained by the program's own calls
    (outcome,) = home.asked("train", "--rounds", "3", "--candidates", "cb_buffer_size=65536")
    # then the candidate reached the file, and the answer is one of MPI-IO
    assert [one["effect"] for one in outcome["candidates"]] == ["applied"]
    assert outcome["platform"]["mpi"] and outcome["platform"]["hdf5"] == "none"
    assert not list(home.work.glob(".iotune-replay-*"))
    assert home.asked("train") == []
    # and the next run gets it
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


def test_hdf5s_answer_is_no_answer_for_mpi_io(home: Home) -> None:
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


def write_by_posix(home: Home) -> None:
    """4 MiB and more, so that it is worth knowing."""
    home.run("array_bytes", "a.bin", "posix", "4096", "256", "1", "0")


def test_the_loop_closes_for_posix(home: Home) -> None:
    # given
    write_by_posix(home)
    (row,) = home.asked("db", "list")["patterns"]
    assert row["op"] == "write"
    # when it is trained by the program's own calls
    (outcome,) = home.asked("train", "--rounds", "3", "--candidates", "fadvise=random")
    # then
    assert [one["effect"] for one in outcome["candidates"]] == ["applied"]
    assert (outcome["platform"]["mpi"], outcome["platform"]["hdf5"]) == ("none", "none")
    # and an answer reaches the open of each rank
    home.type("db", "add", str(row["id"]), "fadvise=random")
    write_by_posix(home)
    file = explained(home)
    assert file["source"] == "exact"
    (setting,) = file["settings"]
    assert (setting["parameter"], setting["verdict"]) == ("fadvise", "unverifiable")


def test_a_configuration_reaches_posix_by_the_name_of_the_file_alone(home: Home) -> None:
    # given
    for files, expected in (({"a.bin": {"fadvise": "random"}}, ["fadvise"]), ({}, [])):
        every = {} if files else {"fadvise": "random"}
        config = home.root / "config.xml"
        config.write_text(core.config_xml(every, files))
        # when
        words = home.mpi("array_bytes", "a.bin", "posix", "512", "128", "1", "0")
        home.type("run", "--config", str(config), "--", *words)
        # then
        found = [one for one in home.asked("explain")["files"] if one["path"].endswith("/a.bin")]
        assert [one["parameter"] for file in found for one in file["settings"]] == expected


def test_posix_reports_settings_that_are_none_of_its(home: Home) -> None:
    config = home.root / "config.xml"
    config.write_text(core.config_xml({}, {"a.bin": {"cb_nodes": "2"}}))
    words = home.mpi("array_bytes", "a.bin", "posix", "512", "128", "1", "0")
    home.type("run", "--config", str(config), "--", *words)
    (setting,) = explained(home)["settings"]
    assert (setting["parameter"], setting["verdict"]) == ("cb_nodes", "refused")


@pytest.mark.parametrize("storage", ["ceph", "lustre"])
def test_posix_makes_striped_files(home: Home, storage: str) -> None:
    # given
    store = home.on_fake_storage(storage)
    config = home.root / "config.xml"
    stripes = {"striping_factor": "8", "striping_unit": "131072"}
    config.write_text(core.config_xml({}, {"a.bin": stripes}))
    # when each rank opens it by itself (of CephFS's one, for who writes first settles the layout)
    ranks = 1 if storage == "ceph" else 2
    words = home.mpi("array_bytes", "a.bin", "posix", "512", "128", "1", "0", ranks=ranks)
    home.type("run", "--config", str(config), "--", *words)
    # then it is striped, no matter which of them made it
    got = [(one["parameter"], one["got"]) for one in explained(home)["settings"]]
    assert set(got) == set(stripes.items()), explained(home)["settings"]
    call = {"lustre": "setstripe", "ceph": "ceph.file.layout"}[storage]
    assert call in (store / "log").read_text()
