"""`iotune doctor` without a program: the install, its surroundings and its places."""

from __future__ import annotations

import os
import re
import resource
import sqlite3
import subprocess
from pathlib import Path

import pytest

from iotune import core, locations
from iotune.doctor import install, mpis, places, surroundings, variables
from iotune.doctor.check import FAILS, PARTLY, UNKNOWN, WORKS, Check
from iotune.launch import preload
from support import preloaded
from support.answers import make_database
from support.installed.doctors import Patient, says
from support.repository import ROOT

pytestmark = pytest.mark.mpi

needs_the_library = pytest.mark.skipif(
    preload.find_library(preload.LIBRARY) is None, reason="libiotune.so is not installed"
)


@pytest.fixture
def patient(tmp_path: Path) -> Patient:
    return Patient(tmp_path)


def as_json(*found: Check) -> list[dict[str, str]]:
    return [one.as_json() for one in found]


@needs_the_library
def test_an_install_that_works(patient: Patient) -> None:
    found = patient.ask()
    for wanted in ("library", "database-library", "versions", "variables", "preloads",
                   "process-limits", "storage-variables", "traces", "buffers"):  # fmt: skip
        says(found, wanted, WORKS)
    says(found, "recording", WORKS, "8192 bytes")
    says(found, "database", WORKS, "a run makes it", subject=str(patient.home))
    assert sorted(patient.home.rglob("*")) == [], "it leaves nothing in a home"


def test_a_library_that_is_gone_or_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preload, "library_directories", lambda: [tmp_path])
    found = as_json(*install.install_checks())
    says(found, "library", FAILS, "not installed", "install iotune again")
    says(found, "database-library", FAILS, "not installed")
    for name in (preload.LIBRARY, preload.DATABASE_LIBRARY):
        (tmp_path / name).write_bytes(b"\x7fELF and no more")
    found = as_json(*install.install_checks())
    says(found, "library", FAILS, "ld.so")
    says(found, "database-library", FAILS, "ld.so")
    says(found, "recording", FAILS)


def test_parts_of_two_installs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    says(as_json(install._versions()), "versions", WORKS)
    monkeypatch.setenv("IOTUNE_LIB", str(tmp_path))
    says(as_json(install._versions()), "versions", PARTLY, "unset IOTUNE_LIB")
    monkeypatch.delenv("IOTUNE_LIB")
    monkeypatch.setattr("importlib.metadata.version", lambda name: "0.0.9")
    says(as_json(install._versions()), "versions", FAILS, "0.0.9", "pip uninstall")


@needs_the_library
def test_databases(patient: Patient) -> None:
    path = patient.work / "patterns.db"
    make_database(path)
    says(patient.ask(IOTUNE_DB=path), "database", WORKS, "0 patterns, 0 answers")
    path.write_bytes(path.read_bytes()[:5000])
    says(patient.ask(IOTUNE_DB=path), "database", FAILS, subject=str(path))
    path.write_text("no database\n" * 100)
    says(patient.ask(IOTUNE_DB=path), "database", FAILS, "put it aside")
    with sqlite3.connect(patient.work / "other.db") as other:
        other.execute("CREATE TABLE t (a)")
    says(patient.ask(IOTUNE_DB=patient.work / "other.db"), "database", FAILS)
    says(patient.ask(IOTUNE_DB="none"), "database", PARTLY, "unset IOTUNE_DB")


def test_what_the_site_allows(patient: Patient) -> None:
    conf = patient.work / "site.conf"
    for text, verdict, says_so in (
        ("mode = tune\n", WORKS, "allows everything"),
        ("mode = record\nshare = 25\nfreeze = yes\n", PARTLY, "25 % of the jobs"),
        ("mode = off\n", FAILS, "mode = off"),
        ("mode = of\n", FAILS, "site.conf:1: mode is none of off, record, tune"),
    ):
        conf.write_text(text)
        conf.chmod(0o644)
        says(patient.ask(IOTUNE_SITE_CONFIG=conf), "site-limits", verdict, says_so)
    says(patient.ask(IOTUNE_SITE_CONFIG=conf), "recording", FAILS, "switched iotune off")


