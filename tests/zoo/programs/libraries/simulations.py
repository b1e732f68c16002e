"""Formats of simulations: openPMD on two backends, read by yt; trajectories of MDAnalysis."""

import warnings

import anndata
import MDAnalysis
import numpy
import openpmd_api

warnings.simplefilter("ignore")
for name in ("data_%T.h5", "data.bp"):
    series = openpmd_api.Series(name, openpmd_api.Access.create)
    for step in range(3):
        data = numpy.full((40, 60), step, "f8")
        mesh = series.iterations[step].meshes["rho"][openpmd_api.Mesh_Record_Component.SCALAR]
        mesh.reset_dataset(openpmd_api.Dataset(data.dtype, data.shape))
        mesh.store_chunk(data)
        series.iterations[step].close()
    series.close()
series = openpmd_api.Series("data_%T.h5", openpmd_api.Access.read_only)
mesh = series.iterations[2].meshes["rho"][openpmd_api.Mesh_Record_Component.SCALAR]
part = mesh.load_chunk([5, 5], [10, 10])
series.flush()
print("openPMD", part.sum())
series.close()
universe = MDAnalysis.Universe.empty(200, trajectory=True)
for name in ("t.xtc", "t.dcd", "t.trr"):
    with MDAnalysis.Writer(name, 200) as writer:
        for step in range(30):
            universe.atoms.positions = numpy.full((200, 3), step)
            writer.write(universe.atoms)
    frames = MDAnalysis.Universe.empty(200, trajectory=True).load_new(name).trajectory
    print(name, len(frames), float(frames[17].positions.sum()), float(frames[3].positions.sum()))
counts = anndata.AnnData(numpy.arange(5000.0).reshape(100, 50))
counts.layers["twice"] = counts.X * 2
counts.write_h5ad("a.h5ad", compression="gzip")
backed = anndata.read_h5ad("a.h5ad", backed="r")
print("anndata", backed.X[3:9, 7].sum(), anndata.read_h5ad("a.h5ad").layers["twice"].sum())
