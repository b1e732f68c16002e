"""Which prebuilt sets a node takes, which it leaves and what it says; and builds that cannot be."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from iotune.errors import Error
from iotune.prebuilt import lookup
from iotune.prebuilt.build import Wanted, build
from iotune.prebuilt.lookup import Asked, Place, verdict_of
from iotune.prebuilt.stored import NOTE, Prebuilt, checked, read_note, sets_in, write_note
from iotune.replay.mpi import Mpi
from iotune.replay.programs import CALLS, PROGRAMS, REPLAY, sources_digest
from support.installed.compute_nodes import on_path
from support.installed.json_schemas import conforming

pytestmark = pytest.mark.mpi

SYSTEM = os.environ["PATH"]
MPICH = Asked(False, "MPICH 4.0.2")
MPI = Mpi("/nowhere/mpirun", None, False, ())


def loads(mpi: str = "MPICH 4.0.2", hdf5: str = "1.10.8", fault: str = "") -> lookup.Versions:
    return lookup.Versions(mpi, "/lib/libmpich.so.12", hdf5, "/opt/hdf5/lib/libhdf5.so", fault)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A site's folder that this user trusts, and programs that load what they are for."""
    folder = tmp_path / "site"
    folder.mkdir(mode=0o755)
    monkeypatch.setenv("IOTUNE_REPLAYER_DIR", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("IOTUNE_HDF5_PKG", "HDF5_ROOT", "HDF5_DIR", "IOTUNE_SITE_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(lookup, "launcher_version", lambda path: "MPICH 4.0.2")
    monkeypatch.setattr(lookup, "loaded_versions", lambda program: loads())
    lookup._tell.cache_clear()
    return folder


def put(site: Path, name: str = "one", **changed: Any) -> Prebuilt:
    """A set whose programs are none."""
    folder = site / name
    folder.mkdir(mode=0o755)
    values: dict[str, Any] = {
        "mpi": "MPICH 4.0.2", "mpi_library": "/lib/libmpich.so.12", "launcher": "MPICH 4.0.2",
        "hdf5": "1.10.8", "hdf5_library": "/opt/hdf5/lib/libhdf5.so", "hdf5_package": "",
        "machine": platform.machine(), "sources": sources_digest(), "iotune": "0.0.1",
        "compiler": "mpicc", "built_at": 1.0, "programs": PROGRAMS,
    }  # fmt: skip
    made = Prebuilt(folder=folder, **(values | changed))
    for program in made.programs:
        (folder / program).write_text("#!/bin/sh\n")
        (folder / program).chmod(0o755)
    write_note(made, folder)
    return made


def reason(one: Prebuilt, asked: Asked = MPICH, name: str = REPLAY) -> str:
    return verdict_of(one, Place(one.folder.parent, ""), asked, name).reason


def test_the_set_of_this_mpi_and_these_sources_is_taken(site: Path) -> None:
    one = put(site)
    assert read_note(one.folder, None) == one
    assert lookup.prebuilt_program(REPLAY, MPI) == one.folder / REPLAY
    # A launcher of several MPIs says none.
    assert reason(one, Asked(False, "")) == ""


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"sources": "0" * 64}, "was made by another iotune, 0.0.1"),
        ({"machine": "pdp11"}, "is for pdp11"),
        ({"launcher": "MPICH 3.1"}, "is for MPICH 3.1, and the launcher is of MPICH 4.0.2"),
        ({"mpi": "Open MPI v4.1.4", "launcher": ""}, "is for Open MPI v4.1.4, and the launcher"),
        ({"mpi": "MPICH 4.0.1"}, "is for MPICH 4.0.1, and iotune-replay loads MPICH 4.0.2"),
        ({"hdf5": "1.14.3"}, "is for HDF5 1.14.3, and iotune-replay loads 1.10.8"),
        ({"programs": (CALLS,), "hdf5": ""}, "has no iotune-replay"),
    ],
)
def test_another_one_is_once_and_not_used(
    site: Path, capsys: pytest.CaptureFixture[str], changed: dict[str, Any], why: str
) -> None:
    put(site, **changed)
    assert lookup.prebuilt_program(REPLAY, MPI) is None
    assert lookup.prebuilt_program(REPLAY, MPI) is None
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith(f"iotune: {site / 'one'} {why}") and "it is not used" in said, said
    assert f"iotune replayer build --into {site}" in said


