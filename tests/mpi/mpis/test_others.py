"""Programs that nobody here wrote or linked: Python's h5py, as a wheel and Debian's parallel."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from support.place import Place, main, not_verified
from support.repository import COMPANIONS, VENV_PYTHON

# Prints, as JSON, the selections that it makes: dataset, direction, first and last corner.
SERIAL = r"""
import json, numpy as np, h5py
made = []
with h5py.File("w.h5", "w") as f:
    d = f.create_dataset("g/plain", (20, 30), "f8")
    d[...] = np.ones((20, 30)); made.append(["/g/plain", "H5Dwrite", [0, 0], [20, 30]])
    d[3:7, 10:25] = 1.0; made.append(["/g/plain", "H5Dwrite", [3, 10], [4, 15]])
    c = f.create_dataset("chunked", (64, 64), "i4", chunks=(16, 16), compression="gzip")
    for i in range(4):
        c[16 * i:16 * i + 16, :] = i; made.append(["/chunked", "H5Dwrite", [16 * i, 0], [16, 64]])
    print(c.id.get_chunk_info(0).size > 0)
with h5py.File("w.h5", "r") as f:
    x = f["g/plain"][2:18:4, 5]; made.append(["/g/plain", "H5Dread", [2, 5], [4, 1]])
    print(float(x.sum()))
    y = f["chunked"][17:33, 3:60]; made.append(["/chunked", "H5Dread", [17, 3], [16, 57]])
    print(int(y.sum()))
print(json.dumps(made))
"""

# Three packages with an HDF5 each: prints the versions, then file, dataset and selection of each
# transfer. Each reads what another one wrote.
THREE = r"""
import json, warnings
import numpy as np, h5py, netCDF4, tables
warnings.simplefilter("ignore")
made = []
with (h5py.File("h.h5", "w") as h, tables.open_file("t.h5", "w") as t,
      netCDF4.Dataset("n.nc", "w") as n):
    a = h.create_dataset("a", (40, 10), "f8")
    b = t.create_carray("/", "b", tables.Int32Atom(), (30, 20), chunkshape=(10, 20))
    n.createDimension("y", 50); n.createDimension("x", 8)
    c = n.createVariable("c", "f4", ("y", "x"))
    for i in range(5):
        a[8 * i:8 * i + 8, 2:7] = np.full((8, 5), i)
        made.append(["h.h5", "/a", "H5Dwrite", [8 * i, 2], [8, 5]])
        b[6 * i:6 * i + 6, 3:19] = np.full((6, 16), i)
        made.append(["t.h5", "/b", "H5Dwrite", [6 * i, 3], [6, 16]])
        c[10 * i:10 * i + 10, 1:5] = np.full((10, 4), i)
        made.append(["n.nc", "/c", "H5Dwrite", [10 * i, 1], [10, 4]])
with h5py.File("t.h5", "r") as f:
    print(int(f["b"][3:27, 5:9].sum())); made.append(["t.h5", "/b", "H5Dread", [3, 5], [24, 4]])
with tables.open_file("n.nc") as f:
    print(float(f.root.c[4:44, 2:4].sum())); made.append(["n.nc", "/c", "H5Dread", [4, 2], [40, 2]])
with netCDF4.Dataset("h.h5") as f:
    print(float(f["a"][1:38, 3:6].sum())); made.append(["h.h5", "/a", "H5Dread", [1, 3], [37, 3]])
print(json.dumps([h5py.version.hdf5_version, tables.hdf5_version, netCDF4.__hdf5libversion__]))
print(json.dumps(made))
"""

PARALLEL = r"""
from mpi4py import MPI
import numpy as np, h5py
comm = MPI.COMM_WORLD
assert h5py.get_config().mpi
with h5py.File("p.h5", "w", driver="mpio", comm=comm) as f:
    d = f.create_dataset("x", (comm.size * 50, 8), "f8")
    d[comm.rank * 50:(comm.rank + 1) * 50, :] = comm.rank + 1.0
comm.Barrier()
with h5py.File("p.h5", "r", driver="mpio", comm=comm) as f:
    total = float(f["x"][...].sum())
