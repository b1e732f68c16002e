"""The kernels write what they say: bytes by formula, dimensions by h5dump, faults by name."""

from __future__ import annotations

import itertools
import math
import os
import random
from collections.abc import Callable
from dataclasses import dataclass

from support.kernel_programs import Programs, dumped_dims, flip_bit, main

RANKS = (1, 2, 4)


@dataclass(frozen=True)
class Kernel:
    """A kernel at a small size, and what its file has to hold."""

    name: str
    size: tuple[int, ...]  # of a rank
    grid: Callable[[int], tuple[int, ...]]  # by ranks
    element_bytes: int
    paths: tuple[str, ...]
    output: str

    def dims(self, ranks: int) -> tuple[int, ...]:
        """The whole dataset's dimensions."""
        return tuple(a * b for a, b in zip(self.size, self.grid(ranks)))

    def size_option(self) -> str:
        """The value of --size."""
        return "x".join(map(str, self.size))


def balanced(ranks: int) -> tuple[int, ...]:
    return {1: (1, 1, 1), 2: (2, 1, 1), 4: (2, 2, 1), 8: (2, 2, 2)}[ranks]


def fields(name: str, count: int) -> tuple[str, ...]:
    return tuple(f"/{name}{number:02d}" for number in range(count))


KERNELS = (
    Kernel("vpic-io", (1001,), lambda n: (n,), 4,
           tuple(f"/Step#0/{v}" for v in "x y z px py pz id1 id2".split()), "vpic-io.h5"),
    Kernel("vorpal-io", (6, 10, 30), balanced, 8, fields("field", 20), "vorpal-io.h5"),
    Kernel("resemble-vorpal-io", (8, 4, 2), balanced, 8, fields("field", 20),
           "resemble-vorpal-io.h5"),
    Kernel("gcrm-io", (1, 1, 327), lambda n: (1, 1, n), 4, fields("variable", 10), "gcrm-io.h5"),
    Kernel("ph5example", (6, 24), lambda n: (n, 1), 4, ("/Data1", "/Data2"), "ParaEg0.h5"),
    Kernel("column-io", (32, 64), lambda n: (1, n), 8, ("/column0",), "column-io.h5"),
    Kernel("cyclic-io", (100,), lambda n: (n,), 8, ("/cyclic0",), "cyclic-io.h5"),
    Kernel("block-cyclic-io", (256,), lambda n: (n,), 8, ("/cyclic0",), "block-cyclic-io.h5"),
)  # fmt: skip


def write_and_read(programs: Programs, kernel: Kernel) -> None:
    for ranks in RANKS:
        size = ("--size", kernel.size_option())
        for mode in ("--independent", "--collective"):
            output = programs.scratch / kernel.output
            output.unlink(missing_ok=True)
            written = programs.result(ranks, kernel.name, *size, mode, "--verify", "--json")
            dims = kernel.dims(ranks)
            assert dumped_dims(output) == dict.fromkeys(kernel.paths, dims)
            expected = math.prod(dims) * kernel.element_bytes * len(kernel.paths)
            assert written["bytes"] == expected, written
            assert written["grid"] == "x".join(map(str, kernel.grid(ranks))), written
        read = programs.result(ranks, kernel.name, *size, "--read", "--verify", "--json")
        assert read["bytes"] == expected and read["operation"] == "read", read


def uneven(programs: Programs) -> None:
    """The last part is smaller; cyclic runs are cut; unions of slabs in several dimensions."""
    modes = itertools.cycle(("--independent", "--collective"))
    for name, arguments, dims in (
        ("vpic-io", ("--size", 100), (367,)),
        ("vorpal-io", ("--size", "6x9x5"), (10, 15, 5)),
        ("column-io", ("--size", "7x9", "--grid", "2x2"), (12, 15)),
        ("cyclic-io", ("--size", 10), (39,)),
        ("cyclic-io", ("--size", "10x9", "--grid", "2x2"), (19, 17)),
        ("block-cyclic-io", ("--size", "10x9", "--block", "3x4"), (19, 17)),
        ("block-cyclic-io", ("--size", "8", "--block", "8", "--chunk", "5"), (30,)),
    ):
        common = (*arguments, "--uneven", "--verify", "--output", "u.h5")
        programs.right(4, name, *common, next(modes))
        assert set(dumped_dims(programs.scratch / "u.h5").values()) == {dims}, name
        programs.right(4, name, *common, next(modes), "--read")
        next(modes)
    # 24 rows do not divide by 5 or 9: a smaller and an empty last part.
    for ranks, mode in ((3, "--independent"), (5, "--collective"), (9, "--collective")):
        programs.right(ranks, "ph5example", "--verify", mode)
        assert dumped_dims(programs.scratch / "ParaEg0.h5")["/Data1"] == (24, 24)


