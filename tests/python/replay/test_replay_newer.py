"""Transfers that only newer HDF5s have: listed whole, and replayed with the site's HDF5."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from iotune import open_trace
from iotune.launch import preload
from support.installed.user_home import Home
from support.repository import KERNELS

PROGRAMS = sorted(KERNELS.glob("hdf5_newer_*"))

pytestmark = pytest.mark.skipif(
    preload.find_library(preload.LIBRARY) is None or not PROGRAMS,
    reason="libiotune.so is not installed, or there is no HDF5 from 1.14 on",
)


@pytest.fixture(params=PROGRAMS, ids=lambda path: path.name)
def program(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def moved(home: Home, *trace: str) -> dict[tuple[str, bool], int]:
    """Bytes by dataset and direction."""
    (file,) = [one for one in home.asked("show", *trace)["files"] if one["datasets"]]
    return {(one["dataset"], one["write"]): one["bytes"] for one in file["datasets"]}


def test_one_call_on_two_datasets_is_listed_with_both(home: Home, program: Path) -> None:
    # when
    home.type("run", "--mode", "record", "--", str(program), "multi", "m.h5")
    # then
    (write,) = [one for one in home.calls() if one["name"] == "H5Dwrite_multi"]
    assert write["selection"] is None
    reported: dict[str, dict[str, Any]] = {one["dataset"]: one for one in write["transfers"]}
    slab = reported["/table"]["selection"]
    assert (slab["kind"], slab["start"]) == ("regular", [2, 1])
    assert [c * b for c, b in zip(slab["count"], slab["block"])] == [3, 4]
    assert reported["/list"]["selection"] == {"kind": "all", "dims": [40]}
    assert (reported["/list"]["points"], reported["/list"]["type_bytes"]) == (40, 4)
    # and what Python sees is the same
    calls = open_trace(home.traces()[0]).each_call()
    (seen,) = [one for one in calls if one.name == "H5Dwrite_multi"]
    assert list(seen.transfers) == write["transfers"]


@pytest.mark.parametrize("what", ["multi", "chunk", "async"])
def test_a_replay_moves_the_same_bytes(home: Home, program: Path, what: str) -> None:
    # given
    home.type("run", "--mode", "record", "--", str(program), what, "a.h5")
    trace = str(home.traces()[0])
    was = moved(home, trace)
    # when the plan is replayed with the site's HDF5, reading back what was written, where
    # nothing else is read
    planned = home.type("replay", trace, "--plan-only")
    plan = home.work / "the plan"
    plan.write_text(planned.stdout)
    replayed = home.asked("replay", str(plan), *(["--verify"] if what != "multi" else []))
    # then
    assert replayed["bytes"] == sum(was.values())
    assert f"file {home.work}/a.h5 create".replace(" dir", "%20dir") in planned.stdout
    assert "whole chunks" not in planned.stderr
    said = {"multi": "\nmulti 2\n", "chunk": " independent chunk 0 0\n", "async": " async wait\n"}
    assert said[what] in planned.stdout