if comm.rank == 0: print(total)
"""


def selections(calls: list[dict[str, Any]], with_file: bool = False) -> list[list[Any]]:
    """What the trace says: per transfer its (file,) dataset, start and extent (count × block)."""
    names: dict[int, list[str]] = {}
    found = []
    for call in calls:
        if call["name"] == "iotune_dataset":
            file, dataset = call["texts"][:2]
            names[call["keys"][0]] = [Path(file).name, dataset] if with_file else [dataset]
        if call["name"] in ("H5Dread", "H5Dwrite"):
            object_, _, _, _, kind, n, *values = call["arguments"]["extras"]
            if kind == 1:
                start, extent = [0] * n, values[:n]
            else:
                assert kind == 2, call
                start, count, block = (values[i * n : (i + 1) * n] for i in (0, 2, 3))
                extent = [a * b for a, b in zip(count, block)]
            found.append([*names[object_], call["name"], start, extent])
    return found


# h5py sets the cache of each file's list to what it has just read there.
CACHES = r"""
import h5py, numpy as np
with h5py.File("c.h5", "w") as f: f.create_dataset("x", (64, 64), "f4", chunks=(16, 16))
for own in ({}, {"rdcc_nbytes": 3 << 20}):
    with h5py.File("c.h5", "r", **own) as f:
        print(f["x"].id.get_access_plist().get_chunk_cache()[1], float(f["x"][:].sum()))
"""
CACHE_XML = """<Parameters><High_Level_IO_Library><chunk_cache>9437184</chunk_cache>
</High_Level_IO_Library></Parameters>"""


def caches(place: Place) -> None:
    """A cache reaches h5py's datasets; one that the script chose stays."""
    python = VENV_PYTHON
    have = python.exists() and subprocess.run([python, "-c", "import h5py"], check=False)
    if not have or have.returncode != 0:
        not_verified("h5py's wheel is not in .venv")
        return
    config = place.scratch / "cache.xml"
    config.write_text(CACHE_XML)
    done = place.right(place.run(python, "-c", CACHES, IOTUNE_DB="none", IOTUNE_CONFIG=config))
    assert [line.split()[0] for line in done.out.decode().splitlines()] == ["9437184", "3145728"]
    said = [(call["numbers"][0], call["texts"][4]) for call in place.calls()
            if call["name"] == "iotune_setting"]  # fmt: skip
    assert (0, "/x") in [(verdict, text.rstrip(":")) for verdict, text in said], said
    assert any(verdict == 2 and "program set it" in text for verdict, text in said), said


def joined(transfers: list[list[Any]]) -> list[list[Any]]:
    """h5py writes a scalar row by row, moving one selection by H5Soffset_simple: joined again."""
    out: list[list[Any]] = []
    for name, call, start, extent in transfers:
        if out and out[-1][:2] == [name, call] and call == "H5Dwrite" and extent[0] == 1:
            last_start, last_extent = out[-1][2:]
            begins_a_chunk_row = name == "/chunked" and start[0] % 16 == 0
            follows = last_start[0] + last_extent[0] == start[0] and last_start[1:] == start[1:]
            if follows and last_extent[1:] == extent[1:] and not begins_a_chunk_row:
                last_extent[0] += 1
                continue
        out.append([name, call, list(start), list(extent)])
    return out


def wheel(place: Place) -> None:
    python = VENV_PYTHON
    have = python.exists() and subprocess.run([python, "-c", "import h5py"], check=False)
    if not have or have.returncode != 0:
        not_verified("h5py's wheel is not in .venv")
        return
    bare = place.right(place.run(python, "-c", SERIAL, preload=False))
    for mode in ("record", "tune"):
        place.trace.unlink(missing_ok=True)
        under = place.right(place.run(python, "-c", SERIAL, IOTUNE_MODE=mode, IOTUNE_DB="none"))
        assert under.same_as(bare), (bare, under)
        calls = place.calls()
        got = joined(selections(calls))
        made = json.loads(bare.out.splitlines()[-1])
        assert got == made, f"recorded {got}\nmade {made}"
        strided = next(c for c in calls if c["name"] == "H5Dread")
        assert "stride={4;1}" in strided["text"], strided["text"]
    summary = place.summary()
    (file,) = [f for f in summary["files"] if f["path"].endswith("w.h5")]
    texts = {(d["dataset"], d["write"]): d["descriptor"]["text"] for d in file["datasets"]}
    assert texts["/g/plain", True] == "<2D,(*,*),(20,30)>", texts
    assert texts["/chunked", True] == "<2D,(*,*),(64,64)>", texts
    assert any(d["chunk"] == [16, 16] and d["filters"] == 1 for d in file["datasets"]), file
    # Tuned: the serial driver takes settings of its own.
    config = place.scratch / "config.xml"
    config.write_text("<Parameters><High_Level_IO_Library><meta_block_size>8192"
                      "</meta_block_size><alignment>4096,512</alignment>"
                      "</High_Level_IO_Library></Parameters>")  # fmt: skip
    place.trace.unlink()
    tuned = place.right(place.run(python, "-c", SERIAL, IOTUNE_CONFIG=config))
    assert tuned.same_as(bare), (bare, tuned)
    outcomes = {c["texts"][1]: (c["numbers"][0], c["texts"][3]) for c in place.calls()
                if c["name"] == "iotune_setting"
                and c["texts"][2] and c["numbers"][0] != 2}  # fmt: skip
    assert outcomes["meta_block_size"] == (0, "8192"), outcomes
    # h5py sets the alignment of every file to what it is by default: that is no choice of its own.
    assert outcomes["alignment"] == (0, "4096,512"), outcomes


