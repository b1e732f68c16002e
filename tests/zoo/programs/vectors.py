"""A PETSc vector and an array on a grid into HDF5 and binary files, and back."""

from petsc4py import PETSc

world = PETSc.COMM_WORLD
vector = PETSc.Vec().createMPI(5000, comm=world)
first, last = vector.getOwnershipRange()
vector.setValues(range(first, last), [i * 0.5 for i in range(first, last)])
vector.assemble()
vector.setName("vector")
grid = PETSc.DMDA().create([60, 40], dof=2, comm=world)
field = grid.createGlobalVector()
field.setName("field")
field.set(3.0)
viewer = PETSc.ViewerHDF5().create("out.h5", "w", comm=world)
viewer(vector)
for step in range(4):
    field.scale(1.5)
    field.setName(f"field{step}")
    viewer(field)
viewer.destroy()
again = PETSc.Vec().create(comm=world)
again.setName("vector")
viewer = PETSc.ViewerHDF5().create("out.h5", "r", comm=world)
again.load(viewer)
viewer.destroy()
PETSc.Sys.Print("from HDF5:", again.norm(), again.equal(vector))
viewer = PETSc.Viewer().createBinary("out.bin", "w", comm=world)
viewer(vector)
viewer.destroy()
viewer = PETSc.Viewer().createMPIIO("mpiio.bin", "w", comm=world)
viewer(field)
viewer.destroy()
PETSc.Sys.Print("field:", field.norm())
