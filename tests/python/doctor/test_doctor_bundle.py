"""`iotune doctor --bundle`: nobody's name leaves, and nothing is replaced."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import tarfile
from pathlib import Path

import jsonschema
import pytest

from iotune.doctor import bundle
from iotune.doctor.scrub import Scrubber
from iotune.launch import preload
from support.installed.doctors import Patient
from support.repository import ROOT

SCHEMA = json.loads((ROOT / "python" / "iotune" / "schemas" / "doctor.schema.json").read_text())
USER = "quixote"
PROGRAM = """
import os
os.makedirs("manuscripts of la mancha", exist_ok=True)
with open("manuscripts of la mancha/windmills.bin", "wb", 0) as file:
    for _ in range(64):
        file.write(bytes(4096))
"""
needs_the_library = pytest.mark.skipif(
    preload.find_library(preload.LIBRARY) is None, reason="libiotune.so is not installed"
)


@pytest.fixture
def patient(tmp_path: Path) -> Patient:
    """A user whose names stand in all of his paths and variables."""
    (tmp_path / USER).mkdir()
    found = Patient(tmp_path / USER)
    found.environment |= {"USER": USER, "LOGNAME": USER, "IOTUNE_DB": "none"}
    return found


def parts_of(bundle: Path) -> dict[str, str]:
    with tarfile.open(bundle) as archive:
        members = archive.getmembers()
        assert all((one.uname, one.gname, one.uid, one.gid) == ("", "", 0, 0) for one in members)
        return {
            one.name.partition("/")[2]: archive.extractfile(one).read().decode()  # type: ignore[union-attr]
            for one in members
        }


@needs_the_library
def test_a_bundle_has_no_private_name(patient: Patient) -> None:
    script = patient.work / "story.py"
    script.write_text(PROGRAM)
    subprocess.run(
        [sys.executable, "-m", "iotune", "run", "--", sys.executable, "story.py"],
        cwd=patient.work, env=patient.environment, check=True, capture_output=True,
    )  # fmt: skip
    bundle = patient.work / "ticket.tar.gz"
    done = patient.typed(
        "--bundle", bundle, "--on", ".", "--", sys.executable, script,
        HDF5_PLUGIN_PATH=f"{patient.home}/filters", ROMIO_HINTS=f"/scratch/{USER}/hints",
        MPICH_MPIIO_HINTS="*:cb_config_list=node17.mancha.es", IOTUNE_TOKEN="sancho",
        HDF5_MAIL=f"{USER}@mancha.es", OMPI_MCA_oob="10.11.12.13",
        HOSTNAME="rocinante.mancha.es",
    )  # fmt: skip
    parts = parts_of(bundle)
    assert list(parts) == ["README.txt", "doctor.json", "versions.txt", "variables.txt",
                           "mounts.txt", "show.txt", "explain.txt"]  # fmt: skip
    for name, text in parts.items():
        assert name == "README.txt" or f"  {name}" in done.stderr, "what is inside is printed"
        assert text.strip(), name
    whole = "\n".join(parts.values())
    for private in (USER, str(patient.home), str(patient.root), "la mancha", "mancha.es", "sancho",
                    "rocinante", "10.11.12.13", "node17.mancha"):  # fmt: skip
        assert private not in whole, private
    host = socket.gethostname()
    assert not [word for word in whole.replace("/", " ").split() if word.strip(":,.()") == host]
    # And what a supporter needs is there.
    said = json.loads(parts["doctor.json"])
    jsonschema.validate(said, SCHEMA)
    assert {"library", "recording", "script", "directory"} <= {one["id"] for one in said["checks"]}
    assert "windmills.bin" in parts["show.txt"] and "256.0 KiB written" in parts["show.txt"]
    assert "HDF5_PLUGIN_PATH=<home>/filters" in parts["variables.txt"]
    assert "IOTUNE_TOKEN=<left out>" in parts["variables.txt"]
    assert "iotune 0." in parts["versions.txt"]
    assert "buffers: " in parts["mounts.txt"]


def test_what_is_there_is_never_replaced(patient: Patient) -> None:
    bundle = patient.work / "ticket.tar.gz"
    bundle.write_text("mine")
    done = patient.typed("--bundle", bundle, "--", "/bin/cat")
    assert done.returncode == 2 and "is there already" in done.stderr
    assert bundle.read_text() == "mine"
    bundle.unlink()
    bundle.symlink_to(patient.work / "elsewhere.tar.gz")
    assert patient.typed("--bundle", bundle, "--", "/bin/cat").returncode == 2
    assert patient.typed("--bundle", "nowhere/a.tar.gz", "--", "/bin/cat").returncode == 2
    assert not (patient.work / "elsewhere.tar.gz").exists()


def test_a_bundle_without_any_run(patient: Patient) -> None:
    done = patient.typed("--bundle", "a.tar.gz", "--", "./nowhere")
    assert done.returncode == 1, "the bundle changes no verdict"
    parts = parts_of(patient.work / "a.tar.gz")
    assert "show.txt" not in parts and "No such file" in parts["doctor.json"]


@pytest.fixture
def scrubber(monkeypatch: pytest.MonkeyPatch) -> Scrubber:
    monkeypatch.setenv("HOME", "/home/ann")
    for name in ("USER", "LOGNAME"):
        monkeypatch.setenv(name, "ann")
    monkeypatch.setattr(socket, "gethostname", lambda: "node17.site.org")
    return Scrubber(["gpu3"], ["/data/my runs/out.h5"])


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("/home/ann/run/a.h5", "<home>/run/a.h5"),
        ("/home/anna/a.h5", "<folder 1>/a.h5"),
        ("/scratch/ann/a.h5 /scratch/ann/b.h5", "<folder 1>/a.h5 <folder 1>/b.h5"),
        ("X=/scratch/p/a:/scratch/q/b", "X=<folder 1>/a:<folder 2>/b"),
        ("/usr/lib/libhdf5.so and /tmp", "/usr/lib/libhdf5.so and /tmp"),
        ("written to /data/my runs/out.h5, 3 MiB", "written to <folder 1>/out.h5, 3 MiB"),
        ("ann annotates run_ann_2", "<user> annotates run_<user>_2"),
        ("Ann Lee <ann.lee@site.org>", "<user> Lee <<mail>>"),
        ("node17 node170 NODE17.site.org gpu3", "<host> node170 <host> <host>"),
        ("from 10.1.2.3 by fe80:0:0:1:2:3:4:5", "from <address> by <address>"),
        ("HDF5 1.10.8 on 2026-11-28 01:02:03", "HDF5 1.10.8 on 2026-11-28 01:02:03"),
    ],
)
def test_texts_without_names(scrubber: Scrubber, text: str, becomes: str) -> None:
    assert scrubber.text(text) == becomes
    assert scrubber.values({"ann": [text, 1]}) == {"ann": [becomes, 1]}


def test_arguments_of_a_program_are_left_out() -> None:
    command = ["mpirun", "-n", "2", "./prog", "--token=abc", "7"]
    kept = bundle._without_arguments(command)
    assert kept == ["mpirun", "-n", "2", "./prog", "<argument>", "<argument>"]
    assert bundle._without_arguments([]) == []
