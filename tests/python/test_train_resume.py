"""A training that is stopped loses no measurement, and says what it took."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
from iotune.models.run_journal import Kept, RunJournal

from iotune import Error

needs_mpi = pytest.mark.skipif(shutil.which("mpirun.mpich") is None, reason="no MPICH here")


def test_the_same_course_is_given_what_was_measured(tmp_path):
    first = RunJournal(tmp_path / "j", "key", resume=False)
    first.add(Kept("default", "", 1.5, "applied", (1.0, 0.5)))
    first.add(Kept("c0", "a=1", None, "failed: it hung"))
    again = RunJournal(tmp_path / "j", "key", resume=True)
    assert again.resumed == 2
    assert again.next("default", "") == Kept("default", "", 1.5, "applied", (1.0, 0.5))
    assert again.next("c0", "a=1") == Kept("c0", "a=1", None, "failed: it hung")
    assert again.next("c0", "a=1") is None


def test_another_course_measures_again(tmp_path):
    first = RunJournal(tmp_path / "j", "key", resume=False)
    first.add(Kept("default", "", 1.5, "applied"))
    first.add(Kept("c0", "a=1", 1.0, "applied"))
    again = RunJournal(tmp_path / "j", "key", resume=True)
    assert again.next("c1", "b=1") is None
    assert again.next("c0", "a=1") is None, "what was measured for the old course is left"


@pytest.mark.parametrize("key", ["other", "key"])
def test_what_belongs_elsewhere_or_is_damaged_is_left(tmp_path, key):
    path = tmp_path / "j"
    first = RunJournal(path, "key", resume=False)
    first.add(Kept("default", "", 1.5, "applied"))
    with path.open("a") as file:
        file.write('{"arm":"c0","sett')  # killed while it wrote
    again = RunJournal(path, key, resume=True)
    assert again.resumed == (1 if key == "key" else 0)
    again.done()
    assert not path.exists()


def test_a_journal_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "j").mkdir()
    with pytest.raises(Error, match="j: "):
        RunJournal(tmp_path / "j", "key", resume=False)


class Home:
    """A user with one recorded run of a kernel."""

    def __init__(self, folder):
        self.folder = folder
        self.environment = {
            **os.environ, "HOME": str(folder), "XDG_DATA_HOME": str(folder / "data"),
            "XDG_STATE_HOME": str(folder / "state"), "IOTUNE_BUFFER_DIR": str(folder / "buffers"),
        }  # fmt: skip
        self.environment.pop("IOTUNE_DB", None)

    def iotune(self, *words):
        return subprocess.run(self.command(*words), capture_output=True, text=True, check=False,
                              env=self.environment, cwd=self.folder)  # fmt: skip

    def command(self, *words):
        return [sys.executable, "-m", "iotune", *words]

    def record(self):
        """Columns of two ranks."""
        program = self.folder / "columns"
        source = self.folder / "columns.c"
        source.write_text(_PROGRAM)
        asked = ["pkg-config", "--cflags", "--libs", "hdf5-mpich"]
        flags = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()
        subprocess.run(["mpicc.mpich", "-o", program, source, *flags], check=True)
        done = self.iotune("run", "--", "mpirun.mpich", "-n", "2", str(program))
        assert done.returncode == 0, done.stderr


_PROGRAM = """
#include <hdf5.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  hid_t list = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_mpio(list, MPI_COMM_WORLD, MPI_INFO_NULL);
  hid_t file = H5Fcreate("columns.h5", H5F_ACC_TRUNC, H5P_DEFAULT, list);
  hsize_t dims[2] = {1024, 64}, start[2] = {0, (hsize_t)(32 * rank)}, count[2] = {1024, 32};
  hid_t space = H5Screate_simple(2, dims, NULL), memory = H5Screate_simple(2, count, NULL);
  hid_t set = H5Dcreate2(file, "d", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT,
                         H5P_DEFAULT);
  H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
  hid_t how = H5Pcreate(H5P_DATASET_XFER);
  H5Pset_dxpl_mpio(how, H5FD_MPIO_COLLECTIVE);
  double* values = calloc(1024 * 32, sizeof *values);
  herr_t done = H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, space, how, values);
  H5Dclose(set);
  H5Fclose(file);
  MPI_Finalize();
  return done < 0;
}
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    if shutil.which("mpirun.mpich") is None or shutil.which("mpicc.mpich") is None:
        pytest.skip("no MPICH here")
    found = Home(tmp_path_factory.mktemp("home"))
    found.record()
    return found


def test_a_dry_run_prints_the_plan_and_measures_nothing(home):
    done = home.iotune("train", "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    [plan] = json.loads(done.stdout)
    assert plan["descriptor"] == "<2D,(*,BLOCK),(1024,32)>"
    assert plan["candidates"] and plan["replays"] > len(plan["candidates"])
    assert "nothing is untrained" not in home.iotune("train", "--dry-run").stderr


def test_a_killed_training_goes_on(home):
    words = ("train", "--rounds", "3", "--candidates", "romio_cb_write=disable",
             "--candidates", "cb_buffer_size=4194304")  # fmt: skip
    killed = subprocess.Popen(
        home.command(*words), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        env=home.environment, cwd=home.folder,
    )  # fmt: skip
    journals = home.folder / "state" / "iotune" / "training"
    until = time.monotonic() + 120
    lines: list[str] = []
    while time.monotonic() < until and len(lines) < 4 and killed.poll() is None:
        time.sleep(0.02)
        lines = [line for one in journals.glob("*.jsonl") for line in one.read_text().splitlines()]
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert len(lines) >= 4, "it was over before it could be killed"
    done = home.iotune(*words, "--resume")
    assert done.returncode == 0, done.stderr
    assert "went on behind" in done.stderr
    assert "spent " in done.stderr and " replays, " in done.stderr
    assert not list(journals.glob("*.jsonl"))
    assert "nothing is untrained" in home.iotune("train").stderr
