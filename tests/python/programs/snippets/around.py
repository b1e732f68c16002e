"""Around lines of Python: test_snippets.py runs it with each of them."""

import os
import sys

import h5py
import numpy

name, opens = sys.argv[1:3]
length, number, steps, n, at = 4000, 16, 4, 8, 0
checkpoint_is_whole = True
used: list[bytes] = []
records = [bytes([k % 251]) * length for k in range(3001)]
with open(name, "wb") as file:
    file.write(b"".join(records))
fd = os.open(name, os.O_RDWR)
offsets = numpy.arange(16)[::-1] * length
data = numpy.arange(4096.0 * 4).reshape(4096, 4)
parameters = [1.0, 2.0, 3.0]


def use(record):
    used.append(record)


class DataLoader:
    def __init__(self, data, *, num_workers, prefetch_factor, persistent_workers):
        pass


with h5py.File("old.h5", "w") as file:
    file.create_dataset(opens or "x", data=data, chunks=(16, 4))
file = h5py.File("more.h5", "w")
rows = data[:3001]
x = file.create_dataset("rows", (3001, 4), "f8")
parts = [numpy.full(n, float(k)) for k in range(number)]
if opens:
    file.close()
    file = h5py.File("old.h5")
exec(open("snippet.py").read())
if used and isinstance(used[0], bytes):
    assert b"".join(used) in (b"".join(records), b"".join(records[:number]))
if "gathered" in globals():
    assert (x[:] == rows).all()
