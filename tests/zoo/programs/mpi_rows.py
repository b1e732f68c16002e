"""Rows of a dataset by all ranks, h5py with MPI; then read back and added up."""

import sys

import h5py
import numpy
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, ranks = world.rank, world.size
rows = 64
for number in range(int(sys.argv[1])):
    with h5py.File(f"step{number:02}.h5", "w", driver="mpio", comm=world) as file:
        whole = file.create_dataset("whole", (rows * ranks, 128), "f8")
        cyclic = file.create_dataset("cyclic", (rows * ranks, 128), "i4")
        file.attrs["number"] = number
        data = numpy.arange(rows * 128).reshape(rows, 128) + rank * 1e6 + number
        with whole.collective:
            whole[rank * rows : (rank + 1) * rows] = data
        for row in range(rows):
            cyclic[rank + row * ranks] = data[row]
    with h5py.File(f"step{number:02}.h5", "r", driver="mpio", comm=world) as file:
        other = (rank + 1) % ranks
        with file["whole"].collective:
            total = file["whole"][other * rows : (other + 1) * rows].sum()
        total += file["cyclic"][other::ranks].sum()
        print(f"step {number}, rank {rank}: {total}", flush=True)
