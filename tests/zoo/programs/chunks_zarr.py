"""zarr: a chunked array in a folder, written and read in pieces."""

import numpy
import zarr

array = zarr.open("array.zarr", mode="w", shape=(400, 300), chunks=(50, 50), dtype="f8")
for row in range(0, 400, 40):
    array[row : row + 40] = numpy.arange(12000.0).reshape(40, 300) + row
again = zarr.open("array.zarr", mode="r+")
again[10:90, 100:120] = -1
for column in range(0, 300, 60):
    print(float(again[:, column].sum()))
