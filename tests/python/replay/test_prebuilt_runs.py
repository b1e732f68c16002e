"""On a node without any compiler all that needs a replayer runs by one that the site prebuilt."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from iotune.launch import preload
from support.installed.compute_nodes import Node, mpi_with_hdf5
from support.installed.json_schemas import conforming

pytestmark = pytest.mark.mpi

NAMES = ("mpich-4", pytest.param("openmpi-4", marks=pytest.mark.soak))
PLAN = """iotune-plan 1
ranks 2
file a.h5 create
dataset 0 /x 8 1 8000
transfer write 0 collective
slab 0  0 1 1 4000
slab 1  4000 1 1 4000
close
"""


def build(site: Path, *words: str) -> dict:
    done = subprocess.run(
        [sys.executable, "-m", "iotune", "replayer", "build", "--into", site, "--json", *words],
        capture_output=True, text=True, check=False, umask=0o077,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return conforming("replayer-build", done.stdout)


@pytest.fixture(scope="module", params=NAMES)
def prebuilt(request, tmp_path_factory):
    """An MPI, and a site's folder with the programs for it, built under a umask of 077."""
    mpi = mpi_with_hdf5(request.param)
    if mpi is None:
        pytest.skip(f"NOT VERIFIED: prebuilt replayers of {request.param}: it is not here")
    site = tmp_path_factory.mktemp("site") / "iotune" / "replayers"
    return mpi, site, build(site, "--mpicc", mpi.compiler)


@pytest.fixture
def node(prebuilt, tmp_path):
    one = Node(tmp_path, prebuilt[0].launcher)
    one.environment["IOTUNE_REPLAYER_DIR"] = str(prebuilt[1])
    (one.work / "x.plan").write_text(PLAN)
    return one


def test_a_set_says_what_it_is_for(prebuilt):
    mpi, site, made = prebuilt
    assert made["mpi"].startswith(mpi.version) and made["hdf5"] and made["new"] is True
    assert made["launcher"] == made["mpi"]
    folder = Path(made["folder"])
    assert folder.parent == site and sorted(made["programs"]) == sorted(
        one.name for one in folder.iterdir() if one.name != "replayer.json"
    )
    # Others run it, whatever umask its builder had.
    for path in (folder, site, site.parent):
        assert stat.S_IMODE(path.stat().st_mode) == 0o755, path
    for path in folder.iterdir():
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o644 if path.suffix == ".json" else 0o755), path
    assert not [one for one in site.iterdir() if one.name.startswith(".")]


@pytest.mark.soak
def test_what_lies_there_is_not_built_again(prebuilt):
    mpi, site, made = prebuilt
    again = build(site, "--mpicc", mpi.compiler)
    assert again == made | {"new": False}
    # A set that does not fit any more is replaced.
    note = Path(made["folder"]) / "replayer.json"
    note.write_text(note.read_text().replace('"hdf5": "', '"hdf5": "9.'))
    anew = build(site, "--mpicc", mpi.compiler)
    assert anew["new"] and anew["hdf5"] == made["hdf5"] and anew["folder"] == made["folder"]


def test_transfers_of_hdf5_are_replayed(node):
    done = conforming("replay", node.type("replay", "x.plan", "--verify", "--json").stdout)
    assert done["bytes"] == 64000
    assert node.compiled() == []
    # Without the site's folder there is nothing to compile it with.
    said = node.type("replay", "x.plan", status=1, IOTUNE_REPLAYER_DIR="none").stderr
    assert "no mpicc found" in said and "iotune replayer build" in said, said


def test_the_sites_file_names_the_folder(node, prebuilt):
    del node.environment["IOTUNE_REPLAYER_DIR"]
    conf = node.work / "site.conf"
    conf.write_text(f"replayers = {prebuilt[1]}\n")
    conf.chmod(0o644)
    node.environment["IOTUNE_SITE_CONFIG"] = str(conf)
    done = node.type("replay", "x.plan", "--json")
    assert json.loads(done.stdout)["files"] == 1 and node.compiled() == []
    listed = conforming("replayer-list", node.type("replayer", "list", "--json").stdout)
    assert [one["named_by"] for one in listed["places"]] == ["/etc/iotune.conf", ""]
    assert [one["used"] for one in listed["sets"]] == [True]
    # And says that the node is well off.
    checks = conforming("doctor", node.type("doctor", "--json", status=None).stdout)["checks"]
    (replayer,) = [one for one in checks if one["id"] == "replayer"]
    assert replayer["verdict"] == "works" and "prebuilt for" in replayer["evidence"], replayer


@pytest.mark.skipif(preload.find_library(preload.LIBRARY) is None, reason="no libiotune.so here")
def test_a_run_is_recorded_replayed_and_trained(node, prebuilt):
    # given a program with MPI and HDF5: the replayer is one, too
    program = Path(prebuilt[2]["folder"]) / "iotune-replay"
    root = ["--allow-run-as-root"] if "openmpi" in prebuilt[0].name and os.getuid() == 0 else []
    more = ["--oversubscribe", *root] if "openmpi" in prebuilt[0].name else []
    command = ["mpirun", *more, "-n", "2", program, "--file-dir", ".", "x.plan"]
    node.type("run", "--", *command)
    # when its POSIX calls are replayed, and its pattern trained
    (trace,) = (Path(node.environment["XDG_STATE_HOME"])).rglob("*.iotrace")
    node.type("replay", trace, "--layer", "posix", "--json")
    words = ("train", "--rounds", "3", "--candidates", "cb_nodes=1", "--json")
    (found,) = conforming("train", node.type(*words).stdout)
    # then it has an answer, and nothing was compiled
    assert found["state"] in ("tuned", "default-is-best"), found
    assert node.compiled() == []


@pytest.mark.skipif(preload.find_library(preload.LIBRARY) is None, reason="no libiotune.so here")
def test_bytes_are_compared(node, prebuilt):
    done = node.type("prove", "--setting", "cb_nodes", "--json")
    conforming("prove", done.stdout)
    assert f"HDF5 {prebuilt[2]['hdf5']}" in done.stderr and node.compiled() == []


def test_response_times_are_sampled(node):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("scipy")
    (node.work / "data").mkdir()
    node.type("latency", "sample", "data", "--size", "64KiB", "--rounds", "2", "--share", "100",
              "-o", "t.csv")  # fmt: skip
    assert len(pd.read_csv(node.work / "t.csv")) > 0 and node.compiled() == []


def test_more_ranks_than_cores_have_the_shim(node, monkeypatch):
    from iotune.prebuilt.lookup import prebuilt_shim

    monkeypatch.setenv("IOTUNE_REPLAYER_DIR", node.environment["IOTUNE_REPLAYER_DIR"])
    shim = prebuilt_shim()
    assert shim is not None and shim.name == "libiotune-yield.so"