def test_of_several_that_do_not_fit_the_nearest_is_reported(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(site, "a", mpi="Open MPI v5.0.1", launcher="Open MPI v5.0.1")
    put(site, "b", sources="0" * 64)
    assert lookup.prebuilt_program(REPLAY, MPI) is None
    (said,) = capsys.readouterr().err.splitlines()
    assert "another iotune" in said
    # Where one fits there is nothing to tell.
    put(site, "c")
    assert lookup.prebuilt_program(REPLAY, MPI) == site / "c" / REPLAY
    assert capsys.readouterr().err == ""


def test_the_run_s_own_hdf5_is_asked_for(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = put(site)
    assert reason(one, replace(MPICH, hdf5="1.10.8")) == ""
    assert "the run used 1.14.3" in reason(one, replace(MPICH, hdf5="1.14.3"))
    # Programs of MPI alone have none.
    assert reason(one, replace(MPICH, hdf5="1.14.3"), CALLS) == ""
    assert reason(one, replace(MPICH, root="/opt/hdf5")) == ""
    assert "not below /other (HDF5_ROOT)" in reason(one, replace(MPICH, root="/other"))
    assert "IOTUNE_HDF5_PKG=hdf5-x" in reason(one, replace(MPICH, package="hdf5-x"))
    assert reason(put(site, "named", hdf5_package="hdf5-x"), replace(MPICH, package="hdf5-x")) == ""


def test_the_newest_hdf5_is_taken_first(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(site, "old", hdf5="1.8.23")
    newer = put(site, "newer", hdf5="1.14.3")
    monkeypatch.setattr(
        lookup, "loaded_versions",
        lambda program: loads(hdf5=read_note(Path(program).parent, None).hdf5),
    )  # fmt: skip
    assert lookup.prebuilt_program(REPLAY, MPI) == newer.folder / REPLAY


def test_a_node_without_the_libraries_says_which(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = put(site)
    monkeypatch.setattr(
        lookup, "loaded_versions", lambda program: loads(fault="for libmpich.so.12 is not found")
    )
    assert reason(one) == "does not start here, for libmpich.so.12 is not found"


def test_what_others_may_change_is_not_started(site: Path) -> None:
    one = put(site)
    program = one.folder / REPLAY
    program.chmod(0o757)
    assert f"is not trusted, {program} may be written by others" in reason(one)
    program.chmod(0o755)
    one.folder.chmod(0o777)
    assert f"is not trusted, {one.folder} may be written by others" in reason(one)
    one.folder.chmod(0o755)
    assert reason(one) == ""
    # A link leads to where others may write.
    elsewhere = site.parent / "elsewhere"
    elsewhere.mkdir()
    elsewhere.chmod(0o777)
    program.rename(elsewhere / REPLAY)
    program.symlink_to(elsewhere / REPLAY)
    assert f"{elsewhere} may be written by others" in reason(one)
    elsewhere.chmod(0o1777)  # where nobody takes away what is another's
    assert reason(one) == ""
    program.unlink()
    assert "No such file" in reason(one)


@pytest.mark.skipif(os.getuid() != 0, reason="NOT VERIFIED: another's programs, this is not root")
def test_another_user_s_program_is_not_started(site: Path) -> None:
    one = put(site)
    os.chown(one.folder / REPLAY, 12345, 12345)
    assert "belongs to user 12345" in reason(one)
    # A group of colleagues is no group of one's own.
    os.chown(one.folder / REPLAY, 0, 12345)
    (one.folder / REPLAY).chmod(0o775)
    assert "may be written by others" in reason(one)
    # A support account's folder is its own with all in it.
    for path in (site, one.folder, *one.folder.iterdir()):
        os.chown(path, 12345, 12345)
    assert checked(one.folder / REPLAY, site)[1] == ""
    # But a caller that only looks into a folder does not rely on its owner.
    assert "belongs to user 12345" in reason(one)
    found, faults = sets_in(site, None)
    assert found == [] and "belongs to user 12345" in faults[0]


def test_what_was_checked_is_started_not_a_link_to_it(site: Path) -> None:
    one = put(site)
    real = site.parent / "real"
    (one.folder / REPLAY).rename(real)
    middle = site.parent / "open"
    middle.mkdir()
    middle.chmod(0o777)
    (middle / "link").symlink_to(real)
    (one.folder / REPLAY).symlink_to(middle / "link")
    assert lookup.prebuilt_program(REPLAY, MPI) == real


def test_notes_that_are_not_understood_are_reported(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = json.loads((put(site).folder / NOTE).read_text())
    (site / "empty").mkdir()  # no set at all
    texts = {
        "list": "[]", "cut": '{"format": 1', "later": json.dumps({**good, "format": 2}),
        "number": json.dumps({**good, "mpi": 4}), "none": json.dumps({**good, "programs": "all"}),
        "when": json.dumps({**good, "built_at": True}), "deep": "[" * 60000,
        "huge": json.dumps({**good, "built_at": 10**400}), "long": " " * 70000,
        "lone": json.dumps({key: value for key, value in good.items() if key != "sources"}),
    }  # fmt: skip
    for name, text in texts.items():
        (site / name).mkdir()
        (site / name / NOTE).write_text(text)
    (site / "pipe").mkdir()
    os.mkfifo(site / "pipe" / NOTE)
    texts["pipe"] = ""
    assert lookup.best_first([replace(put(site, "odd"), hdf5="1.\u00b2")])
    shutil.rmtree(site / "odd")
    # Of programs only the known ones are taken: a name is never a path.
    (site / "one" / NOTE).write_text(json.dumps({**good, "programs": ["../../bin/sh", CALLS]}))
    found, faults = sets_in(site, None)
    assert [one.programs for one in found] == [(CALLS,)]
    assert len(faults) == len(texts)
    for name, fault in zip(sorted(texts), faults):
        assert str(site / name / NOTE) in fault
    assert lookup.prebuilt_program(REPLAY, MPI) is None
    said = capsys.readouterr().err.splitlines()
    assert len(said) == len(texts) + 1 and all("it is not used" in line for line in said)


def test_a_folder_that_is_named_and_missing_is_reported(
    site: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lookup.prebuilt_program(REPLAY, MPI) is None
    assert capsys.readouterr().err == ""  # an empty one is as good as none
    monkeypatch.setenv("IOTUNE_REPLAYER_DIR", str(site / "gone"))
    assert lookup.prebuilt_program(REPLAY, MPI) is None
    assert "(IOTUNE_REPLAYER_DIR): No such file or directory" in capsys.readouterr().err
    monkeypatch.setenv("IOTUNE_REPLAYER_DIR", "none")
    assert lookup.places() == []


def test_list_says_what_is_used_and_why_others_are_not(site: Path) -> None:
    put(site, sources="0" * 64)
    done = subprocess.run(
        [sys.executable, "-m", "iotune", "replayer", "list", "--json"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    listed = conforming("replayer-list", done.stdout)
    assert listed["places"][0]["directory"] == str(site)
    (one,) = listed["sets"]
    assert not one["fits"] and not one["used"] and one["reason"], one
    text = subprocess.run(
        [sys.executable, "-m", "iotune", "replayer", "list", site],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "MPICH 4.0.2" in text.stdout and str(site) in text.stdout, text.stdout


@pytest.fixture
def login(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with nothing on it, that a test puts programs on."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    for name in ("IOTUNE_MPIRUN", "IOTUNE_MPICC", "IOTUNE_HDF5_PKG", "HDF5_ROOT", "HDF5_DIR"):
        monkeypatch.delenv(name, raising=False)
    return folder


def system(name: str) -> str:
    path = shutil.which(name, path=SYSTEM)
    if path is None:
        pytest.skip(f"NOT VERIFIED: builds that cannot be: there is no {name}")
    return path


def refused(directory: Path, wanted: Wanted = Wanted()) -> str:
    with pytest.raises(Error) as reported:
        build(directory, wanted)
    text = str(reported.value)
    assert "\n" not in text
    return text


def test_what_is_missing_for_a_build_is_named(login: Path, tmp_path: Path) -> None:
    place = tmp_path / "site"
    mpirun, mpicc = system("mpirun.mpich"), system("mpicc.mpich")
    assert "no mpirun found" in refused(place) and "--mpicc" in refused(place)
    assert "mpicc.gone is no program" in refused(place, Wanted("mpicc.gone"))
    on_path(login, "mpirun", mpirun)
    assert f"no mpicc beside {login / 'mpirun'}" in refused(place)
    on_path(login, "mpicc", mpicc)
    assert "no parallel HDF5 found" in refused(place) and "--without-hdf5" in refused(place)
    assert "pkg-config knows no hdf5-x" in refused(place, Wanted(hdf5="hdf5-x"))
    root = tmp_path / "hdf5"
    (root / "include").mkdir(parents=True)
    assert "has no include/H5pubconf.h" in refused(place, Wanted(hdf5=str(root)))
    (root / "include" / "H5pubconf.h").write_text("/* #undef H5_HAVE_PARALLEL */\n")
    assert "it is not parallel" in refused(place, Wanted(hdf5=str(root)))
    # The wrapper without the compiler behind it.
    said = refused(place, Wanted(with_hdf5=False))
    assert "cannot be compiled with" in said and "gcc" in said, said
    # And nothing is left of any of these.
    assert not place.exists() or list(place.iterdir()) == []


def test_the_hdf5_of_another_mpi_is_refused(tmp_path: Path) -> None:
    compiler = system("mpicc.openmpi")
    if subprocess.run([system("pkg-config"), "hdf5-mpich"], check=False).returncode != 0:
        pytest.skip("NOT VERIFIED: the HDF5 of another MPI: no hdf5-mpich here")
    said = refused(tmp_path / "site", Wanted(compiler, "hdf5-mpich"))
    assert "the HDF5 is of another MPI" in said and "MPICH" in said and "Open MPI" in said, said
    assert list((tmp_path / "site").iterdir()) == []


def test_a_plain_compiler_is_refused(tmp_path: Path) -> None:
    said = refused(tmp_path / "site", Wanted(system("cc"), with_hdf5=False))
    assert "mpi.h" in said or "no MPI" in said, said


def test_a_folder_that_nobody_would_trust_is_refused(tmp_path: Path) -> None:
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    said = refused(open_to_all, Wanted(system("mpicc.mpich"), with_hdf5=False))
    assert f"iotune would not use what lies in {open_to_all}" in said
    file = tmp_path / "file"
    file.touch()
    assert "is no directory" in refused(file, Wanted(system("mpicc.mpich"), with_hdf5=False))


def test_without_hdf5_and_a_launcher_one_s_own_set_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # given a compiler beside which there is no launcher
    on_path(tmp_path / "bin", "cc-of-mpi", system("mpicc.mpich"))
    compiler = str(tmp_path / "bin" / "cc-of-mpi")
    done = subprocess.run(
        [sys.executable, "-m", "iotune", "replayer", "build", "--without-hdf5", "--mpicc", compiler,
         "--json"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    made = conforming("replayer-build", done.stdout)
    assert (made["launcher"], made["hdf5"]) == ("", "") and REPLAY not in made["programs"]
    assert Path(made["folder"]).parent == tmp_path / "cache" / "iotune" / "replayers"
    assert "nobody looks there" not in done.stderr
