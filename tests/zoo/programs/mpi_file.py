"""MPI-IO by mpi4py: views, collective, independent, split, non-blocking and shared transfers."""

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, ranks = world.rank, world.size
print(MPI.Get_library_version().split(",")[0].split("\n")[0], ranks, flush=True)
piece = 4096
data = bytearray((i + rank * 7) % 251 for i in range(piece * 16))
mode = MPI.MODE_CREATE | MPI.MODE_RDWR

file = MPI.File.Open(world, "blocks.bin", mode)
file.Write_at_all(rank * len(data), data)
file.Sync()
world.Barrier()
back = bytearray(len(data))
file.Read_at_all((rank + 1) % ranks * len(data), back)
print(f"rank {rank}: blocks {sum(back)}", flush=True)
file.Close()

# mpi4py makes types by the functions for large counts, and MPICH 4.0's ROMIO aborts on those.
if "MPICH Version:\t4.0" not in MPI.Get_library_version():
    file = MPI.File.Open(world, "view.bin", mode)
    kind = MPI.BYTE.Create_vector(16, piece, piece * ranks).Commit()
    file.Set_view(rank * piece, MPI.BYTE, kind)
    file.Write_all(data)
    file.Seek(0)
    file.Write_all_begin(data)
    file.Write_all_end(data)
    request = file.Iwrite_at_all(0, data)
    request.Wait()
    file.Sync()
    world.Barrier()
    back = bytearray(len(data))
    request = file.Iread_at(0, back)
    request.Wait()
    print(f"rank {rank}: view {sum(back)} {back == data}", flush=True)
    file.Close()
    kind.Free()

file = MPI.File.Open(world, "ordered.bin", mode)
for step in range(5):
    file.Write_ordered(bytes([step * 16 + rank]) * 1000)
file.Preallocate(20000 * ranks)
file.Close()

for step in range(8):
    file = MPI.File.Open(world, f"step{step}.bin", mode)
    for row in range(16):
        file.Write_at((row * ranks + rank) * 512, data[row * 512 : (row + 1) * 512])
    file.Close()
world.Barrier()
if rank == 0:
    with open("step7.bin", "rb") as plain:
        print("step7", sum(plain.read()))
