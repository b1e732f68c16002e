"""What a newcomer mistypes, or has not installed yet, is answered by what to type or to install."""

from __future__ import annotations

from pathlib import Path

import pytest

from iotune.cli.run import _finish, _why_empty
from iotune.errors import Error
from iotune.output_file import demand_replaceable
from iotune.replay.mpi import Mpi, hdf5_flags
from iotune.replay.replayer import find_prover
from support.installed.import_logs import typed

pytestmark = pytest.mark.mpi

MPICH = Mpi("/usr/bin/mpirun.mpich", None, False, ("hdf5-mpich",))
OPEN_MPI = Mpi("/usr/bin/mpirun.openmpi", None, True, ("hdf5-openmpi",))


def test_a_program_in_the_place_of_a_command_says_how_to_run_it(tmp_path: Path) -> None:
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


@pytest.mark.parametrize("words", ["help", "help run", "version", "-V"])
def test_help_and_version_have_other_spellings(tmp_path: Path, words: str) -> None:
    said = typed(tmp_path, *words.split()).stdout
    assert said.startswith("iotune " if "V" in words or "version" in words else "Usage: iotune")


def test_a_script_that_cannot_be_started_says_how(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("print(1)\n")
    here = typed(tmp_path, "run", "--", "model.py", status=127).stderr
    assert here == "iotune: model.py: no such program on PATH; the one here is ./model.py\n"
    refused = typed(tmp_path, "run", "--", "./model.py", status=126).stderr
    assert "name its interpreter (python3 ./model.py)" in refused


def test_why_a_launcher_left_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # given: a launcher that starts nothing, as Open MPI's where it has too few slots
    launcher = tmp_path / "mpirun"
    launcher.write_text("#!/bin/sh\nunset LD_PRELOAD\nexit 1\n")
    launcher.chmod(0o755)
    monkeypatch.setattr("iotune.core.site_switches_off", lambda: False)
    monkeypatch.setattr("iotune.cli.run.why_no_buffers", lambda: "")
    words = [str(launcher), "-n", "2"]
    # then
    why = _why_empty([*words, "true"], ["/usr/bin/true"], False, 1)
    assert why == f"{launcher} ended with status 1 before a program of it did anything"
    assert _why_empty([*words, "./gone"], [], False, 1) == "there is no program ./gone"
    assert "LD_PRELOAD was taken away" in _why_empty(["true"], ["/usr/bin/true"], False, 1)


def test_a_trace_that_is_not_there_is_answered_by_the_last_one(tmp_path: Path) -> None:
    said = typed(tmp_path, "show", "gone.iotrace", status=1).stderr
    assert said.startswith("iotune: gone.iotrace: No such file or directory")
    assert "without a name the last run's trace is taken" in said


def test_training_without_any_run_says_to_make_one(tmp_path: Path) -> None:
    said = typed(tmp_path, "train", "--db", str(tmp_path / "new.db")).stderr
    assert "next: iotune run -- ..." in said


def test_a_folder_that_may_not_be_written_is_reported_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)  # root may write anywhere
    with pytest.raises(Error, match=rf"{tmp_path} may not be written: -o names another place"):
        demand_replaceable(tmp_path / "run.html")


def test_a_run_that_cannot_be_joined_is_not_said_to_have_done_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "run.iotrace")

    monkeypatch.setattr("iotune.cli.run.collect_run", refused)
    _finish(tmp_path / "run.iotrace", None, "1", True, True, lambda: "it opened no file", ["a"])
    said = capsys.readouterr().err
    assert "could not be joined" in said and "next: iotune show" in said
    assert "nothing was recorded" not in said