def three(place: Place) -> None:
    """h5py, PyTables and netCDF4 in one process: each call goes to its own HDF5."""
    python = COMPANIONS / "three-hdf5" / "bin" / "python"
    have = python.exists() and subprocess.run([python, "-c", "import h5py, netCDF4, tables"],
                                              capture_output=True, check=False)  # fmt: skip
    if not have or have.returncode != 0:
        not_verified("wheels of h5py, PyTables and netCDF4 (tools/setup.sh companions)")
        return
    bare = place.right(place.run(python, "-B", "-c", THREE, preload=False))
    versions, made = (json.loads(line) for line in bare.out.splitlines()[-2:])
    assert len(set(versions)) == 3, versions
    for mode in ("record", "tune"):
        place.trace.unlink(missing_ok=True)
        under = place.right(place.run(python, "-B", "-c", THREE, IOTUNE_MODE=mode,
                                      IOTUNE_DB="none"))  # fmt: skip
        assert under.same_as(bare), (bare, under)
        assert selections(place.calls(), with_file=True) == made
        (head,) = place.heads()
        assert head["dropped"] == 0 and head["damage"] == [], head


def openmpi(place: Place) -> None:
    """Debian's h5py over Open MPI, whose libraries Python loads out of the global scope."""
    launcher = shutil.which("mpirun.openmpi")
    have = launcher and subprocess.run(
        ["/usr/bin/python3", "-c", "import mpi4py, h5py"], capture_output=True, check=False
    )
    script = place.scratch / "parallel.py"
    script.write_text(PARALLEL)
    if not launcher or have is None:
        not_verified("Debian's python3-h5py-mpi, python3-mpi4py and openmpi-bin are not here")
        return
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    command = [launcher, *root, "--oversubscribe", "-n", "2", "/usr/bin/python3", script]
    bare = place.run(*command, preload=False, OMPI_MCA_btl_base_warn_component_unused=0)
    if bare.status != 0:
        not_verified(f"Debian's h5py over Open MPI does not run here: {bare.err.decode()[-200:]!r}")
        return
    contents = (place.scratch / "p.h5").read_bytes()
    config = place.scratch / "config.xml"
    config.write_text("<Parameters><High_Level_IO_Library><meta_block_size>8192"
                      "</meta_block_size></High_Level_IO_Library></Parameters>")  # fmt: skip
    under = place.run(*command, IOTUNE_CONFIG=config, IOTUNE_DB="none")
    assert under.status == 0 and under.out == bare.out, (bare, under)
    assert len((place.scratch / "p.h5").read_bytes()) >= len(contents)
    assert place.leftovers() == [] and place.traces() == [place.trace], place.traces()
    calls = place.calls()
    assert {call["rank"] for call in calls} == {0, 1}
    writes = [s for s in joined(selections(calls)) if s[1] == "H5Dwrite"]
    assert sorted(writes) == [["/x", "H5Dwrite", [0, 0], [50, 8]],
                              ["/x", "H5Dwrite", [50, 0], [50, 8]]], writes  # fmt: skip
    verdicts = [(c["texts"][1], c["numbers"][0], c["texts"][3]) for c in calls
                if c["name"] == "iotune_setting"]  # fmt: skip
    assert ("meta_block_size", 0, "8192") in verdicts, verdicts


if __name__ == "__main__":
    main({"wheel": wheel, "caches": caches, "three": three, "openmpi": openmpi})
