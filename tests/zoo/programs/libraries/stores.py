"""Arrays and records in stores that map memory, use threads, or append to archives."""

import io
import os
import tarfile

import blosc2
import diskcache
import joblib
import lmdb
import numpy
import safetensors.numpy
import tensorstore
import webdataset

grid = numpy.arange(240 * 240, dtype="f4").reshape(240, 240)
for driver in ("zarr", "n5"):
    place = {"driver": driver, "kvstore": {"driver": "file", "path": driver}}
    blocks = {} if driver == "zarr" else {"blockSize": [40, 40]}
    layout = tensorstore.ChunkLayout(chunk_shape=[40, 40])
    store = tensorstore.open(
        {**place, "metadata": blocks}, create=True, dtype=tensorstore.float32,
        shape=[240, 240], chunk_layout=layout,
    ).result()  # fmt: skip
    store[...] = grid
    store[10:50, 30:90].write(0).result()
    again = tensorstore.open(place, open=True).result()
    print(driver, float(again[::7, 100:200].read().result().sum()))
environment = lmdb.open("lmdb", map_size=1 << 24)
with environment.begin(write=True) as change:
    for key in range(3000):
        change.put(b"%06d" % key, b"v" * (key % 200))
with environment.begin() as view:
    print("lmdb", sum(len(value) for _, value in view.cursor()), environment.stat()["entries"])
environment.close()
numpy.save("n.npy", grid)
numpy.savez_compressed("n.npz", a=grid, b=grid[:3])
mapped = numpy.load("n.npy", mmap_mode="r+")
mapped[5] = -1
mapped.flush()
print("mapped", float(numpy.load("n.npy")[5].sum()), float(numpy.load("n.npz")["b"].sum()))
numpy.memmap("raw.bin", "i8", "w+", shape=(4096,))[:] = numpy.arange(4096)
print("memmap", numpy.fromfile("raw.bin", "i8", 10, offset=800).tolist())
joblib.dump({"grid": grid, "names": ["a"] * 100}, "j.joblib")
print("joblib", float(joblib.load("j.joblib", mmap_mode="r")["grid"][239, 239]))
print(joblib.Parallel(n_jobs=2)(joblib.delayed(os.path.getsize)(n) for n in ("n.npy", "raw.bin")))
safetensors.numpy.save_file({"w": grid, "v": grid[0]}, "s.safetensors")
with safetensors.safe_open("s.safetensors", "numpy") as file:
    print("safetensors", sorted(file.keys()), float(file.get_slice("w")[3:5, 7].sum()))
with diskcache.Cache("cache") as cache:
    for key in range(60):
        cache[key] = b"x" * (key * 1000)
    print("diskcache", sum(len(cache[key]) for key in cache))
with webdataset.TarWriter("shard.tar") as sink:
    for key in range(100):
        sink.write({"__key__": f"{key:04d}", "bin": bytes([key]) * 3000, "cls": key})
rows = webdataset.WebDataset("file:shard.tar", shardshuffle=False).decode()
print("webdataset", sum(int(row["cls"]) + row["bin"][0] for row in rows))
packed = blosc2.asarray(grid, urlpath="b.b2nd", mode="w", chunks=(60, 60))
packed[3:9, 5:70] = 1
print("blosc2", float(blosc2.open("b.b2nd", mmap_mode="r")[::5, ::9].sum()))
with tarfile.open("append.tar", "w") as archive:
    for key in range(50):
        member = tarfile.TarInfo(f"m{key}")
        member.size = 700
        archive.addfile(member, io.BytesIO(b"z" * 700))
with tarfile.open("append.tar", "a") as archive:
    member = archive.gettarinfo("raw.bin")
    member.mtime = 0
    with open("raw.bin", "rb") as raw:
        archive.addfile(member, raw)
print("tar", len(tarfile.open("append.tar").getnames()))
