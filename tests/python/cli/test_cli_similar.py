"""PDSW'15's evaluation on real runs: one database, trained for real, asked by other programs."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from iotune.launch import preload
from iotune.replay.mpi import find_mpi, hdf5_flags
from support.installed.given_answers import given_as_measured, given_by_hand, last, row_of
from support.installed.user_home import Home
from support.repository import KERNELS

pytestmark = [
    pytest.mark.mpi,
    pytest.mark.skipif(
        preload.find_library(preload.LIBRARY) is None or not (KERNELS / "ior-io").exists(),
        reason="libiotune.so is not installed, or the kernels are not built",
    ),
]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def trained(home: Home, candidate: str) -> dict[str, Any]:
    """Train the only pattern without an answer; what was found."""
    (found,) = home.asked("train", "--rounds", "3", "--candidates", candidate)
    return dict(found)


def test_ior_receives_vpic_s_answer(home: Home) -> None:
    # given VPIC-IO, trained; IOR was never seen
    home.run("vpic-io", "--size", "65536", "--datasets", "3", "--collective")
    found = trained(home, "romio_cb_write=disable")
    ior = ("-a", "HDF5", "-s", "8", "-b", "256k", "-t", "256k", "-w", "-c", "-o", "ior.h5")
    home.run("ior-io", *ior)
    assert last(home)["source"] == "unknown"
    # when it runs again
    home.run("ior-io", *ior)
    # then the answer is VPIC's, equal in bytes
    reported = last(home)
    assert reported["recognised"] == "<1D,(BLOCK),(32768)>"
    assert (reported["source"], reported["distance"]) == ("exact", 0)
    assert reported["row"] == row_of(home, "<1D,(BLOCK),(65536)>")
    assert reported["state"] == found["state"]
    assert "equal in bytes" in reported["message"] or found["state"] == "default-is-best"


@pytest.mark.soak
def test_a_kernel_out_of_a_trace_receives_its_like_s_answer(home: Home) -> None:
    # given VORPAL, trained, and Resemble-VORPAL made of another program's trace
    home.run("vorpal-io", "--size", "15x25x30", "--datasets", "4", ranks=4)
    trained(home, "romio_cb_write=enable;romio_ds_write=disable")
    home.run("resemble-vorpal-io", "--size", "16x32x24", "--datasets", "4", ranks=4)
    source = home.root / "resemble.c"
    home.type("replay", str(home.traces()[-1]), "--emit-c", str(source))
    mpi = find_mpi()
    program = home.root / "resemble"
    command = [str(mpi.compiler), "-O1", str(source), *hdf5_flags(mpi), "-o", str(program)]
    subprocess.run(command, check=True)
    words = [*mpi.command(4), str(program), "--overwrite", "."]
    home.type("run", "--", *words)
    assert (last(home)["source"], last(home)["distance"]) == ("unknown", None)
    # when
    home.type("run", "--", *words)
    # then
    reported = last(home)
    assert reported["source"] == "similar" and 0 < reported["distance"] < 1
    assert reported["row"] == row_of(home, "<3D,(BLOCK,BLOCK,*),(15,25,30)>")
    text = home.type("explain").stdout
    assert "a similar pattern, row" in text and "at distance 0." in text


@pytest.mark.soak
def test_flash_receives_gcrm_s_where_it_is_its_like(home: Home) -> None:
    # given GCRM with an answer for collective writes
    home.run("gcrm-io", "--size", "1x1x8192", "--datasets", "2", "--collective")
    given_as_measured(home, "romio_cb_write=disable")
    row = row_of(home, "<3D,(*,*,BLOCK),(1,1,8192)>")
    # when FLASH writes collectively
    flash = ("--size", "8x8x8x8", "--datasets", "4", "--collective")
    for _ in range(2):
        home.run("flash-io", *flash)
    # then the checkpoint has it
    checkpoint = next(
        file for file in home.asked("explain")["files"] if "flash-io_chk" in file["path"]
    )
    assert (checkpoint["source"], checkpoint["row"]) == ("similar", row)
    assert checkpoint["distance"] == 0  # 32 KiB a rank, as GCRM's: only the dimensions differ
    (one,) = checkpoint["settings"]
    assert (one["parameter"], one["wanted"]) == ("romio_cb_write", "disable")
    assert one["verdict"] == "applied"
    # and when it writes independently, it is refused, and the distance reported
    for _ in range(2):
        home.run("flash-io", *flash[:-1], "--output", "alone.h5")
    alone = next(file for file in home.asked("explain")["files"] if "alone_chk" in file["path"])
    assert (alone["source"], alone["settings"]) == ("untrained", [])
    assert "one is independent, the other collective" in alone["message"]
    assert "at distance" in alone["message"]
    assert f"at distance {alone['distance']:.3g}" in alone["message"]


def test_settings_travel(home: Home) -> None:
    # given: eight-byte elements in turn, which the sieve joins and two-phase I/O need not exchange
    home.run("cyclic-io", "--collective", "--size", "60000")
    given_as_measured(home, "romio_cb_write=disable")
    other = ("--collective", "--size", "50000", "--output", "other.h5")
    # when
    home.run("cyclic-io", *other)
    home.run("cyclic-io", *other)
    # then it is applied and read back
    reported = last(home)
    assert reported["source"] == "similar" and reported["distance"] == pytest.approx(
        0.1315, abs=1e-3
    )
    assert [(one["parameter"], one["verdict"]) for one in reported["settings"]] == [
        ("romio_cb_write", "applied")
    ]


@pytest.mark.soak
def test_another_file_s_bytes_are_not_reserved(home: Home) -> None:
    # given an answer with the bytes of its own files, which holds for those
    home.run("cyclic-io", "--collective", "--size", "60000")
    given_as_measured(home, "fallocate=960000")
    home.run("cyclic-io", "--collective", "--size", "60000")
    reported = last(home)
    assert (reported["source"], reported["settings"][0]["verdict"]) == ("exact", "applied")
    # when a program with fewer such datasets has the same pattern, then it is left out
    given_as_measured(home, "fallocate=9600000")
    home.run("cyclic-io", "--collective", "--size", "60000")
    reported = last(home)
    assert (reported["source"], reported["settings"]) == ("exact", [])
    assert "fallocate=9600000 left out" in reported["message"]
    assert "datasets of this one had 0.91" in reported["message"]
    given_as_measured(home, "fallocate=960000")
    # when a similar program receives it
    other = ("--collective", "--size", "50000", "--output", "other.h5")
    home.run("cyclic-io", *other)
    home.run("cyclic-io", *other)
    # then it is refused
    reported = last(home)
    (one,) = reported["settings"]
    assert (reported["source"], one["verdict"]) == ("similar", "refused")
    assert one["reason"] == "the answer is a similar pattern's"


def test_settings_said_by_hand_stay_where_they_were_said(home: Home) -> None:
    # given
    home.run("cyclic-io", "--collective", "--size", "60000")
    given_by_hand(home, "romio_cb_write=disable")
    other = ("--collective", "--size", "50000", "--output", "other.h5")
    # when
    home.run("cyclic-io", *other)
    home.run("cyclic-io", *other)
    # then
    reported = last(home)
    assert (reported["source"], reported["settings"]) == ("untrained", [])
    assert "never measured" in reported["message"]
    # and its own pattern has them
    home.run("cyclic-io", "--collective", "--size", "60000")
    assert [one["verdict"] for one in last(home)["settings"]] == ["applied"]
