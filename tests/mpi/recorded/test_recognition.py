"""The papers' kernels, run and recorded: their descriptors, as the papers print them."""

from __future__ import annotations

import os
import random
import re
from typing import Any

from support.place import Place, main
from support.recognised import demand


def summary(place: Place, ranks: int, kernel: str, *arguments: object) -> dict[str, Any]:
    """Run a kernel under recording and return its trace's summary, which has to be whole."""
    place.trace.unlink(missing_ok=True)
    place.right(place.mpi(ranks, place.bin / kernel, *arguments, IOTUNE_MODE="record"), kernel)
    got = place.summary()
    assert got["ranks"] == got["processes"] == ranks, got
    assert got["dropped"] == 0 and got["warnings"] == [], got
    assert place.leftovers() == [], "buffers of a run that has its trace"
    return got


def data(run: dict[str, Any], file: int = 0) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = run["files"][file]["datasets"]
    return found


def ph5example(place: Place) -> None:
    for ranks, text in ((4, "<2D,(BLOCK,*),(6,24)>"), (1, "<2D,(*,*),(24,24)>")):
        demand(summary(place, ranks, "ph5example"), text, 2, 4, ranks, (ranks, 1))


def figure2(place: Place) -> None:
    """What PDSW'15, figure 2 shows of a rank: names, starts, counts, results, seconds."""
    summary(place, 4, "ph5example")
    for rank in range(4):
        calls = [c for c in place.calls() if c["rank"] == rank and c["layer"] == "hdf5"]
        names = [call["name"] for call in sorted(calls, key=lambda c: c["start_ns"])]
        one = ["H5Dcreate2", "H5Dget_space", "H5Screate_simple", "H5Sselect_hyperslab", "H5Dwrite"]
        frame = {"H5Sclose", "H5Dclose", "H5Pclose"}
        order = [n for n in names if n in one or n in ("H5Fcreate", "H5Fclose", "H5Pset_fapl_mpio")]
        assert order == ["H5Pset_fapl_mpio", "H5Fcreate", "H5Screate_simple", *one,
                         "H5Screate_simple", *one, "H5Fclose"], names  # fmt: skip
        assert names[0] == "H5Pcreate" and frame <= set(names), names

        by_name: dict[str, list[dict[str, Any]]] = {}
        for call in calls:
            by_name.setdefault(call["name"], []).append(call)
            # 1396296304.23707 H5Dget_space (83886080) 67108867 0.00001
            assert re.fullmatch(
                r"~?\d{10}\.\d+ {1,3}H5\w+ \(.*\) -?\d+ .*~?\d+\.\d+", call["line"]
            ), call
        assert by_name["H5Pcreate"][0]["texts"] == ["file access"], by_name["H5Pcreate"]
        (create,) = by_name["H5Fcreate"]
        assert create["texts"] == ["ParaEg0.h5"] and create["arguments"]["flags"] == 2, create
        (mpio,) = by_name["H5Pset_fapl_mpio"]
        assert mpio["arguments"]["comm"] == 0x44000000, mpio  # MPICH's MPI_COMM_WORLD
        assert create["arguments"]["fapl"] == mpio["arguments"]["fapl"], (create, mpio)
        assert [c["texts"] for c in by_name["H5Dcreate2"]] == [["/Data1"], ["/Data2"]]
        assert [c["arguments"]["dims"] for c in by_name["H5Screate_simple"]] == [
            [24, 24], [6, 24], [24, 24], [6, 24]]  # fmt: skip
        slabs = by_name["H5Sselect_hyperslab"]
        for slab, write, made in zip(slabs, by_name["H5Dwrite"], by_name["H5Dcreate2"]):
            arguments = slab["arguments"]
            assert arguments["start"] == [6 * rank, 0], slab
            product = [a * (1 if b is None else b) for a, b in zip(
                arguments["count"], arguments["block"] or [1, 1])]  # fmt: skip
            assert product == [6, 24], slab
            assert write["arguments"]["dataset"] == made["arguments"]["result"], (write, made)
            assert write["arguments"]["file_space"] == arguments["space"], (write, slab)
            assert write["arguments"]["result"] == 0 and write["duration_ns"] > 0, write
            assert f"start={{{6 * rank};0}}" in write["text"], write
    # What HDF5 does below stands below it: MPI-IO once a transfer, POSIX below that.
    depths = {(c["name"], c["depth"]) for c in place.calls() if c["layer"] in ("mpiio", "posix")}
    assert ("MPI_File_open", 1) in depths and ("MPI_File_write_at", 1) in depths, depths
    assert ("pwrite", 2) in depths, depths


