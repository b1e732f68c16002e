"""FILE SEED STEPS: reads in patterns through two descriptors, between writes, truncations and
reopenings of the same file; each byte is compared with a model in memory.
"""

import os
import random
import sys

path, seed, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
draw = random.Random(seed)
model = bytearray(draw.randbytes(draw.randrange(200_000, 2_000_000)))
LIMIT = 3_000_000


def put(at: int, data: bytes) -> None:
    model.extend(bytes(max(0, at + len(data) - len(model))))
    model[at : at + len(data)] = data


def cut(size: int) -> None:
    del model[size:]
    model.extend(bytes(size - len(model)))


def run_of_reads(which: int) -> None:
    """Regular, so that what comes is read ahead; changes fall into it."""
    size, stride = draw.choice([1, 777, 4096, 65536]), draw.choice([5000, 65536, 131072])
    at = draw.randrange(max(1, len(model)))
    for i in range(draw.randrange(4, 20)):
        offset = at + i * stride
        found = os.pread(fds[which], size, offset)
        assert found == model[offset : offset + size], f"seed {seed}: {size} at {offset}"
        if draw.random() < 0.15:
            change(draw.choice(fds))


def change(fd: int) -> None:
    kind = draw.randrange(10)
    if kind < 6:
        at = draw.randrange(LIMIT)
        data = draw.randbytes(draw.choice([1, 4096, 100_000]))
        assert os.pwrite(fd, data, at) == len(data)
        put(at, data)
    elif kind < 8:
        size = draw.randrange(LIMIT)
        if kind == 6:
            os.ftruncate(fd, size)
        else:
            os.truncate(path, size)
        cut(size)
    elif kind == 8:
        other = path + ".new"
        fresh = draw.randbytes(draw.randrange(LIMIT))
        with open(other, "wb") as file:
            file.write(fresh)
        os.rename(other, path)
        model[:] = fresh
        reopen()
    else:
        with open(path, "wb") as file:
            file.write(b"short")
        model[:] = b"short"


def reopen() -> None:
    for fd in fds:
        os.close(fd)
    fds[:] = [os.open(path, os.O_RDWR) for _ in range(2)]


with open(path, "wb") as file:
    file.write(model)
fds = [os.open(path, os.O_RDWR) for _ in range(2)]
for _ in range(steps):
    run_of_reads(draw.randrange(2))
    if draw.random() < 0.1:
        reopen()
with open(path, "rb") as left:
    assert left.read() == model, f"seed {seed}"
