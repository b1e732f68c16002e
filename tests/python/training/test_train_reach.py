"""What training knows before it measures: the run's own stack, what the program sets itself."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from iotune.models.cases import Case
from iotune.models.measuring.paired import compare_unpaired
from iotune.models.options import Options
from iotune.models.replays import stack
from iotune.models.settings import reach
from iotune.models.settings.candidates import Candidate, Shape
from iotune.models.train_plan import Allowance, Estimate, estimate
from typer.testing import CliRunner

from iotune import core
from iotune.cli import train as train_command
from iotune.errors import Error
from iotune.quantities import duration_seconds
from iotune.replay import mpi as mpis
from iotune.traces.summary import FilePattern, RunSummary, SettingOutcome
from support.installed.user_home import Home
from support.repository import COMPANIONS

pytestmark = pytest.mark.mpi


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


READS_ROWS = Shape(False, False, ("IRREGULAR", "*"), 1, 1 << 20, (1000, 1000), (2000, 4000), 4)


def a_case(**platform: str) -> Case:
    pattern = {"descriptor": "<1D,(BLOCK),(8)>", "op": "read", "ranks": 1}
    return Case(1, pattern, platform, workload=("r.py", "c.h5"), seconds=2.0)


def test_what_the_program_sets_is_no_candidate() -> None:
    tried = [Candidate({"chunk_cache": "33554432"}), Candidate({"sieve_buf_size": "4194304"})]
    left = reach.within_reach(tried, READS_ROWS, {"chunk_cache": "the program sets it itself"})
    assert [one.text for one in left] == ["sieve_buf_size=4194304"]
    assert reach.within_reach(tried, READS_ROWS, {}) == tried


class RecordedRun:
    """A trace that has notes of settings and no call."""

    def __init__(self, *settings: SettingOutcome):
        self.summary = RunSummary(
            files=[FilePattern(path="/d/c.h5", settings=list(settings)),
                   FilePattern(path="/d/other.h5", settings=[refused("striping_factor", "no")])]
        )  # fmt: skip

    def each_call(self, **_: object) -> list[object]:
        return []


def refused(parameter: str, reason: str, verdict: str = "refused") -> SettingOutcome:
    return SettingOutcome(parameter=parameter, wanted="1", reason=reason, verdict=verdict)


def test_what_a_run_refused_is_no_candidate(monkeypatch: pytest.MonkeyPatch) -> None:
    case = replace(a_case(), file="/d/c.h5")
    run = RecordedRun(
        refused("alignment", "the call failed with it: userblock size must be > than alignment"),
        refused("chunk_cache", "the program set it"),
        refused("cb_nodes", "not proven for OMPIO 4.1.4: iotune prove"),
        refused("romio_cb_read", "known bad with ROMIO 4.0.2: wrong bytes"),
        refused("meta_block_size", "the ranks would not all apply the same settings"),
        refused("sieve_buf_size", "HDF5 kept another value", "without effect"),
    )
    monkeypatch.setattr(reach, "trace_of_case", lambda _: run)
    taken = reach.taken_parameters(case)
    assert set(taken) == {"alignment", "chunk_cache", "romio_cb_read"}
    assert "userblock" in taken["alignment"] and taken["chunk_cache"].startswith("the program")
    tried = [Candidate({"alignment": "1,1048576"}), Candidate({"alignment": "1,4096",
             "cb_nodes": "2"}), Candidate({"cb_nodes": "2"})]  # fmt: skip
    assert reach.within_reach(tried, READS_ROWS, taken) == tried[2:]
    with pytest.raises(reach.OutOfReach, match="alignment: refused in its run.*userblock"):
        reach.within_reach(tried[:2], READS_ROWS, taken)


def test_where_nothing_is_left_the_author_learns_what_to_write() -> None:
    tried = [Candidate({"chunk_cache": "33554432"})]
    with pytest.raises(reach.OutOfReach, match="pass rdcc_nbytes=33554432 to h5py.File"):
        reach.within_reach(tried, READS_ROWS, {"chunk_cache": "the program sets it, to 3145728"})


def test_another_mpi_hdf5_or_storage_is_no_stack_of_the_run() -> None:
    case = a_case(filesystem="ext4", mpi="", hdf5="2.0.0")
    stack.demand_same_stack(case, RunSummary(hdf5="2.0.0"))
    with pytest.raises(Error, match=r"HDF5 2\.0\.0 .* HDF5 1\.10\.8.*HDF5_ROOT"):
        stack.demand_same_stack(case, RunSummary(hdf5="1.10.8"))
    with pytest.raises(Error, match="MPICH 4.0.2.*Open MPI 4.1.4.*IOTUNE_MPIRUN"):
        stack.demand_same_stack(a_case(mpi="MPICH 4.0.2"), RunSummary(mpi="Open MPI 4.1.4"))
    with pytest.raises(Error, match="ran on ext4 .* on tmpfs: --dir"):
        stack.demand_same_storage(case, "tmpfs")
    stack.demand_same_storage(case, "ext4")


def test_the_launcher_is_one_of_the_runs_mpi(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("IOTUNE_MPIRUN", raising=False)
    monkeypatch.setattr("iotune.replay.mpi.shutil.which", lambda name, path=None: f"/bin/{name}")
    monkeypatch.setattr(mpis, "is_open_mpi", lambda launcher: launcher.endswith("mpirun"))
    assert mpis.find_mpi_of("MPICH 4.0.2").launcher == "/bin/mpirun.mpich"
    assert mpis.find_mpi_of("Open MPI 4.1.4").launcher == "/bin/mpirun"
    monkeypatch.setenv("IOTUNE_MPIRUN", "mpirun")
    with pytest.raises(Error, match="IOTUNE_MPIRUN=mpirun is none of its launchers"):
        mpis.find_mpi_of("MPICH 4.0.2")
    monkeypatch.delenv("IOTUNE_MPIRUN")
    monkeypatch.setattr(mpis, "is_open_mpi", lambda launcher: True)
    with pytest.raises(Error, match="MPICH 4.0.2, no launcher .*IOTUNE_MPIRUN"):
        mpis.find_mpi_of("MPICH 4.0.2")


def test_a_serial_hdf5_is_asked_by_its_file(tmp_path: Path) -> None:
    library = tmp_path / "libhdf5-1a2b.so.320"
    library.touch()
    found = mpis.serial_hdf5(str(library))
    assert found.command(1)[-1].endswith("serial-replay.so") and found.hdf5_library == str(library)
    with pytest.raises(Error, match="2 ranks"):
        found.command(2)
    with pytest.raises(Error, match="not there any more"):
        mpis.serial_hdf5(str(tmp_path / "gone.so"))
    with pytest.raises(Error, match="record it again"):
        mpis.serial_hdf5("")


def test_durations() -> None:
    assert [duration_seconds(one) for one in ("90s", "10m", "1h30m", "45")] == [90, 600, 5400, 45]
    for wrong in ("", "0m", "ten", "-5m", "5x"):
        with pytest.raises(Error, match="no duration"):
            duration_seconds(wrong)


def test_the_estimate_grows_with_the_work() -> None:
    few = estimate([a_case()], Options(rounds=3, budget=2))
    more = estimate([a_case(), a_case()], Options(rounds=5, budget=12))
    assert 0 < few.runs < more.runs and 2.0 * few.runs < few.seconds < more.seconds
    searched = estimate([a_case()], Options(rounds=3, budget=2, method="ours"))
    assert searched.runs > few.runs and searched.seconds > few.seconds


def test_a_budget_counts_what_was_really_used() -> None:
    allowance = Allowance(100, 1 << 30)
    asked = Estimate(60, 5.0, 600 << 20)
    assert not allowance.refusal(asked)
    allowance.spend(30, 100 << 20)
    assert not allowance.refusal(asked)
    allowance.spend(30, 100 << 20)
    assert allowance.refusal(asked) == "60 replays, and the budget has 40 left"
    allowance = Allowance(None, 500 << 20)
    assert allowance.refusal(asked) == (
        "some 600 MiB in its replays, and the budget has 500 MiB left"
    )


def test_runs_that_were_not_paired_need_to_be_several() -> None:
    assert compare_unpaired([2.0] * 3, [1.0] * 9) is None
    gain = compare_unpaired([2.0, 2.1, 1.9, 2.0, 2.2], [1.0, 1.1, 0.9, 1.0])
    assert gain is not None and 1.5 < gain.low < gain.ratio < gain.high < 2.6


def untrained_row(file: str, number: int) -> dict[str, Any]:
    return {
        "pattern": {"id": number, "byte_key": str(number), "descriptor": "<1D,(BLOCK),(8)>"},
        "platform": {"mpi": "", "hdf5": "2.0.0"}, "trace": "", "run": "", "file": file,
        "observed_at": 0.0, "datasets": 1, "seconds": 1.0, "state": "untrained",
        "workload": {"program": "r.py", "file": os.path.basename(file)},
    }  # fmt: skip


class FakeDatabase:
    """With two untrained patterns."""

    def gain_models(self) -> list[dict[str, Any]]:
        return []

    def surfaces(self) -> list[dict[str, Any]]:
        return []

    def untrained(self) -> list[dict[str, Any]]:
        return [untrained_row("/a/one.h5", 1), untrained_row("/a/two.nc", 2)]


def test_patterns_are_chosen_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(train_command, "opened", lambda db: FakeDatabase())
    monkeypatch.setattr(core, "lower_databases", list)
    from iotune.cli import app

    def typed(*words: str) -> Any:
        return CliRunner().invoke(app, ["train", *words])

    result = typed("--file", "*.nc")
    # The trace is gone, and with it the name of the library: nothing is measured.
    assert "1 of 2 patterns to train, in up to" in result.stderr
    assert "pattern 2 stays untrained" in result.stderr and "pattern 1" not in result.stderr
    assert "2 untrained still" in result.stderr and result.exit_code == 1
    assert "none is of a file *.txt" in typed("--file", "*.txt").stderr
    assert "no duration" in typed("--for", "long").stderr


def test_what_was_taken_back_is_trained_beside_a_sites_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # given a site's database with an answer for both patterns, of which the user's runs took one
    # back
    class Site:
        def __init__(self, path: str, read_only: bool = False) -> None:
            assert (path, read_only) == ("/site.db", True)

        def gain_models(self) -> list[dict[str, Any]]:
            return []

        def surfaces(self) -> list[dict[str, Any]]:
            return []

        def query(self, key: str) -> dict[str, Any]:
            answer = {"platform": {"mpi": "", "hdf5": "2.0.0"}, "state": "tuned"}
            return {"patterns": [{"answers": [answer]}]}

    class OwnDatabase(FakeDatabase):
        def untrained(self) -> list[dict[str, Any]]:
            return [untrained_row("/a/one.h5", 1),
                    {**untrained_row("/a/two.nc", 2), "state": "reverted"}]  # fmt: skip

    monkeypatch.setattr(train_command, "opened", lambda db: OwnDatabase())
    monkeypatch.setattr(core, "Database", Site)
    monkeypatch.setattr(core, "lower_databases", lambda: [Path("/site.db")])
    from iotune.cli import app

    # when
    said = CliRunner().invoke(app, ["train"]).stderr
    # then
    assert "pattern 2 stays untrained" in said and "1 pattern to train" in said, said
    assert "pattern 1" not in said, said


ROWS = """
import h5py, numpy as np, os, sys
if not os.path.exists("c.h5"):
    with h5py.File("c.h5", "w") as f:
        x = np.arange(1000 * 1000, dtype="f4").reshape(1000, 1000)
        f.create_dataset("x", data=x, chunks=(500, 500), compression="gzip", compression_opts=1)