def vpic(place: Place) -> None:
    run = summary(place, 2, "vpic-io", "--particles", 8388608, "--datasets", 1)
    demand(run, "<1D,(BLOCK),(8388608)>", 1, 4, 2, (2,))
    (place.scratch / "vpic-io.h5").unlink()
    for ranks in (2, 3, 4):
        run = summary(place, ranks, "vpic-io", "--particles", 1234, "--collective")
        demand(run, "<1D,(BLOCK),(1234)>", 8, 4, ranks, (ranks,))
        assert {d["mode"] for d in data(run)} == {"collective"}
        names = [d["dataset"] for d in data(run)]
        assert names == [f"/Step#0/{v}" for v in "x y z px py pz id1 id2".split()], names
    run = summary(place, 2, "vpic-io", "--particles", 1234, "--steps", 3)
    assert [len(data(run, n)) for n in range(3)] == [8, 8, 8] and len(run["files"]) == 3
    assert len({f["masked_name"] for f in run["files"]}) == 1, run["files"]


def vorpal(place: Place) -> None:
    for ranks, distributions, grid in (
        (8, "BLOCK,BLOCK,BLOCK", (2, 2, 2)), (4, "BLOCK,BLOCK,*", (2, 2, 1)),
        (2, "BLOCK,*,*", (2, 1, 1)), (1, "*,*,*", (1, 1, 1)),
    ):  # fmt: skip
        run = summary(place, ranks, "vorpal-io", "--size", "6x10x3")
        demand(run, f"<3D,({distributions}),(6,10,3)>", 20, 8, ranks, grid)
    run = summary(place, 4, "vorpal-io", "--datasets", 1)
    demand(run, "<3D,(BLOCK,BLOCK,*),(60,100,300)>", 1, 8, 4, (2, 2, 1))


def resemble(place: Place) -> None:
    run = summary(place, 8, "resemble-vorpal-io", "--datasets", 1)
    demand(run, "<3D,(BLOCK,BLOCK,BLOCK),(64,128,256)>", 1, 8, 8, (2, 2, 2))
    (place.scratch / "resemble-vorpal-io.h5").unlink()
    run = summary(place, 2, "resemble-vorpal-io", "--size", "4x4x4")
    demand(run, "<3D,(BLOCK,*,*),(4,4,4)>", 20, 8, 2, (2, 1, 1))


def gcrm(place: Place) -> None:
    for ranks in (2, 4):
        run = summary(place, ranks, "gcrm-io")
        demand(run, "<3D,(*,*,BLOCK),(1,1,327680)>", 10, 4, ranks, (1, 1, ranks))


def flash(place: Place) -> None:
    run = summary(place, 2, "flash-io", "--size", "5x4x4x4")
    assert len(run["files"]) == 3, [f["path"] for f in run["files"]]
    for number, (end, datasets, speaking, zones) in enumerate(
        (("_chk.h5", 34, 24, 4), ("_plt_cnt.h5", 14, 4, 4), ("_plt_crn.h5", 14, 4, 5))
    ):
        file = run["files"][number]
        assert file["path"].endswith(end), file["path"]
        assert len(file["datasets"]) == datasets, [d["dataset"] for d in file["datasets"]]
        assert file["speaker_count"] == speaking, file["speaker_count"]
        dominant = file["datasets"][file["speaker"]]
        text = f"<4D,(BLOCK,*,*,*),(5,{zones},{zones},{zones})>"
        assert dominant["descriptor"]["text"] == text, dominant
        same = [d for d in file["datasets"] if d["descriptor"]["text"] == text]
        assert len(same) == speaking and {d["ranks"] for d in same} == {2}, same
        alone = [d for d in file["datasets"] if d["ranks"] == 1]
        assert len(alone) == 4, [d["dataset"] for d in alone]
    default = summary(place, 2, "flash-io", "--datasets", 1)
    file = default["files"][0]
    text = file["datasets"][file["speaker"]]["descriptor"]["text"]
    assert text == "<4D,(BLOCK,*,*,*),(80,8,8,8)>", text


