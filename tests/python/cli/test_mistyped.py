"""What a newcomer mistypes, or has not installed yet, is answered by what to type or to install."""

from __future__ import annotations

from pathlib import Path

import pytest

from iotune.errors import Error
from iotune.replay.mpi import Mpi, hdf5_flags
from iotune.replay.replayer import find_prover
from support.installed.import_logs import typed

MPICH = Mpi("/usr/bin/mpirun.mpich", None, False, ("hdf5-mpich",))
OPEN_MPI = Mpi("/usr/bin/mpirun.openmpi", None, True, ("hdf5-openmpi",))


def test_a_program_in_the_place_of_a_command_is_told_how_to_be_run(tmp_path: Path) -> None:
    said = typed(tmp_path, "python3", "a b.py", status=2)
    assert said.stdout == ""
    assert said.stderr.endswith("a program: iotune run -- python3 'a b.py'\n")


def test_a_mistyped_command_is_answered_by_the_one_that_was_meant(tmp_path: Path) -> None:
    assert "show" in typed(tmp_path, "shwo", status=2).stderr


@pytest.mark.parametrize("wrong", ["-n", "--tming"])
def test_an_option_of_another_program_before_the_command_is_no_program(
    tmp_path: Path, wrong: str
) -> None:
    said = typed(tmp_path, "run", wrong, "4", "true", status=2).stderr
    assert f"No such option: {wrong}" in said


def test_options_behind_the_program_are_the_program_s(tmp_path: Path) -> None:
    assert "--mode\n" in typed(tmp_path, "run", "--db", "none", "echo", "--mode").stdout


@pytest.mark.parametrize(("mpi", "name"), [(MPICH, "mpich"), (OPEN_MPI, "openmpi")])
def test_what_is_missing_for_a_replayer_is_named_by_its_package(
    mpi: Mpi, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("iotune.replay.replayer._of_build", lambda *_: None)
    with pytest.raises(Error, match=rf"no mpicc .* \(Debian: lib{name}-dev\)"):
        find_prover(mpi, with_hdf5=False)
    for variable in ("HDF5_ROOT", "HDF5_DIR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(Error, match=rf"\(Debian: libhdf5-{name}-dev pkg-config\)"):
        hdf5_flags(mpi)
