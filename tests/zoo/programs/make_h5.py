"""The input of HDF5's tools."""

import h5py
import numpy

with h5py.File("in.h5", "w") as file:
    file["a"] = numpy.arange(4000.0).reshape(40, 100)
    file.create_dataset("g/texts", data=["one", "two", "three"])
    file.create_dataset("g/grows", data=numpy.arange(500), maxshape=(None,), chunks=(64,))
    file["g"].attrs["note"] = numpy.arange(20)
    file["soft"] = h5py.SoftLink("/g/grows")
