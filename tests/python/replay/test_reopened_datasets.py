"""A replay opens datasets and files as often as its program did: HDF5's caches die with a close."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from iotune.models.cases import Case, plan_of_case
from iotune.models.replays.plan_cuts import only_direction
from iotune.models.settings.allowed import Allowed
from iotune.models.settings.candidates import Candidate

from iotune.launch import preload
from iotune.replay.mpi import Mpi, find_mpi, hdf5_flags, serial_hdf5
from iotune.replay.plan import Dataset, Plan, PlanFile, Selection, Transfer, fold_repeats, plan_text
from iotune.replay.replayer import find_replayer
from support.installed.user_home import Home
from support.repository import COMPANIONS

pytestmark = pytest.mark.mpi

STEPS = 6
SERIAL = [
    *sorted(Path("/usr/lib").glob("*/libhdf5_serial.so.103")),
    *sorted(COMPANIONS.glob("hdf5-*/lib/libhdf5-*.so*")),
]
H5PY = """
import sys, numpy, h5py
with h5py.File("m.h5", "w") as file:
    file.create_dataset("field", (6, 8, 8), "f8", data=numpy.ones((6, 8, 8)), chunks=(6, 8, 8))
if sys.argv[1] == "files":
    for step in range(6):
        with h5py.File("m.h5") as file:
            file["field"][step]
else:
    with h5py.File("m.h5") as file:
        kept = file["field"] if sys.argv[1] == "kept" else None
        for step in range(6):
            (kept or file["field"])[step]
