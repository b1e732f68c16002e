"""Corners of h5py: a writer and a reader at once, virtual data, drivers, filters."""

import io
import multiprocessing
import os

import h5py
import hdf5plugin
import numpy


def follow(name, made, done):
    """Read what another process appends to a file that is open for one writer."""
    made.wait()
    with h5py.File(name, "r", libver="latest", swmr=True) as file:
        rows = 0
        while rows < 400:
            file["rows"].refresh()
            rows = len(file["rows"])
        done.put((rows, float(file["rows"][:].sum())))


def one_writer():
    context = multiprocessing.get_context("fork")
    made, done = context.Event(), context.Queue()
    reader = context.Process(target=follow, args=("swmr.h5", made, done))
    reader.start()
    with h5py.File("swmr.h5", "w", libver="latest") as file:
        rows = file.create_dataset("rows", (0, 16), maxshape=(None, 16), chunks=(10, 16))
        file.swmr_mode = True
        made.set()
        for step in range(40):
            rows.resize(len(rows) + 10, axis=0)
            rows[-10:] = step
            rows.flush()
    print("swmr", done.get(timeout=60))
    reader.join()


def virtual():
    for part in range(4):
        with h5py.File(f"part{part}.h5", "w") as file:
            file["x"] = numpy.full(1000, part, "i4")
    layout = h5py.VirtualLayout((4, 1000), "i4")
    for part in range(4):
        layout[part] = h5py.VirtualSource(f"part{part}.h5", "x", (1000,))
    with h5py.File("virtual.h5", "w", libver="latest") as file:
        file.create_virtual_dataset("x", layout, fillvalue=-1)
    os.remove("part2.h5")
    with h5py.File("virtual.h5") as file:
        print("virtual", file["x"][:].sum(axis=1).tolist())


def drivers():
    with h5py.File("core.h5", "w", driver="core", block_size=4096) as file:
        file["x"] = numpy.arange(5000.0)
    with h5py.File("gone.h5", "w", driver="core", backing_store=False) as file:
        file["x"] = numpy.arange(5000.0)
    print("core", os.path.getsize("core.h5") > 40000, os.path.exists("gone.h5"))
    with h5py.File("family%d.h5", "w", driver="family", memb_size=1 << 16) as file:
        file["x"] = numpy.arange(30000.0)
    with h5py.File("family%d.h5", "r", driver="family", memb_size=1 << 16) as file:
        print("family", file["x"][29999], sorted(n for n in os.listdir() if "family" in n))
    with h5py.File("split.h5", "w", driver="split") as file:
        file["x"] = numpy.arange(3000)
    with h5py.File("split.h5", "r", driver="split") as file:
        print("split", file["x"][:].sum())
    with h5py.File("stdio.h5", "w", driver="stdio") as file:
        file["x"] = numpy.arange(3000)
    memory = io.BytesIO()
    with h5py.File(memory, "w") as file:
        file["x"] = numpy.arange(100)
    with open("object.h5", "w+b") as raw, h5py.File(raw, "w") as file:
        file["x"] = numpy.arange(2000)
    print("objects", len(memory.getvalue()) > 800, os.path.getsize("object.h5") > 16000)


def shapes():
    paged = {"fs_strategy": "page", "fs_page_size": 8192}
    with h5py.File("shapes.h5", "w", userblock_size=8192, **paged) as file:
        outside = [("outside.bin", 100, 8000)]
        file.create_dataset("outside", data=numpy.arange(1000.0), external=outside)
        for name, codec in (("blosc", hdf5plugin.Blosc()), ("zstd", hdf5plugin.Zstd(3))):
            grid = numpy.arange(40000).reshape(200, 200)
            file.create_dataset(name, data=grid, chunks=(20, 200), **codec)
        file.create_dataset("scale", data=numpy.arange(9000.0), scaleoffset=2)
        file.create_dataset("summed", data=numpy.arange(9000.0), fletcher32=True)
        file["words"] = [f"word {k}" for k in range(500)]
        file["scalar"], file["none"] = 3.5, h5py.Empty("f8")
        mixed = numpy.zeros(300, [("a", "i2"), ("b", "f8", (3,)), ("c", "S7")])
        file["mixed"] = mixed
        file["mixed"][5:7] = mixed[5:7]
        file["link"] = h5py.SoftLink("/blosc")
        file["away"] = h5py.ExternalLink("core.h5", "/x")
        file["refs"] = [file["blosc"].ref, file["zstd"].ref]
        data = file["blosc"]
        data[::7, 3:9] = 0
        data[[1, 5, 190], :] = 4
        data[data[:] == 11111] = -1
        packed = data.id.read_direct_chunk((40, 0))
        data.id.write_direct_chunk((60, 0), packed[1])
        file.attrs["large"] = numpy.arange(7000)
    with h5py.File("shapes.h5", rdcc_nbytes=1 << 20, page_buf_size=1 << 16) as file:
        print("shapes", file["link"][:].sum(), file["away"][4999], file["outside"][999])
        print("words", file["words"][499], file["mixed"]["b"].sum(), file["scalar"][()])
        print("by reference", file[file["refs"][1]][199, 199])
        print("some rows", file["zstd"][numpy.arange(0, 200, 9)].sum())


if __name__ == "__main__":
    virtual()
    drivers()
    shapes()
    one_writer()
