"""`iotune doctor --on DIR`: file systems, real ones and stand-ins; nothing is left in DIR."""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path

import pytest

from iotune import core
from iotune.doctor import directory
from iotune.doctor.check import FAILS, PARTLY, UNKNOWN, WORKS
from iotune.doctor.mpis import launchers
from iotune.proving.prover import Site
from support import preloaded
from support.installed.doctors import Patient, says
from support.repository import KERNELS

FAKE_STORAGE = KERNELS.parent / "lib" / "libfake_storage.so"


@pytest.fixture
def patient(tmp_path: Path) -> Patient:
    return Patient(tmp_path)


def checks_of(folder: Path) -> list[dict[str, str]]:
    return [one.as_json() for one in directory.directory_checks(folder)]


def test_a_directory_of_this_node(patient: Patient) -> None:
    (patient.work / "mine").write_text("stays")
    found = patient.ask("--on", ".", "--", "/bin/sh")
    says(found, "directory", WORKS, subject=str(patient.work))
    kind = core.filesystem_of(patient.work)
    says(found, "file-system", WORKS if kind != "unknown" else UNKNOWN, kind, "mounted at")
    says(found, "layout", PARTLY, "no layout to set")
    says(found, "locks", WORKS, "hold")
    says(found, "room", WORKS, "free")
    assert os.listdir(patient.work) == ["mine"], "a scratch folder is left"


def test_memory_is_recognised_by_its_name(patient: Patient) -> None:
    says(patient.ask("--on", "/dev/shm"), "file-system", WORKS, "tmpfs")


def test_a_directory_that_takes_no_files(patient: Patient) -> None:
    found = patient.ask("--on", "/proc", "--", "/bin/sh")
    says(found, "directory", FAILS, "--on")
    says(found, "file-system", UNKNOWN, "no table")
    assert not [one for one in found if one["id"] in ("layout", "locks")]


@pytest.mark.skipif(not FAKE_STORAGE.exists(), reason="NOT VERIFIED: no stand-in for a storage")
def test_a_storage_that_passes_for_cephfs(patient: Patient) -> None:
    (patient.root / "store").mkdir()
    (patient.work / "data").mkdir()
    stand_in = {
        **preloaded.variables(FAKE_STORAGE), "FAKE_STORAGE": "ceph",
        "FAKE_ROOT": str(patient.work), "FAKE_STORE": str(patient.root / "store"),
    }  # fmt: skip
    found = patient.ask("--on", "data", **stand_in)
    says(found, "file-system", WORKS, "cephfs")
    says(found, "layout", WORKS, "CephFS")
    says(found, "locks", WORKS)
    assert os.listdir(patient.work / "data") == []
    found = patient.ask("--on", "data", **stand_in, FAKE_REFUSES="1")
    says(found, "layout", PARTLY, "CephFS refuses a layout", "client key")


def test_lustre_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core, "filesystem_of", lambda path: "lustre")
    found = checks_of(tmp_path)
    says(found, "layout", WORKS, "stripes")
    # No mount here says flock.
    says(found, "locks", PARTLY, "lustre is not known to keep them")


def test_a_storage_that_is_not_known_to_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(core, "filesystem_of", lambda path: "nfs")
    says(checks_of(tmp_path), "locks", PARTLY, "nfs is not known to keep them")

    def refuses(*_: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "lockf", refuses)
    says(checks_of(tmp_path), "locks", FAILS, "ENOLCK", "HDF5_USE_FILE_LOCKING")
    assert os.listdir(tmp_path) == []


def test_a_disk_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def has(free_blocks: int, free_inodes: int) -> None:
        found = os.statvfs_result((4096, 4096, 1 << 30, free_blocks, free_blocks, 1 << 20,
                                   free_inodes, free_inodes, 0, 255))  # fmt: skip
        monkeypatch.setattr(os, "statvfs", lambda path: found)

    for blocks, inodes, verdict, text in (
        (1 << 20, 1 << 10, WORKS, "4.0 GiB free"),
        (100, 1 << 10, PARTLY, "want 64.0 MiB"),
        (0, 1 << 10, FAILS, "0 B free"),
        (1 << 20, 3, PARTLY, "3 inodes"),
    ):
        has(blocks, inodes)
        says(checks_of(tmp_path), "room", verdict, text)


def test_a_quota(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "quota"
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    for says_so, text in (("", "no quota is exceeded"), ("Disk quotas: over", "is exceeded")):
        program.write_text(f"#!/bin/sh\necho '{says_so}'\n")
        program.chmod(0o755)
        says(checks_of(tmp_path), "room", WORKS, text)


def test_mounts_tell_no_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = directory.Mount("/data", "nfs4", "rw,vers=4.2,addr=10.1.2.3,clientaddr=ann,hard")
    assert found.plain_options == "rw,vers=4.2,hard"


def proven(tmp_path: Path, site: Site) -> list[dict[str, str]]:
    return [directory.proven_check(site, tmp_path).as_json()]


def test_what_is_proven_of_libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IOTUNE_DB", str(tmp_path / "none.db"))
    known = Site("ext4", "MPICH 4.0.2", "MPICH", "1.10.8", 4, 1)
    says(proven(tmp_path, known), "proven", WORKS, "MPICH 4.0.2 and HDF5 1.10.8 on ext4", "bad")
    new = Site("ext4", "MPICH 9.9.9", "MPICH", "1.10.8", 4, 1)
    says(proven(tmp_path, new), "proven", PARTLY, f"iotune prove --on {tmp_path} compares", "cb_")
    monkeypatch.setattr(core, "gate_answer", _asks_no_more)
    says(proven(tmp_path, new), "proven", UNKNOWN, "see database")


def _asks_no_more(*_: object) -> dict[str, str]:
    from iotune.errors import Error

    raise Error("no database")


def test_settings_that_nobody_reads_are_not_to_be_proven(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IOTUNE_DB", str(tmp_path / "none.db"))
    [said] = proven(tmp_path, Site("ext4", "", "", "9.9.9", 1, 1))
    assert "cb_nodes" not in said["todo"] and "alignment" in said["todo"]


def test_a_program_s_own_libraries_are_asked_about(patient: Patient) -> None:
    program = shutil.which("h5dump")
    if program is None:
        pytest.skip("NOT VERIFIED: no h5dump here")
    found = patient.ask("--on", ".", "--", program, "a.h5")
    [check] = [one for one in found if one["id"] == "proven"]
    assert "HDF5 1." in check["evidence"] and "MPI" not in check["evidence"]
    assert check["verdict"] == WORKS or "--hdf5" in check["todo"]


def test_without_a_program_the_launcher_s_mpi_is_taken(patient: Patient) -> None:
    if not any(one.version for one in launchers()):
        pytest.skip("NOT VERIFIED: no launcher of a known MPI")
    found = patient.ask("--on", ".")
    assert [one for one in found if one["id"] == "proven" and "MPI" in one["evidence"]]