"""
# Its closes are in the trace: a second handle keeps the dataset, and its cache, open.
C = """
#include <hdf5.h>
#include <string.h>
int main(int argc, char** argv) {
  hsize_t dims[2] = {6, 8}, start[2] = {0, 0}, row[2] = {1, 8};
  double data[48] = {0};
  int kept = argc > 1 && strcmp(argv[1], "kept") == 0;
  hid_t file = H5Fcreate("m.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  hid_t space = H5Screate_simple(2, dims, NULL), memory = H5Screate_simple(2, row, NULL);
  hid_t set = H5Dcreate2(file, "field", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT,
                         H5P_DEFAULT);
  H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
  H5Dclose(set);
  H5Fclose(file);
  file = H5Fopen("m.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
  hid_t other = kept ? H5Dopen2(file, "field", H5P_DEFAULT) : -1;
  if (kept)
    H5Dread(other, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
  for (; start[0] < 6; start[0]++) {
    set = H5Dopen2(file, "field", H5P_DEFAULT);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, row, NULL);
    H5Dread(set, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, data);
    H5Dclose(set);
  }
  if (kept) H5Dclose(other);
  H5Fclose(file);
  return 0;
}
"""

needs_the_library = pytest.mark.skipif(
    preload.find_library(preload.LIBRARY) is None, reason="libiotune.so is not installed"
)


def python_with_h5py() -> str:
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import h5py, numpy"], capture_output=True, check=False
                          ).returncode == 0:  # fmt: skip
            return python
    pytest.skip("NOT VERIFIED: reopened datasets of h5py: there is no h5py")


def recorded(home: Home, name: str, *command: str) -> Path:
    trace = home.root / f"{name}.iotrace"
    home.type("run", "--mode", "record", "--db", "none", "-o", str(trace), "--", *command)
    return trace


def opens(home: Home, trace: Path) -> tuple[int, int]:
    """How often the program found a file, and a dataset, in order to read it."""
    names = [one["name"] for one in home.calls(str(trace))]
    return names.count("H5Fopen"), names.count("H5Dopen2") + names.count("H5Oopen")


def replayed(home: Home, trace: Path, serial: bool) -> tuple[str, Path]:
    """A plan, and the trace of its replay, by a serial HDF5 without MPI or by the parallel one."""
    plan, into = home.root / f"{trace.stem}.plan", home.root / trace.stem
    plan.write_text(home.type("replay", str(trace), "--plan-only").stdout)
    into.mkdir()
    if serial:
        if not SERIAL:
            pytest.skip("NOT VERIFIED: reopened datasets by the serial replayer: no serial HDF5")
        mpi: Mpi = serial_hdf5(str(SERIAL[0]))
    else:
        mpi = find_mpi()
    command = [*mpi.command(1), str(find_replayer(mpi)), "--file-dir", str(into), str(plan)]
    again = recorded(home, f"{trace.stem}-again", *command)
    return plan.read_text(), again


@needs_the_library
@pytest.mark.parametrize("serial", [False, True])
@pytest.mark.parametrize(
    ("habit", "files", "datasets"),
    [("reopened", 1, STEPS), ("kept", 1, 1), ("files", STEPS, STEPS)],
)
def test_a_replay_opens_as_often_as_h5py(
    tmp_path: Path, habit: str, files: int, datasets: int, serial: bool
) -> None:
    # given
    home = Home(tmp_path)
    (home.work / "maps.py").write_text(H5PY)
    trace = recorded(home, habit, python_with_h5py(), "maps.py", habit)
    assert opens(home, trace) == (files, datasets)
    # when
    plan, again = replayed(home, trace, serial)
    # then
    assert plan.startswith(f"iotune-plan {2 if habit == 'reopened' else 1}\n")
    assert opens(home, again) == (files, datasets)


@needs_the_library
@pytest.mark.parametrize(("habit", "datasets"), [("reopened", STEPS), ("kept", 1)])
def test_a_dataset_is_open_while_another_handle_of_it_is(
    tmp_path: Path, habit: str, datasets: int
) -> None:
    # given
    home, mpi = Home(tmp_path), find_mpi()
    if mpi.compiler is None:
        pytest.skip("NOT VERIFIED: reopened datasets of C: there is no mpicc")
    (home.work / "reads.c").write_text(C)
    command = [mpi.compiler, str(home.work / "reads.c"), *hdf5_flags(mpi)]
    subprocess.run([*command, "-o", str(home.work / "reads")], check=True)
    # when
    trace = recorded(home, habit, *mpi.command(1), "./reads", habit)
    _, again = replayed(home, trace, serial=False)
    # then
    assert opens(home, again) == (1, datasets)


def rows(*opened_anew: bool, write: bool = False) -> list[Transfer]:
    """Reads of one row after the other; the first is the dataset's first."""
    return [
        Transfer(write, 0, False, {0: Selection("slab", ((at, 0, 1, 1, 1, 8, 1, 1),))},
                 reopens=anew, first=at == 0)
        for at, anew in enumerate(opened_anew)
    ]  # fmt: skip


def test_a_loop_is_one_statement_whether_it_opens_anew_or_not() -> None:
    for anew in (False, True):
        (one,) = fold_repeats(rows(False, anew, anew))
        assert (one.repeat, one.reopens) == (3, anew)
    two = fold_repeats(rows(False, False, True, True))
    assert [(one.repeat, one.reopens) for one in two] == [(2, False), (2, True)]
    file = PlanFile("a.h5", False, [Dataset("/d", 8, (4, 8))], two)
    assert "independent reopen repeat 2 1 0" in plan_text(Plan(1, [file]))


def test_a_close_between_transfers_stays_where_those_of_the_other_direction_are_cut() -> None:
    first, between, last = rows(False, True, False)
    between.write = True
    file = PlanFile("a.h5", False, [Dataset("/d", 8, (4, 8))], [first, between, last])
    kept = only_direction(Plan(1, [file]), write=False).files[0].transfers
    assert [one.reopens for one in kept] == [False, True]


def refusal(case: Case, name: str) -> str:
    """Of a candidate; neither a database nor a prover is asked."""
    return Allowed.__new__(Allowed).refusal(case, Path("/"), Candidate({name: "1048576"}))


def read_case(trace: str) -> Case:
    pattern = {"descriptor": "<1D,(BLOCK),(4)>", "op": "read", "element_bytes": 8, "ranks": 1,
               "grid": [1], "dataset_dims": [4], "mode": "independent"}  # fmt: skip
    return Case(1, pattern, {}, trace=trace)


@needs_the_library
@pytest.mark.parametrize("habit", ["reopened", "files"])
def test_no_chunk_cache_is_tried_that_each_close_empties(tmp_path: Path, habit: str) -> None:
    home = Home(tmp_path)
    (home.work / "maps.py").write_text(H5PY)
    case = read_case(str(recorded(home, habit, python_with_h5py(), "maps.py", habit)))
    plan_of_case(case)
    assert "opens its dataset anew" in refusal(case, "chunk_cache")
    # and one that is kept open may have one
    kept = read_case(str(recorded(home, "kept", python_with_h5py(), "maps.py", "kept")))
    plan_of_case(kept)
    assert kept.unmeasurable == {}


def test_without_a_trace_nothing_is_tried_that_a_close_undoes() -> None:
    case = read_case("gone.iotrace")
    plan_of_case(case)
    for name in ("chunk_cache", "sieve_buf_size", "page_buffer", "mdc_size"):
        assert "trace is gone" in refusal(case, name)