def test_where_the_site_keeps_things(patient: Patient) -> None:
    """The folders that it names, who reads them, and whether this user can have them."""
    conf, users = patient.work / "site.conf", patient.work / "users"
    users.mkdir()
    users.chmod(0o1777)
    conf.write_text(f"traces = {users}/%u\napplied_log = {users}/%u\nreadable_by = group\n")
    conf.chmod(0o644)
    own = users / str(os.getuid())
    found = patient.ask(IOTUNE_SITE_CONFIG=conf)
    for reported in (f"traces in {own}/traces", f"the log of what was applied in {own}/applied"):
        says(found, "site-limits", WORKS, f"{reported}, which the group reads")
    assert not own.exists(), "it is looked at, not made"
    own.symlink_to(patient.work)
    found = patient.ask(IOTUNE_SITE_CONFIG=conf)
    for reported in ("they go to the home", "runs are not in it"):
        says(found, "site-limits", PARTLY, f"is a link or no folder: {reported}")


def test_variables_with_slips_of_the_pen() -> None:
    def of(**environment: str) -> list[dict[str, str]]:
        return as_json(*variables.variable_checks(environment))

    says(of(), "variables", WORKS, "no variable")
    says(of(IOTUNE_MODE="record", IOTUNE_MEMORY_MIB="8"), "variables", WORKS, "understood")
    says(of(IOTUNE_MODE="tuen"), "variables", FAILS, "it counts as off", subject="IOTUNE_MODE")
    says(of(IOTUNE_MOD="tune"), "variables", PARTLY, "did you mean IOTUNE_MODE?")
    says(of(IOTUNE_TIMING="precise"), "variables", PARTLY, "pattern, call, exact")
    says(of(IOTUNE_PREFETCH_MEMORY_MIB="0"), "variables", PARTLY, "from 1 to 16384")
    says(of(IOTUNE_CONFIG="/nowhere.xml"), "variables", FAILS, "nothing is tuned")
    says(of(IOTUNE_INCLUDE="out/*"), "variables", PARTLY, "matches nothing")
    says(of(IOTUNE_LOGSTORE="out"), "variables", PARTLY, "no absolute path")
    says(of(IOTUNE_TRACE="/nowhere/a.iotrace"), "variables", PARTLY, "no such folder")


def test_the_list_of_variables_is_that_of_the_page() -> None:
    page = (ROOT / "docs" / "environment.md").read_text()
    assert sorted(variables.KNOWN) == sorted(re.findall(r"^\| (IOTUNE_\w+) \|", page, re.MULTILINE))
    for name, words in variables.KNOWN.items():
        row = next(line for line in page.splitlines() if line.startswith(f"| {name} |"))
        assert all(f"`{word}`" in row for word in words if isinstance(word, str)), row


def test_where_traces_go(patient: Patient) -> None:
    says(patient.ask(), "traces", WORKS, "free on", subject=str(patient.home))
    says(patient.ask(XDG_STATE_HOME="/proc/1"), "traces", PARTLY, "-o FILE")


def test_room_for_traces(monkeypatch: pytest.MonkeyPatch) -> None:
    full = os.statvfs_result((4096, 4096, 10, 0, 0, 0, 0, 0, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda path: full)
    says(as_json(places._traces()), "traces", PARTLY, "may be incomplete")


def test_buffers_that_cannot_be(patient: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
    says(patient.ask(IOTUNE_BUFFER_DIR="/proc/iotune"), "buffers", FAILS, "IOTUNE_BUFFER_DIR")
    shared = patient.work / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    says(patient.ask(IOTUNE_BUFFER_DIR=shared), "buffers", FAILS, "written by others")
    monkeypatch.setenv("IOTUNE_BUFFER_DIR", str(patient.work / "new"))
    monkeypatch.setattr(core, "filesystem_of", lambda path: "nfs")
    says(as_json(places._buffers()), "buffers", FAILS, "on nfs")


@pytest.mark.parametrize(
    ("name", "verdict", "text"),
    [
        ("libdarshan.so", PARTLY, "tried by a stand-in"),
        ("librecorder.so", PARTLY, "Recorder"),
        ("libdftracer_preload.so", PARTLY, "dftracer"),
        ("libxalt_init.so", WORKS, "XALT"),
        ("libheaptrack_preload.so", WORKS, "heaptrack"),
        ("libjemalloc.so.2", WORKS, "jemalloc"),
        ("libmimalloc.so.2", WORKS, "not tried"),
        ("libasan.so.8", PARTLY, "the first preload"),
        ("libsomething.so", UNKNOWN, "no tool that iotune knows"),
    ],
)
def test_other_preloads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, verdict: str, text: str
) -> None:
    library = tmp_path / name
    library.touch()
    for key, value in preloaded.variables(library).items():
        monkeypatch.setenv(key, value)
    says(as_json(*surroundings._preloads()), "preloads", verdict, text, subject=name)
    library.unlink()
    says(as_json(*surroundings._preloads()), "preloads", PARTLY, "no such file")


def test_address_sanitizer_behind_another_preload(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    libraries = [tmp_path / name for name in ("libjemalloc.so.2", "libasan.so.8")]
    for library in libraries:
        library.touch()
    for key, value in preloaded.variables(*libraries).items():
        monkeypatch.setenv(key, value)
    found = as_json(*surroundings._preloads())
    says(found, "preloads", FAILS, "put it first", subject="libasan.so.8")


def test_limits(patient: Patient) -> None:
    def files_are_small() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))

    found = patient.about("/bin/sh", before=files_are_small)
    says(found, "process-limits", PARTLY, "ulimit -f")
    says(patient.about("/bin/sh"), "process-limits", WORKS, "locked memory")