def cyclic(place: Place) -> None:
    run = summary(place, 2, "column-io", "--size", "100x64")
    demand(run, "<2D,(*,BLOCK),(100,64)>", 1, 8, 2, (1, 2))
    run = summary(place, 2, "cyclic-io", "--size", 1000)
    demand(run, "<1D,(CYCLIC),(1000)>", 1, 8, 2, (2,))
    run = summary(place, 4, "cyclic-io", "--size", "30x20", "--grid", "2x2")
    demand(run, "<2D,(CYCLIC,CYCLIC),(30,20)>", 1, 8, 4, (2, 2))
    run = summary(place, 3, "block-cyclic-io", "--size", 512, "--block", 128)
    demand(run, "<1D,(CYCLIC(128)),(512)>", 1, 8, 3, (3,))


def modes(place: Place) -> None:
    """Reading, chunks, filters and transfer mode stand beside the descriptor."""
    size = ("--size", "6x8x4", "--datasets", 2)
    summary(place, 2, "vorpal-io", *size)
    run = summary(place, 2, "vorpal-io", *size, "--read")
    for got in data(run):
        assert not got["write"] and got["descriptor"]["text"] == "<3D,(BLOCK,*,*),(6,8,4)>", got
    run = summary(place, 2, "vorpal-io", *size, "--chunk", "6x4x4", "--deflate", 1, "--collective")
    for got in data(run):
        assert got["chunk"] == [6, 4, 4] and got["filters"] == 1, got
        assert got["mode"] == "collective", got


def distribution(kind: str, parts: int, size: int, block: int) -> str:
    """The name that docs/descriptors.md gives a dimension, from the kernel's arguments."""
    if parts == 1:
        return "*"
    if kind == "block" or size <= block:
        return "BLOCK"
    return "CYCLIC" if block == 1 else f"CYCLIC({block})"


def random_grids(place: Place) -> None:
    seed = int(os.environ.get("IOTUNE_TEST_SEED", random.SystemRandom().randrange(2**32)))
    print(f"seed {seed} (IOTUNE_TEST_SEED repeats it)")
    draw = random.Random(seed)
    ranks_drawn = [draw.choice((1, 2, 2, 2, 3, 4)) for _ in range(20)]
    for turn, ranks in enumerate(ranks_drawn):
        kernel, kind, least, most = draw.choice((
            ("vorpal-io", "block", 3, 3), ("resemble-vorpal-io", "block", 3, 3),
            ("column-io", "block", 2, 2), ("gcrm-io", "block", 3, 3), ("vpic-io", "block", 1, 1),
            ("cyclic-io", "cyclic", 1, 4), ("block-cyclic-io", "cyclic", 1, 3),
        ))  # fmt: skip
        dimensions = draw.randint(least, most)
        grid = [1] * dimensions
        for prime in {1: (), 2: (2,), 3: (3,), 4: (2, 2)}[ranks]:
            grid[draw.randrange(dimensions)] *= prime
        block = [1] * dimensions
        if kernel == "block-cyclic-io":
            block = [draw.randint(1, 4) for _ in grid]
        size = [k * draw.randint(1, 5) if kind == "cyclic" else draw.randint(1, 9) for k in block]
        arguments: list[object] = ["--size", "x".join(map(str, size)), "--grid",
                                   "x".join(map(str, grid)), "--datasets",
                                   draw.randint(1, 3)]  # fmt: skip
        if kernel == "block-cyclic-io":
            arguments += ["--block", "x".join(map(str, block))]
        arguments.append(draw.choice(("--collective", "--independent")))
        names = [distribution(kind, p, n, k) for p, n, k in zip(grid, size, block)]
        want = f"<{dimensions}D,({','.join(names)}),({','.join(map(str, size))})>"
        what = f"turn {turn}: {ranks} ranks, {kernel} {' '.join(map(str, arguments))}"
        operations = [True, False] if draw.random() < 0.3 else [True]
        for write in operations:
            run = summary(place, ranks, kernel, *arguments, *([] if write else ["--read"]))
            for got in data(run):
                text = got["descriptor"]["text"]
                assert text == want, f"seed {seed}, {what}: {text}, not {want}"
                assert got["write"] is write and got["process_grid"] == grid, (seed, what, got)
                assert got["mode"] == str(arguments[-1]).lstrip("-"), (seed, what, got)
        print(f"{what}: {want}")


if __name__ == "__main__":
    main({"ph5example": ph5example, "figure2": figure2, "vpic": vpic, "vorpal": vorpal,
          "resemble": resemble, "gcrm": gcrm, "flash": flash, "cyclic": cyclic, "modes": modes,
          "random": random_grids})  # fmt: skip
