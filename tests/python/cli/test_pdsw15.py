"""PDSW'15's evaluation, whole: answers come of training alone, and travel as far as they pay.

What a measurement finds here is not known before, so that each test follows what was found: where
settings were found the other program has them, read back; where the default was best, so it is
there. The quick form, with some answers given by hand, is test_cli_similar.py.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from iotune.launch import preload
from iotune.replay.mpi import find_mpi, hdf5_flags
from support.installed.given_answers import given_as_measured, last, row_of
from support.installed.user_home import Home
from support.repository import KERNELS

pytestmark = [
    pytest.mark.mpi,
    pytest.mark.soak,
    pytest.mark.skipif(
        preload.find_library(preload.LIBRARY) is None or not (KERNELS / "ior-io").exists(),
        reason="libiotune.so is not installed, or the kernels are not built",
    ),
]

BUDGET = ("--rounds", "3", "--budget", "6")
# Two-phase I/O in rounds of 4 KiB: a program that writes pieces of some 10 KiB in turn loses by it.
BAD = "cb_buffer_size=4096;romio_cb_write=enable"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def trained(home: Home, *words: str) -> dict[str, Any]:
    """What training found for the only pattern without an answer."""
    (found,) = home.asked("train", *(words or BUDGET))
    return dict(found)


def pattern_of(home: Home, descriptor: str) -> str:
    for pattern in home.asked("db", "list")["patterns"]:
        if pattern["descriptor"] == descriptor:
            return str(pattern["id"])
    raise AssertionError(f"{descriptor} was never observed")


def follows(reported: dict[str, Any], found: dict[str, Any]) -> None:
    """The file has what was found for another pattern, and no more."""
    got = {one["parameter"]: one for one in reported["settings"]}
    if found["state"] != "tuned":
        assert reported["state"] == "default-is-best" and not got, reported
        return
    assert reported["state"] == "tuned", reported
    # cb_nodes brings its own cb_config_list.
    assert set(found["settings"]) <= set(got) <= {*found["settings"], "cb_config_list"}, reported
    effective = [one for one in got.values() if one["verdict"] in ("applied", "unverifiable")]
    assert effective, reported


def test_ior_receives_what_was_trained_for_vpic(home: Home) -> None:
    home.run("vpic-io", "--size", "262144", "--datasets", "4", "--collective")
    found = trained(home)
    ior = ("-a", "HDF5", "-s", "8", "-b", "1m", "-t", "1m", "-w", "-c", "-o", "ior.h5")
    for _ in range(2):
        home.run("ior-io", *ior)
    reported = last(home)
    assert reported["recognised"] == "<1D,(BLOCK),(131072)>"
    assert (reported["source"], reported["distance"]) == ("exact", 0)
    assert reported["row"] == row_of(home, "<1D,(BLOCK),(262144)>")
    follows(reported, found)


def test_ior_by_the_paper_s_own_flags_has_vpic_s_pattern(home: Home) -> None:
    """The paper's sizes on two ranks: 32 MiB a rank and dataset, 512 MiB a file."""
    if shutil.disk_usage(home.root).free < 4 << 30:
        print("NOT VERIFIED: IOR by the paper's own flags: less than 4 GiB are free")
        pytest.skip("no room for its files")
    home.run("vpic-io", "--particles", "8388608", "--output", "vpic.h5")
    found = trained(home)
    (home.work / "vpic.h5").unlink()
    for _ in range(2):
        home.run("ior-io", "-a", "HDF5", "-s", "8", "-b", "32m", "-t", "32m", "-w", "-o", "ior.h5")
    assert (home.work / "ior.h5").stat().st_size >= 512 << 20
    (home.work / "ior.h5").unlink()
    reported = last(home)
    # Eight-byte integers, of which the paper's VPIC-IO has twice as many of four.
    assert reported["recognised"] == "<1D,(BLOCK),(4194304)>"
    assert (reported["source"], reported["distance"]) == ("exact", 0)
    assert reported["row"] == row_of(home, "<1D,(BLOCK),(8388608)>")
    follows(reported, found)


def test_resemble_vorpal_out_of_a_trace_receives_what_was_trained_for_vorpal(home: Home) -> None:
    home.run("vorpal-io", "--size", "30x25x60", "--datasets", "4", "--collective", ranks=4)
    found = trained(home)
    home.run("resemble-vorpal-io", "--size", "32x32x48", "--datasets", "4", "--collective", ranks=4)
    source = home.root / "resemble.c"
    home.type("replay", str(home.traces()[-1]), "--emit-c", str(source))
    mpi = find_mpi()
    program = home.root / "resemble"
    command = [str(mpi.compiler), "-O1", str(source), *hdf5_flags(mpi), "-o", str(program)]
    subprocess.run(command, check=True)
    for _ in range(2):
        home.type("run", "--", *mpi.command(4), str(program), "--overwrite", ".")
    reported = last(home)
    assert reported["source"] == "similar" and 0 < reported["distance"] < 1, reported
    assert reported["row"] == row_of(home, "<3D,(BLOCK,BLOCK,*),(30,25,60)>")
    follows(reported, found)


def checkpoint(home: Home) -> dict[str, Any]:
    return next(
        dict(one) for one in home.asked("explain")["files"] if "_chk" in Path(one["path"]).name
    )


def flash(home: Home, blocks: int, name: str) -> dict[str, Any]:
    """Twice, because a first run has nothing to compare with; the checkpoint of the second."""
    size = f"{blocks}x8x8x8"
    for _ in range(2):
        home.run("flash-io", "--size", size, "--datasets", "4", "--collective", "--output", name)
    return checkpoint(home)


def test_flash_receives_what_was_trained_for_gcrm(home: Home) -> None:
    home.run("gcrm-io", "--size", "1x1x81920", "--datasets", "4", "--collective")
    found = trained(home)
    reported = flash(home, 80, "flash.h5")
    assert reported["source"] == "similar" and reported["distance"] == 0, reported
    assert reported["row"] == row_of(home, "<3D,(*,*,BLOCK),(1,1,81920)>")
    follows(reported, found)


def test_flash_is_refused_what_lost_on_flash(home: Home) -> None:
    """GCRM's answer is bad for FLASH: training FLASH with it records the trial, and from then on
    neither that FLASH nor another one has it.
    """
    home.run("gcrm-io", "--size", "1x1x81920", "--datasets", "4", "--collective")
    given_as_measured(home, BAD)  # GCRM's is the only pattern: what gains there is not known before
    assert flash(home, 80, "flash.h5")["source"] == "similar"
    pattern = pattern_of(home, "<4D,(BLOCK,*,*,*),(80,8,8,8)>")
    (found,) = home.asked(
        "train", "--rounds", "3", "--candidates", BAD, "--pattern", pattern
    )  # fmt: skip
    (trial,) = found["candidates"]
    if trial["gain"] is None or trial["gain"]["ratio"] >= 0.97:
        print(f"NOT VERIFIED: what loses is refused: {BAD} did not lose here: {trial}")
        pytest.skip("the settings did not lose on this storage")
    assert flash(home, 80, "flash.h5")["settings"] == []
    other = flash(home, 96, "other.h5")
    assert other["settings"] == [], other
    assert "best left alone" in other["message"] or "default is best" in other["message"], other
