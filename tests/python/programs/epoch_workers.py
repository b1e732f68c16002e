"""START-METHOD END EPOCHS FILE: epochs of a shuffled data set by two workers each, as loaders do.

START-METHOD: fork or spawn. END: how a worker ends: return (which is _exit, in multiprocessing),
exit (os._exit within), kill (SIGKILL), term (SIGTERM), when all is read.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sys

SAMPLES, SAMPLE_BYTES, WORKERS = 64, 4096, 2


def work(path: str, samples: list[int], end: str, done: multiprocessing.Queue[int]) -> None:
    """One worker's part of an epoch, each sample by a read of its own."""
    descriptor = os.open(path, os.O_RDONLY)
    total = sum(len(os.pread(descriptor, SAMPLE_BYTES, n * SAMPLE_BYTES)) for n in samples)
    done.put(total)
    done.close()
    done.join_thread()
    if end == "exit":
        os._exit(0)
    if end in ("kill", "term"):
        os.kill(os.getpid(), signal.SIGKILL if end == "kill" else signal.SIGTERM)


def main() -> None:
    """Make the file, and read it EPOCHS times."""
    method, end, epochs, path = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
    multiprocessing.set_start_method(method)
    with open(path, "wb") as file:
        file.write(bytes(SAMPLES * SAMPLE_BYTES))
    for epoch in range(epochs):
        # The last two epochs have one order.
        order = random.Random(min(epoch, epochs - 2)).sample(range(SAMPLES), SAMPLES)
        done: multiprocessing.Queue[int] = multiprocessing.Queue()
        workers = [
            multiprocessing.Process(target=work, args=(path, order[k::WORKERS], end, done))
            for k in range(WORKERS)
        ]
        for one in workers:
            one.start()
        total = sum(done.get() for _ in workers)
        for one in workers:
            one.join()
        print("epoch", epoch, total)


if __name__ == "__main__":
    main()
