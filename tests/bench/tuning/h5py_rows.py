"""FILE make | FILE ROWS [CACHE_BYTES]: a script that reads a compressed dataset row by row.

A row needs more bytes of chunks than the chunk cache of any HDF5's default holds, so that each row
unpacks all of them again. Prints the sum of what it read.
"""

import sys

import h5py
import numpy as np

SHAPE, CHUNKS = (2000, 4000), (1000, 1000)

if sys.argv[2] == "make":
    with h5py.File(sys.argv[1], "w") as file:
        values = np.arange(np.prod(SHAPE), dtype="f4").reshape(SHAPE)
        file.create_dataset("x", data=values, chunks=CHUNKS, compression="gzip", compression_opts=1)
    sys.exit()
own = {"rdcc_nbytes": int(sys.argv[3])} if len(sys.argv) > 3 else {}
total = 0.0
with h5py.File(sys.argv[1], "r", **own) as file:
    data = file["x"]  # opened once: its cache ends with it
    for row in range(0, SHAPE[0], SHAPE[0] // int(sys.argv[2])):
        total += float(data[row].sum(dtype="f8"))
print(f"{total:.0f}")
