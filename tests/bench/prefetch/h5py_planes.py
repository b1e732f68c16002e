"""FILE make | FILE PAUSE_US: a script that walks a chunked dataset by planes of its second axis.

Prints "reads_ns total_ns check", timed by itself.
"""

import sys
import time

import h5py
import numpy as np

SHAPE, CHUNKS, SLAB = (128, 128, 128), (4, 16, 128), 16

if sys.argv[2] == "make":
    with h5py.File(sys.argv[1], "w") as file:
        values = np.arange(np.prod(SHAPE), dtype="f4").reshape(SHAPE)
        file.create_dataset("field", data=values, chunks=CHUNKS)
    sys.exit()
pause = int(sys.argv[2]) / 1e6
waited, check = 0, 0.0
with h5py.File(sys.argv[1], "r") as file:
    field = file["field"]
    begin = time.monotonic_ns()
    for y in range(0, SHAPE[1], SLAB):
        for z in range(0, SHAPE[0], CHUNKS[0]):
            before = time.monotonic_ns()
            part = field[z : z + CHUNKS[0], y : y + SLAB, :]
            waited += time.monotonic_ns() - before
            check += float(part.sum(dtype="f8"))
            time.sleep(pause)
    total = time.monotonic_ns() - begin
print(waited, total, f"{check:.0f}")