def ior(programs: Programs) -> None:
    """IOR's flags: segments are datasets, transfers are calls; sizes have IOR's letters."""
    for flags, ranks, dims, count in (
        (("-a", "HDF5", "-s", 8, "-b", "32k", "-t", "32k"), 2, (8192,), 8),
        (("-a", "HDF5", "-s", 2, "-b", "1m", "-t", "128k", "-c"), 4, (524288,), 2),
        (("-a", "HDF5", "-b", "3k", "-t", "1k", "--uneven"), 3, (1024,), 1),
    ):
        common = (*flags, "-o", "ior.h5")
        programs.right(ranks, "ior-io", *common, "-w", "-W")
        paths = tuple(f"/Dataset-0000.{number:04d}" for number in range(count))
        assert dumped_dims(programs.scratch / "ior.h5") == dict.fromkeys(paths, dims)
        read = programs.result(ranks, "ior-io", *common, "-r", "-R", "--json")
        assert read["bytes"] == 8 * dims[0] * count, read
    wrong: tuple[tuple[tuple[str, ...], str], ...] = (
        (("-a", "POSIX"), "HDF5 alone"), (("-b", "9"), "multiple of 8"), (("-q",), "not known"),
        (("-b", "1m", "-t", "768k"), "multiple of -t"), (("-s", "0"), "possible"),
        (("-w", "-r"), "one of them"),
    )  # fmt: skip
    for bad, word in wrong:
        programs.wrong(2, word, command=(1, "ior-io", *bad))


def rows(programs: Programs) -> None:
    """The same bytes in calls of some rows, where ranks have unequal numbers of them."""
    for mode in ("--independent", "--collective"):
        common = ("--size", "7x5", "--grid", "3x1", "--uneven", "--rows", 2, mode, "--verify")
        programs.right(3, "column-io", *common, "--output", "r.h5")
        programs.right(3, "column-io", *common, "--output", "r.h5", "--read")
    programs.wrong(2, "--rows", command=(2, "cyclic-io", "--rows", 2))


def random_grids(programs: Programs) -> None:
    """Grids and sizes drawn anew each time; the seed is in the message of a failure."""
    seed = random.SystemRandom().randrange(2**32)
    draw = random.Random(seed)
    for _ in range(8):
        name = draw.choice(["vorpal-io", "column-io", "cyclic-io", "block-cyclic-io"])
        n = {"vorpal-io": 3, "column-io": 2}.get(name) or draw.randint(1, 3)
        grid = [draw.randint(1, 2) for _ in range(n)]
        size = [draw.randint(3, 12) for _ in range(n)]
        options: list[object] = ["--grid", "x".join(map(str, grid))]
        options += ["--size", "x".join(map(str, size)), "--datasets", draw.randint(1, 3)]
        if name == "block-cyclic-io":
            options += ["--block", "x".join(str(draw.randint(1, 3)) for _ in range(n))]
        options += draw.choice([[], ["--collective"]]) + draw.choice([[], ["--uneven"]])
        try:
            programs.right(math.prod(grid), name, *options, "--verify", "--output", "r.h5")
            programs.right(
                math.prod(grid), name, *options, "--verify", "--output", "r.h5", "--read"
            )
        except AssertionError as fault:
            raise AssertionError(f"seed {seed}: {fault}") from None


def flash(programs: Programs) -> None:
    for ranks in RANKS:
        size = ("--size", "3x2x4x5", "--verify", "--json")
        written = programs.result(ranks, "flash-io", *size)
        dims = {
            suffix: dumped_dims(programs.scratch / f"flash-io_{suffix}.h5")
            for suffix in ("chk", "plt_cnt", "plt_crn")
        }
        blocks = 3 * ranks
        unknowns = [path for path, d in dims["chk"].items() if d == (blocks, 2, 4, 5)]
        assert len(dims["chk"]) == 34 and len(unknowns) == 24, dims["chk"]
        assert list(dims["plt_cnt"].values()).count((blocks, 2, 4, 5)) == 4
        assert list(dims["plt_crn"].values()).count((blocks, 3, 5, 6)) == 4
        metadata = 4 + 80 + 6 * 8
        per_block = 4 * (1 + 1 + 15)
        sizes = [
            metadata + 24 * 4 + blocks * (per_block + 12 * 8 + 24 * 40 * 8),
            metadata + 4 * 4 + blocks * (per_block + 12 * 4 + 4 * 40 * 4),
            metadata + 4 * 4 + blocks * (per_block + 12 * 4 + 4 * 90 * 4),
        ]
        assert written["bytes"] == sum(sizes) and written["files"] == 3, (written, sizes)
        programs.result(ranks, "flash-io", *size, "--read", "--collective")