with h5py.File("c.h5", "r", **eval(sys.argv[1])) as f:
    x = f["x"]  # once: opened anew for each row it would lose its cache each time
    print(sum(float(x[i].sum()) for i in range(0, 1000, 50)))
"""


@pytest.fixture
def script(home: Home) -> list[str]:
    """A script that reads row by row through a wheel's HDF5."""
    pytest.importorskip("h5py")
    (home.work / "rows.py").write_text(ROWS)
    return [sys.executable, str(home.work / "rows.py")]


def test_what_was_trained_reaches_an_h5py_script(home: Home, script: list[str]) -> None:
    # given a run, whose cache h5py sets to what it is
    subprocess.run([*script, "{}"], cwd=home.work, check=True)
    home.type("run", "--", *script, "{}")
    assert home.asked("explain")["files"][0]["settings"] == []
    # when it is measured with the script's own HDF5
    (outcome,) = home.asked("train", "--rounds", "3", "--candidates", "chunk_cache=33554432")
    assert [one["effect"] for one in outcome["candidates"]] == ["applied"], outcome
    import h5py

    assert outcome["platform"]["hdf5"] == h5py.version.hdf5_version
    # then nothing is left to be trained, and another script of the interpreter is another workload
    assert home.asked("train") == []
    workloads = [w for p in home.asked("db", "list")["patterns"] for w in p["workloads"]]
    assert {one["program"] for one in workloads} == {"rows.py"}, workloads


