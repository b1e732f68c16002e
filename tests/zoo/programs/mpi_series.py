"""A series of files in one run, by the wheel of mpi4py: blocks of all ranks, and read back."""

import sys

from mpi4py import MPI

world, files = MPI.COMM_WORLD, int(sys.argv[1])
rank, ranks, block = world.Get_rank(), world.Get_size(), 40000
for number in range(files):
    data = bytearray((number + rank + i // 100) % 251 for i in range(block))
    mode = MPI.MODE_CREATE | MPI.MODE_RDWR
    file = MPI.File.Open(world, f"step{number:03}.bin", mode)
    for step in range(5):
        file.Write_at_all((step * ranks + rank) * block, data)
    file.Sync()
    world.Barrier()
    file.Sync()
    rows = bytearray(block)
    file.Read_at_all((ranks - 1 - rank) * block, rows)
    if number % 10 == 0:
        print(f"file {number}, rank {rank}: {sum(rows)}", flush=True)
    file.Close()
