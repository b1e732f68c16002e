"""KIND FOLDER make | KIND FOLDER [options]: epochs of a PyTorch DataLoader, as users write them.

KIND: h5py (one chunked dataset), zarr (a directory of chunks), npy (a file a sample), tar (shards,
as WebDataset has them), memmap. Prints "EPOCH SECONDS SAMPLES CHECK" a line.
"""

from __future__ import annotations

import argparse
import io
import os
import random
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import numpy as np
from torch.utils import data

# 64 KiB a sample, 64 MiB in all. HDF5 2's chunk cache is 8 MiB in each process: it would keep a
# smaller data set from epoch to epoch, which no real one is.
SAMPLES, FEATURES = 1024, 16384
CHUNK = 1  # samples a chunk of h5py's and zarr's
SHARD = 64  # samples a tar file

Read = Callable[[int], np.ndarray]


def values(sample: int) -> np.ndarray:
    return np.full(FEATURES, sample, "f4")


def make_h5py(folder: Path) -> None:
    import h5py

    with h5py.File(folder / "train.h5", "w") as file:
        everything = np.stack([values(n) for n in range(SAMPLES)])
        file.create_dataset("x", data=everything, chunks=(CHUNK, FEATURES))


def open_h5py(folder: Path) -> Read:
    import h5py

    read: Read = h5py.File(folder / "train.h5", "r")["x"].__getitem__
    return read


def make_zarr(folder: Path) -> None:
    import zarr

    everything = np.stack([values(n) for n in range(SAMPLES)])
    zarr.create_array(
        str(folder / "train.zarr"), data=everything, chunks=(CHUNK, FEATURES), compressors=None
    )


def open_zarr(folder: Path) -> Read:
    import zarr

    read: Read = zarr.open_array(str(folder / "train.zarr"), mode="r").__getitem__
    return read


def make_npy(folder: Path) -> None:
    for n in range(SAMPLES):
        np.save(folder / f"{n:06}.npy", values(n))


def open_npy(folder: Path) -> Read:
    return lambda n: np.load(folder / f"{n:06}.npy")


def make_memmap(folder: Path) -> None:
    np.stack([values(n) for n in range(SAMPLES)]).tofile(folder / "train.bin")


def open_memmap(folder: Path) -> Read:
    return np.memmap(folder / "train.bin", "f4", "r", shape=(SAMPLES, FEATURES)).__getitem__


def make_tar(folder: Path) -> None:
    for first in range(0, SAMPLES, SHARD):
        with tarfile.open(folder / f"train-{first // SHARD:04}.tar", "w") as out:
            for n in range(first, first + SHARD):
                buffer = io.BytesIO()
                np.save(buffer, values(n))
                entry = tarfile.TarInfo(f"{n:06}.npy")
                entry.size = buffer.tell()
                buffer.seek(0)
                out.addfile(entry, buffer)


MAKE = {
    "h5py": make_h5py, "zarr": make_zarr, "npy": make_npy, "memmap": make_memmap, "tar": make_tar,
}  # fmt: skip
OPEN = {"h5py": open_h5py, "zarr": open_zarr, "npy": open_npy, "memmap": open_memmap}


class Samples(data.Dataset):
    """Opened by each worker for itself, at its first sample: HDF5 must not cross a fork."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind, self.folder = kind, folder
        self.read: Read | None = None

    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, n: int) -> np.ndarray:
        if self.read is None:
            self.read = OPEN[self.kind](self.folder)
        return np.array(self.read(int(n)))


class Shards(data.IterableDataset):
    """Tar files, each read from front to end by one worker."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __iter__(self) -> Iterator[np.ndarray]:
        info = data.get_worker_info()
        shards = sorted(self.folder.glob("*.tar"))
        for path in shards[info.id :: info.num_workers] if info else shards:
            with tarfile.open(path, "r|") as entries:
                for entry in entries:
                    content = entries.extractfile(entry)
                    assert content is not None
                    yield np.load(io.BytesIO(content.read()))


class Order(data.Sampler):
    """Sequential, or shuffled by one seed for all epochs (`seed`) or by one each (`shuffle`)."""

    def __init__(self, how: str) -> None:
        self.how, self.epoch = how, 0

    def __len__(self) -> int:
        return SAMPLES

    def __iter__(self) -> Iterator[int]:
        order = list(range(SAMPLES))
        if self.how != "sequential":
            random.Random(self.epoch if self.how == "shuffle" else 7).shuffle(order)
        self.epoch += 1
        return iter(order)


def forget_pages(folder: Path) -> None:
    """As with a data set larger than memory: nothing of the epoch before is left in it."""
    for path in folder.rglob("*"):
        if path.is_file():
            descriptor = os.open(path, os.O_RDONLY)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)


def loader_of(options: argparse.Namespace) -> data.DataLoader:
    words: dict[str, Any] = {"num_workers": options.workers}
    if options.workers:
        words |= {
            "multiprocessing_context": options.context,
            "persistent_workers": options.persistent,
        }
    if options.kind == "tar":
        return data.DataLoader(Shards(options.folder), batch_size=options.batch, **words)
    batches = data.BatchSampler(Order(options.order), options.batch, drop_last=False)
    dataset = Samples(options.kind, options.folder)
    return data.DataLoader(dataset, batch_sampler=batches, **words)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=sorted(MAKE))
    parser.add_argument("folder", type=Path)
    parser.add_argument("what", nargs="?", choices=["make"])
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--context", choices=["fork", "spawn"], default="fork")
    parser.add_argument("--persistent", action="store_true")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--order", choices=["sequential", "seed", "shuffle"], default="sequential")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--pause-ms", type=float, default=0, help="computation a batch")
    parser.add_argument("--cold", action="store_true", help="no page is kept over epochs")
    options = parser.parse_args()
    if options.what == "make":
        options.folder.mkdir(parents=True, exist_ok=True)
        MAKE[options.kind](options.folder)
        return
    loader = loader_of(options)
    for epoch in range(options.epochs):
        if options.cold:
            forget_pages(options.folder)
        began, check, count = time.monotonic(), 0.0, 0
        for batch in loader:
            check += float(batch[:, 0].double().sum())
            count += len(batch)
            time.sleep(options.pause_ms / 1e3)
        print(epoch, f"{time.monotonic() - began:.4f}", count, f"{check:.0f}", flush=True)


if __name__ == "__main__":
    main()