def test_where_hdf5_keeps_its_files() -> None:
    def of(**environment: str) -> list[dict[str, str]]:
        return as_json(surroundings._storage(environment))

    says(of(), "storage-variables", WORKS)
    says(of(HDF5_VOL_CONNECTOR="native"), "storage-variables", WORKS)
    says(of(HDF5_PLUGIN_PATH="/opt/filters"), "storage-variables", WORKS, "/opt/filters")
    says(of(HDF5_VOL_CONNECTOR="async under_vol=0"), "storage-variables", PARTLY, "async", "left")
    says(of(HDF5_DRIVER="subfiling"), "storage-variables", PARTLY, "HDF5_DRIVER=subfiling")


def test_hints_of_others(tmp_path: Path) -> None:
    def of(**environment: str) -> list[dict[str, str]]:
        return as_json(surroundings._hints(environment))

    says(of(ROMIO_HINTS="/nowhere"), "user-hints", PARTLY, "No such file")
    hints = tmp_path / "hints"
    hints.write_text("# of the site\nromio_cb_write enable\ncb_nodes 4\n")
    says(of(ROMIO_HINTS=str(hints)), "user-hints", PARTLY, "romio_cb_write, cb_nodes")
    says(of(MPICH_MPIIO_HINTS="*:cb_nodes=2"), "user-hints", PARTLY, "MPICH_MPIIO_HINTS")
    says(of(OMPI_MCA_io_ompio_num_aggregators="2"), "user-hints", PARTLY, "num_aggregators")
    if not Path("/etc/romio-hints").exists():
        says(of(OMPI_MCA_btl="self"), "user-hints", WORKS)


@pytest.mark.parametrize(
    ("said", "verdict", "text"),
    [
        ("mpirun (Open MPI) 5.0.11", WORKS, "Open MPI v5.0.11"),
        ("mpirun.openmpi (OpenRTE) 4.1.4", WORKS, "Open MPI v4.1.4"),
        ("HYDRA build details:\n    Version:       4.0.2", WORKS, "MPICH 4.0.2"),
        ("Intel(R) MPI Library for Linux* OS, Version 2021.8 Build", WORKS, "Intel MPI 2021.8"),
        ("some launcher 1.0", UNKNOWN, "no version that iotune knows"),
    ],
)
def test_launchers_by_what_they_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, verdict: str, text: str
) -> None:
    launcher = tmp_path / "mpirun"
    launcher.write_text(f"#!/bin/sh\necho '{said}'\n")
    launcher.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    monkeypatch.setenv("IOTUNE_MPIRUN", "")
    says(as_json(*mpis.mpi_checks()), "mpi", verdict, text, subject=str(launcher))


def test_a_node_without_mpi(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = as_json(*mpis.mpi_checks())
    says(found, "mpi", UNKNOWN, "no launcher")
    says(found, "replayer", PARTLY, "no mpirun found")


def test_what_compiles_a_replayer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if subprocess.run(["sh", "-c", "command -v mpicc.mpich && pkg-config hdf5-mpich"],
                      capture_output=True, check=False).returncode:  # fmt: skip
        pytest.skip("NOT VERIFIED: no MPICH with HDF5 here")
    monkeypatch.setattr(locations, "cache_dir", lambda: tmp_path)
    monkeypatch.setattr(mpis, "cache_dir", lambda: tmp_path)
    monkeypatch.delenv("HDF5_ROOT", raising=False)
    says(as_json(mpis._replayer()), "replayer", WORKS, "none compiled yet")
    monkeypatch.setattr("iotune.replay.mpi.is_open_mpi", lambda launcher: False)
    monkeypatch.setattr(mpis, "hdf5_flags", _no_hdf5)
    says(as_json(mpis._replayer()), "replayer", PARTLY, "IOTUNE_HDF5_PKG")


def _no_hdf5(mpi: object) -> list[str]:
    from iotune.errors import Error

    raise Error("no parallel HDF5 found")
