"""HDF5's other transfers (of chunks, of several datasets, begun and waited for), reissued as such.

Recorded, replayed, recorded again, and compared.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from iotune.launch import preload
from iotune.replay.mpi import Mpi, find_mpi, hdf5_flags
from iotune.replay.replayer import find_replayer
from support.installed.user_home import Home
from support.repository import COMPANIONS, program_source

PROGRAM = program_source("hdf5_forms.c")
NEWER = COMPANIONS / "hdf5-2.2-parallel"
NEWER_MPI = COMPANIONS / "mpich" / "bin" / "mpirun"

pytestmark = [
    pytest.mark.mpi,
    pytest.mark.skipif(
        preload.find_library(preload.LIBRARY) is None, reason="libiotune.so is not installed"
    ),
]


class Site:
    """A user, and the MPI and HDF5 of the machine."""

    def __init__(self, home: Home, mpi: Mpi, newer: bool):
        self.home, self.mpi, self.newer = home, mpi, newer

    def built(self, source: Path) -> Path:
        program = source.with_suffix("")
        if source == PROGRAM:
            program = self.home.root / PROGRAM.stem
        flags = ["-Wall", "-Wextra", "-Werror", "-O1", str(source), *hdf5_flags(self.mpi)]
        done = subprocess.run(
            [str(self.mpi.compiler), *flags, "-o", str(program)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return program

    def recorded(self, name: str, ranks: int, *command: str) -> Path:
        trace = self.home.root / f"{name}.iotrace"
        self.home.type(
            *("run", "--mode", "record", "-o", str(trace), "--"),
            *self.mpi.command(ranks),
            *command,
        )
        return trace

    def program_run(self, ranks: int) -> Path:
        (self.home.work / "data").mkdir()
        return self.recorded("program", ranks, str(self.built(PROGRAM)), "data")

    def replayed(self, trace: Path, name: str, ranks: int, *options: str) -> tuple[Path, str]:
        plan, directory = self.home.root / f"{name}.plan", self.home.root / name
        plan.write_text(self.home.type("replay", str(trace), "--plan-only", *options).stdout)
        directory.mkdir()
        command = [str(find_replayer(self.mpi)), "--file-dir", str(directory), str(plan)]
        return self.recorded(name, ranks, *command), plan.read_text()

    def calls(self, trace: Path, rank: int) -> list[tuple[Any, ...]]:
        """The transfers and waits of a rank, with what was moved of each dataset."""
        return [
            (
                one["name"],
                [(of["dataset"], of["mode"], of["selection"]) for of in one["transfers"] or []],
                # A chunk's filters and stored bytes; of other calls ids.
                one["arguments"] if "write_chunk" in one["name"] else None,
            )
            for one in self.home.calls("--rank", str(rank), str(trace))
            if re.match("H5D(read|write)|H5ESwait", one["name"])
        ]

    def same(self, one: Path, other: Path, ranks: int, least: int) -> None:
        for rank in range(ranks):
            expected = self.calls(one, rank)
            assert len(expected) >= least
            assert bare(self.calls(other, rank)) == bare(expected)


def bare(calls: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Without what is another number in every run: identifiers."""
    return [
        (
            name,
            moved,
            said and {key: said[key] for key in ("filters", "offset", "bytes") if key in said},
        )
        for name, moved, said in calls
    ]


@pytest.fixture(params=["here", "2.2"])
def site(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    newer = request.param == "2.2"
    if newer:
        if not (NEWER / "include" / "hdf5.h").exists() or not os.access(NEWER_MPI, os.X_OK):
            pytest.skip("NOT VERIFIED: HDF5 2.2 in parallel is not built below build/companions")
        monkeypatch.setenv("IOTUNE_MPIRUN", str(NEWER_MPI))
        monkeypatch.setenv("HDF5_ROOT", str(NEWER))
    mpi = find_mpi()
    if mpi.compiler is None:
        pytest.skip("NOT VERIFIED: replays of HDF5's other transfers: there is no mpicc")
    home = Home(tmp_path)
    if newer:
        home.environment |= {"IOTUNE_MPIRUN": str(NEWER_MPI), "HDF5_ROOT": str(NEWER)}
    return Site(home, mpi, newer)


def test_a_replay_makes_the_same_calls(site: Site) -> None:
    # given
    trace = site.program_run(2)
    # when
    again, plan = site.replayed(trace, "again", 2)
    # then
    site.same(trace, again, 2, least=20 if site.newer else 4)
    assert (" async" in plan) == ("multi 3" in plan) == site.newer
    # and every byte can be checked, on other numbers of ranks too
    for ranks in ("1", "3"):
        site.home.type("replay", str(trace), "-n", ranks, "--verify")


def pauses(plan: str) -> list[int]:
    """Of rank 0, nanoseconds."""
    return [int(found) for found in re.findall(r"^pause 0 (\d+)$", plan, re.MULTILINE)]


def test_pauses_between_transfers_are_kept_scaled_or_fixed(tmp_path: Path) -> None:
    # given three steps, each of two datasets, 150 ms apart
    home = Home(tmp_path)
    options = ["--particles", "64", "--datasets", "2", "--steps", "3", "--pause-ms", "150"]
    home.type("run", "--mode", "record", "--timing", "exact", "--", *home.mpi("vpic-io", *options))
    trace = str(home.traces()[0])

    def plan(*words: str) -> str:
        return home.type("replay", trace, "--plan-only", *words).stdout

    # then
    kept = pauses(plan("--pause", "keep"))
    assert sum(pause >= 150_000_000 for pause in kept) == 2
    assert pauses(plan("--pause", "x2")) == [2 * pause for pause in kept]
    assert set(pauses(plan("--pause", "5ms"))) == {5_000_000}
    assert pauses(plan()) == [] == pauses(plan("--pause", "none"))
    assert len(pauses(plan("--pause", "5ms", "-n", "1"))) == len(pauses(plan("--pause", "5ms")))
    # and they are made
    for ranks in ("1", "2"):
        assert home.asked("replay", trace, "--pause", "keep", "-n", ranks)["seconds"] >= 0.3


def test_a_kernel_makes_the_same_calls(site: Site) -> None:
    # given
    trace = site.program_run(2)
    # when
    source = site.home.root / "kernel.c"
    site.home.type("replay", str(trace), "--emit-c", str(source))
    (site.home.root / "into").mkdir()
    again = site.recorded("kernel", 2, str(site.built(source)), str(site.home.root / "into"))
    # then
    site.same(trace, again, 2, least=20 if site.newer else 4)