def test_a_cache_of_the_scripts_own_is_reported_before_measuring(
    home: Home, script: list[str]
) -> None:
    subprocess.run([*script, "{}"], cwd=home.work, check=True)
    home.type("run", "--", *script, "{'rdcc_nbytes': 3 << 20}")
    reported = home.type("train", "--rounds", "3", status=1).stderr
    assert "no setting would reach it" in reported and "3145728" in reported, reported
    assert "rdcc_nbytes=33554432 to h5py.File" in reported


SERIAL_PLAN = """\
iotune-plan 3
ranks 1
file a.h5 create
dataset 0 /g/x 4 1 40 class float
transfer write 0 collective async
slab 0  0 2 20 1
dataset 1 /y 8 2 8 8 chunk 4 8
transfer write 1 independent reopen repeat 2 4 0
slab 0  0 0  1 1  1 1  4 8
transfer read 1 independent chunk 0 0 repeat 2 4 0
slab 0  0 0  1 1  1 1  4 8
transfer read 0 independent
points 0  2  4
close
"""
SERIAL_HDF5 = sorted(COMPANIONS.glob("hdf5-*/lib/libhdf5-*.so*"))


def test_the_replayer_of_one_process_compares_and_tells_faults(tmp_path: Path) -> None:
    if not SERIAL_HDF5:
        pytest.skip("NOT VERIFIED: no HDF5 by itself in build/companions")
    plan = tmp_path / "p.plan"

    def replayed(library: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
        plan.write_text(text)
        words = mpis.serial_hdf5(str(SERIAL_HDF5[0])).command(1)
        command = [*words, str(library), *options, "--file-dir", str(tmp_path), str(plan)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    for library in SERIAL_HDF5:
        for options in ([], ["--verify"]):
            done = replayed(library, SERIAL_PLAN, *options)
            assert done.returncode == 0, done.stderr
            assert f'"bytes": {20 * 4 + 2 * 64 * 8 + 2 * 4},' in done.stdout
        changed = SERIAL_PLAN.replace("a.h5 create", "a.h5 open").replace("/g/x 4", "/g/x 8")
        done = replayed(library, changed)
        assert done.returncode == 1 and "/g/x has not the dimensions or elements" in done.stderr
    head = "iotune-plan 1\nranks 1\n"
    for text, said in (
        ("iotune-plan 1\nranks 2\n", "p.plan:2: the plan is for 2 ranks"),
        (head + "file a.h5 create\ndataset 0 /x\n", "p.plan:4: ELEMENT_BYTES is missing"),
    ):
        assert said in replayed(SERIAL_HDF5[0], text).stderr
    assert "cannot open shared object file" in replayed(tmp_path / "none.so", head).stderr