def options(programs: Programs) -> None:
    """Series, chunks, compression, names, text output."""
    programs.right(
        2, "vpic-io", "--particles", 50, "--steps", 3, "--pause-ms", 1, "--output", "s.h5"
    )
    assert [p.name for p in sorted(programs.scratch.glob("s*.h5"))] == [
        "s00000.h5", "s00001.h5", "s00002.h5",
    ]  # fmt: skip
    assert "/Step#2/px" in dumped_dims(programs.scratch / "s00002.h5")
    series = ("--particles", 50, "--steps", 3, "--output", "s.h5", "--verify")
    programs.right(2, "vpic-io", *series, "--read")
    again = programs.result(2, "vpic-io", *series, "--read", "--json", "--passes", 3)
    once = programs.result(2, "vpic-io", *series, "--read", "--json")
    assert (again["files"], again["bytes"]) == (9, 3 * once["bytes"]), (again, once)
    # Each step has bytes of its own: one in the place of another has to be noticed.
    (programs.scratch / "s00001.h5").replace(programs.scratch / "s00000.h5")
    programs.wrong(1, "s00000.h5", command=(2, "vpic-io", *series, "--read"))
    first, others = programs.scratch / "s00000.h5", programs.scratch / "s00002.h5"
    inodes = [path.stat().st_ino for path in (first, others)]
    os.link(first, programs.scratch / "kept.h5")  # so that its inode is given to nobody else
    programs.right(2, "vpic-io", "--particles", 50, "--steps", 1, "--output", "s.h5", "--fresh")
    assert [path.stat().st_ino == old for path, old in zip((first, others), inodes)] == [
        False,
        True,
    ]
    packed = ("--size", "40x6", "--chunk", "8x3", "--deflate", 6, "--collective", "--verify")
    programs.right(4, "column-io", *packed)
    programs.right(4, "column-io", *packed, "--read")
    programs.right(2, "column-io", "--size=40x6", "--chunk=8x3", "--verify")
    programs.right(1, "gcrm-io", "--size", "1x1x10", "--datasets", 3, "--output", "g.h5")
    assert list(dumped_dims(programs.scratch / "g.h5")) == list(fields("variable", 3))
    text = programs.right(2, "cyclic-io", "--size", 64)
    words = {line.split()[0]: line.split()[1] for line in text.splitlines()}
    assert words["bytes"] == "1024", text
    rate = 1024 / 2**20 / float(words["seconds"])
    assert abs(float(words["bandwidth"]) - rate) < 0.01 * rate + 0.001, text
    assert "--grid" in programs.right(1, "vpic-io", "--help")


def faults(programs: Programs) -> None:
    for words, arguments in (
        (("--grid 3",), ("--grid", 3)),
        (("--grid 2x2",), ("--grid", "2x2")),
        (("--grid 2y2",), ("--grid", "2y2")),
        (("--nope",), ("--nope", 1)),
        (("--size",), ("--size",)),
        (("--size 0",), ("--size", 0)),
        (("--size -4",), ("--size", -4)),
        (("--size 4x4",), ("--size", "4x4")),
        (("--size 99999999999999999999",), ("--size=99999999999999999999",)),
        (("--size 9000000000000000000", "too large"), ("--size", 9 * 10**18)),
        (("--steps 0",), ("--steps", 0)),
        (("--datasets 1.5",), ("--datasets", 1.5)),
        (("--deflate 3", "--chunk"), ("--deflate", 3)),
        (("--deflate 3", "--collective"), ("--deflate", 3, "--chunk", 10)),
        (("--chunk 4000", "larger"), ("--chunk", 4000, "--size", 100)),
        (("--block 2",), ("--block", 2)),
        (("--fresh", "--read"), ("--fresh", "--read")),
        (("--verify=1",), ("--verify=1",)),
    ):
        programs.wrong(2, *words, command=(2, "vpic-io", *arguments))
    divided = (2, "flash-io", "--grid", "1x2x1x1")
    programs.wrong(2, "--grid 1x2x1x1", command=divided)
    programs.wrong(
        1, "/missing/a.h5", command=(2, "vpic-io", "--size", 9, "--output", "/missing/a.h5")
    )
    programs.wrong(1, "none.h5", command=(1, "vpic-io", "--read", "--output", "none.h5"))
    programs.right(2, "vpic-io", "--size", 100)
    programs.wrong(1, "vpic-io.h5", "dimensions", command=(2, "vpic-io", "--read", "--size", 99))
    programs.wrong(
        1, "/Step#0/v8", command=(2, "vpic-io", "--read", "--size", 100, "--datasets", 9)
    )


def damage(programs: Programs) -> None:
    """One flipped bit is found, and the element is named."""
    file = programs.scratch / "vorpal-io.h5"
    read = (4, "vorpal-io", "--size", "3x4x5", "--datasets", 2, "--read", "--verify")
    programs.right(4, "vorpal-io", "--size", "3x4x5", "--datasets", 2)
    programs.right(*read)
    # 6 x 8 x 5 doubles: row-major element 100 is (2, 4, 0).
    flip_bit(file, "/field01", 100 * 8)
    programs.wrong(1, "vorpal-io.h5", "/field01", "(2,4,0)", command=read)


CASES = {kernel.name: lambda p, k=kernel: write_and_read(p, k) for kernel in KERNELS} | {
    "flash-io": flash,
    "ior-io": ior,
    "rows": rows,
    "uneven": uneven,
    "random-grids": random_grids,
    "options": options,
    "faults": faults,
    "damage": damage,
}

if __name__ == "__main__":
    main(CASES)
