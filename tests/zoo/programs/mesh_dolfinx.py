"""A mesh and tags of dolfinx by XDMF, which writes HDF5 with all ranks."""

import dolfinx
import numpy
from dolfinx import io, mesh
from mpi4py import MPI

world = MPI.COMM_WORLD
square = mesh.create_unit_square(world, 24, 24)
cells = square.topology.index_map(2).size_local
tags = mesh.meshtags(square, 2, numpy.arange(cells, dtype=numpy.int32),
                     numpy.full(cells, world.rank, dtype=numpy.int32))  # fmt: skip
tags.name = "ranks"
with io.XDMFFile(world, "out.xdmf", "w") as file:
    file.write_mesh(square)
    file.write_meshtags(tags)
with io.XDMFFile(world, "out.xdmf", "r") as file:
    again = file.read_mesh(name="mesh")
total = again.topology.index_map(2).size_global
if world.rank == 0:
    print(dolfinx.__version__, total)
