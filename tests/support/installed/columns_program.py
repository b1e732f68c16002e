"""A program of two ranks that write columns of one dataset collectively, and its user."""

import os
import shutil
import subprocess
import sys

import pytest

from support import preloaded
from support.repository import TESTS

needs_mpi = pytest.mark.skipif(
    shutil.which("mpirun.mpich") is None or shutil.which("mpicc.mpich") is None,
    reason="no MPICH here",
)


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

    def record(self, rows=4096):
        """Compile the program, and run it once."""
        self.build()
        self.run(rows)

    def build(self):
        """Compile the program."""
        program = self.folder / "columns"
        source = self.folder / "columns.c"
        source.write_text(_PROGRAM)
        asked = ["pkg-config", "--cflags", "--libs", "hdf5-mpich"]
        flags = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()
        subprocess.run(["mpicc.mpich", "-o", program, source, *flags], check=True)

    def storage_may_slow_down(self):
        """From then on a file named "slow" in the home makes each small write wait."""
        library = self.folder / "slow.so"
        source = TESTS / "mpi" / "programs" / "stand_ins" / "slow_small_writes.c"
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
        self.environment.update(preloaded.variables(library))
        self.environment["SLOW_SMALL_WRITES"] = str(self.folder / "slow")

    def run(self, rows=4096):
        """Run it under iotune, two ranks; what iotune said."""
        program = self.folder / "columns"
        done = self.iotune("run", "--", "mpirun.mpich", "-n", "2", str(program), str(rows))
        assert done.returncode == 0, done.stderr
        return done.stderr


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
  hsize_t rows = (hsize_t)atoi(argv[1]);
  hsize_t dims[2] = {rows, 64}, start[2] = {0, (hsize_t)(32 * rank)}, count[2] = {rows, 32};
  hid_t space = H5Screate_simple(2, dims, NULL), memory = H5Screate_simple(2, count, NULL);
  hid_t set = H5Dcreate2(file, "d", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT,
                         H5P_DEFAULT);
  H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
  hid_t how = H5Pcreate(H5P_DATASET_XFER);
  H5Pset_dxpl_mpio(how, H5FD_MPIO_COLLECTIVE);
  double* values = calloc(rows * 32, sizeof *values);
  herr_t done = H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, space, how, values);
  H5Dclose(set);
  H5Fclose(file);
  MPI_Finalize();
  return done < 0;
}
"""
