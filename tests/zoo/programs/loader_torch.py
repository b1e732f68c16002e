"""A DataLoader whose workers, forked or spawned, each open an HDF5 file."""

import multiprocessing
import sys

import h5py
import numpy
import torch
import torch.utils.data


class Rows(torch.utils.data.Dataset):
    """Opens its file in the process that reads."""

    def __init__(self, name):
        self.name, self.file = name, None

    def __len__(self):
        return 256

    def __getitem__(self, row):
        if self.file is None:
            self.file = h5py.File(self.name, "r")
        return torch.from_numpy(self.file["data"][row])


def main(method):
    torch.manual_seed(1)
    torch.set_num_threads(1)
    with h5py.File(f"{method}.h5", "w") as file:
        data = file.create_dataset("data", (256, 500), "f4", chunks=(8, 500), compression=1)
        data[:] = numpy.arange(128000).reshape(256, 500) % 1009
    loader = torch.utils.data.DataLoader(
        Rows(f"{method}.h5"), batch_size=16, shuffle=True, num_workers=2,
        multiprocessing_context=multiprocessing.get_context(method),
    )  # fmt: skip
    total = 0.0
    for number, batch in enumerate(loader):
        total += float((batch.sum(1) * (number + 1)).sum())
    print(method, total)
    torch.save({"total": torch.tensor(total)}, f"{method}.pt")
    print(float(torch.load(f"{method}.pt")["total"]))


if __name__ == "__main__":
    main(sys.argv[1])
