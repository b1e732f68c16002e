"""HDF5's own calls judge what is found without them.

Kernels run twice: with their HDF5 recorded, and linked with a static HDF5, of which iotune sees
MPI-IO and POSIX alone, as of a log. A dataset is found where an inferred array of the file puts the
same bytes of each rank in the same order: under its descriptor, or another one for these bytes.
Equal datasets behind each other may be one array. Of collective transfers a log of POSIX alone has
the aggregators: that they may be these is demanded there, and an array that holds the dataset.

netCDF-4 and h5py link a shared HDF5: they run once, and POSIX below it is the log. Chunked datasets
are no arrays of the file, and are not looked for.
"""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench import paired
from support import preloaded
from support.repository import IOTUNE, ROOT

_LIBRARIES = ("-lz", "-lsz", "-laec", "-lcrypto", "-lcurl", "-ldl", "-lm")
_SHARED = ("hdf5_failure", "kernel_dataset", "kernel_grid", "kernel_io", "kernel_options",
           "kernel_run", "run_failure")  # fmt: skip
# Smaller datasets are book-keeping.
_LEAST_BYTES = 512
_MOST_EQUAL = 64
_KERNELS: tuple[tuple[str, tuple[object, ...], int], ...] = (
    ("vpic-io", ("--particles", 20000), 4),
    ("vpic-io", ("--particles", 1234, "--datasets", 1), 3),
    ("vorpal-io", ("--size", "12x10x8", "--datasets", 4), 8),
    ("resemble-vorpal-io", ("--size", "8x6x10", "--datasets", 2), 8),
    ("gcrm-io", (), 4),
    ("flash-io", ("--size", "5x4x4x4"), 2),
    ("flash-io", ("--datasets", 3), 4),
    ("column-io", ("--size", "100x64"), 2),
    ("cyclic-io", ("--size", "1000"), 2),
    ("cyclic-io", ("--size", "30x20", "--grid", "2x2"), 4),
    ("block-cyclic-io", ("--size", 512, "--block", 128), 4),
)

_ZOO = ROOT / "tests" / "zoo" / "programs"
_PYTHON = "/usr/bin/python3"  # Debian's packages are for this one
_OPEN_MPI = ("mpirun.openmpi", "--allow-run-as-root", "--oversubscribe")
_MPI_OF_H5PY = {"H5PY_ALWAYS_USE_MPI": "1"}

Runs = list[tuple[int, int]]  # of an array's bytes in order: the rank that has them, how many
Datasets = list[dict[str, Any]]  # as `iotune show --json` has them


@dataclass
class Judged:
    """Datasets that were looked for without HDF5's calls."""

    found: int = 0
    wanted: int = 0

    def add(self, is_found: bool) -> None:
        self.wanted += 1
        self.found += is_found


def owners(one: dict[str, Any]) -> Runs | None:
    """Of a dataset as its descriptor says; None where that gives no bytes."""
    said = re.fullmatch(r"<\d+D,\((.*)\),\(([\d,]+)\)>", one["descriptor"]["text"])
    dims, grid = one["dataset_dims"], one["process_grid"]
    if said is None or not dims or any(one["halo"]):
        return None
    names, counts = said[1].split(","), [int(count) for count in said[2].split(",")]
    if not len(names) == len(counts) == len(dims) == len(grid):
        return None
    owner = np.zeros([1] * len(dims), dtype=np.int64)
    for axis, name in enumerate(names):
        place = _places(name, counts[axis], dims[axis], grid[axis])
        if place is None:
            return None
        shape = [1] * len(dims)
        shape[axis] = dims[axis]
        owner = owner * grid[axis] + place.reshape(shape)
    flat = owner.ravel()
    starts = np.concatenate(([0], np.flatnonzero(np.diff(flat)) + 1))
    lengths = np.diff(np.concatenate((starts, [flat.size]))) * int(one["element_bytes"])
    return list(zip(flat[starts].tolist(), lengths.tolist()))


def _places(name: str, count: int, extent: int, parts: int) -> Any:
    """Along one dimension: the part that has each place; None for a name that says nothing."""
    at = np.arange(extent)
    cyclic = re.fullmatch(r"CYCLIC(?:\((\d+)\))?", name)
    if cyclic:
        return at // int(cyclic[1] or 1) % parts
    if name == "BLOCK":
        return np.minimum(at // count, parts - 1)
    return np.zeros(extent, dtype=np.int64) if name == "*" else None


def repeated(runs: Runs, times: int) -> Runs:
    """The same array so many times, one behind the other."""
    found: Runs = []
    for rank, length in runs * times:
        if found and found[-1][0] == rank:
            length += found.pop()[1]
        found.append((rank, length))
    return found


def is_found(wanted: dict[str, Any], found: Datasets) -> bool:
    """Whether one of the inferred arrays is the dataset, or equal ones behind each other."""
    runs = owners(wanted)
    if runs is None:
        return False
    for one in found:
        own = owners(one) if one["write"] == wanted["write"] else None
        if own is None:
            continue
        times = sum(length for _, length in own) // sum(length for _, length in runs)
        if 1 <= times <= _MOST_EQUAL and repeated(runs, times) == own:
            return True
    return False


def is_said(size_bytes: int, found: Datasets) -> bool:
    """Whether an array of aggregators is said that may hold so many bytes."""
    said = [
        re.search(r"by \d+ aggregators?, as <1D,\(\*\),\((\d+)\)>", one["ambiguity"])
        for one in found
    ]
    return any(one is not None and int(one[1]) >= size_bytes for one in said)


_Sums = dict[str, Judged]


class _Runs:
    """Kernels, linked with a shared and with a static HDF5, in a folder that is made for them."""

    def __init__(self, build: Path, static: Path, folder: Path):
        self._build, self._static, self._folder = build, static, folder

    def of_others(self) -> list[tuple[str, list[object]]]:
        """Programs of netCDF-4 and h5py with Open MPI, those that are installed."""
        rows = self._folder / "netcdf_rows"
        compiled: list[object] = ["mpicc.openmpi", "-O1", "-w", "-o", rows, _ZOO / "netcdf_rows.c",
                    "-I/usr/lib/x86_64-linux-gnu/netcdf/mpi/include", "-lnetcdf_mpi"]  # fmt: skip
        found: list[tuple[str, list[object]]] = []
        programs: tuple[tuple[str, list[object], list[object]], ...] = (
            ("netCDF-4", compiled, [rows]),
            ("h5py", [_PYTHON, "-c", "import h5py, mpi4py; assert h5py.get_config().mpi"],
             [_PYTHON, _ZOO / "mpi_rows.py", 2]),
        )  # fmt: skip
        for name, needs, words in programs:
            try:
                _right(needs, _MPI_OF_H5PY)
            except (OSError, paired.ArmFailed):
                print(f"logs: no {name} with Open MPI: NOT VERIFIED", file=sys.stderr)
            else:
                found.append((name, words))
        return found

    def program(self, kernel: str) -> Path:
        """The kernel with a static HDF5. Raises ArmFailed where it cannot be linked."""
        target = self._folder / kernel
        if not target.exists():
            sources = [ROOT / "kernels" / "papers" / f"{kernel.replace('-', '_')}.c"]
            sources += [ROOT / "kernels" / "shared" / f"{name}.c" for name in _SHARED]
            words = ["mpicc.mpich", "-O1", "-w", "-o", target, *sources,
                     "-I", ROOT / "kernels" / "shared", "-I", "/usr/include/hdf5/mpich",
                     self._static, *_LIBRARIES]  # fmt: skip
            _right(words, {})
        return target

    def recorded(
        self,
        program: Path,
        words: Sequence[object],
        ranks: int,
        trace: Path,
        mpirun: Sequence[str] = ("mpirun.mpich",),
    ) -> None:
        """Run it under recording, in the same place each time: paths are compared."""
        place = self._folder / "run"
        place.mkdir(exist_ok=True)
        libraries = [self._build / "lib" / name for name in ("libiotune.so", "libiotune-yield.so")]
        environment = {
            **preloaded.variables(*libraries), "IOTUNE_MODE": "record", "IOTUNE_TRACE": str(trace),
        }  # fmt: skip
        trace.unlink(missing_ok=True)
        _right([*mpirun, "-n", ranks, program, *words], environment | _MPI_OF_H5PY, place)

    def by_posix(self, trace: Path) -> dict[str, Datasets]:
        """Files of the trace as a log has them that knows calls of POSIX alone."""
        log, imported = self._folder / "posix.csv", self._folder / "posix.iotrace"
        _right([IOTUNE, "export", trace, "--layer", "posix", "-o", log, "--force"], {})
        _right([IOTUNE, "import", log, "-o", imported, "--force"], {})
        return self.files(imported)

    def files(self, trace: Path) -> dict[str, Datasets]:
        """A trace's datasets by the path of their file."""
        shown = json.loads(_right([IOTUNE, "show", "--json", trace], {}))
        return {one["path"]: one["datasets"] for one in shown["files"]}


def _right(words: Sequence[object], variables: dict[str, str], place: Path | None = None) -> str:
    done = subprocess.run(
        [str(word) for word in words], env=preloaded.plain_environment() | variables, cwd=place,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise paired.ArmFailed(f"{words[0]} ended with {done.returncode}: {done.stderr[-500:]}")
    return done.stdout


def _judge_datasets(
    what: str, way: str, wanted: dict[str, Datasets], found: dict[str, Datasets], sums: _Sums
) -> None:
    """Look for all datasets in what a log of one layer has; `way`: its words in the table."""
    for path, datasets in wanted.items():
        for one in datasets:
            size_bytes = math.prod(one["dataset_dims"]) * one["element_bytes"]
            if size_bytes < _LEAST_BYTES or one["chunk"]:
                continue
            there = found.get(path, [])
            at_posix = way.endswith("POSIX") and one["mode"] == "collective"
            good = is_said(size_bytes, there) if at_posix else is_found(one, there)
            sums.setdefault(f"{one['mode']}, {way}", Judged()).add(good)
            if not good:
                print(f"  not found: {what}, by {way}: {one['dataset']} "
                      f"{one['descriptor']['text']}")  # fmt: skip


def _judge(runs: _Runs, build: Path, folder: Path, sums: _Sums) -> None:
    own, log = folder / "own.iotrace", folder / "log.iotrace"
    for kernel, words, ranks in _KERNELS:
        for mode in ("independent", "collective"):
            more = [*words, f"--{mode}"]
            runs.recorded(build / "bin" / kernel, more, ranks, own)
            runs.recorded(runs.program(kernel), more, ranks, log)
            wanted, what = runs.files(own), f"{kernel} {' '.join(map(str, more))}"
            _judge_datasets(what, "MPI-IO", wanted, runs.files(log), sums)
            _judge_datasets(what, "POSIX", wanted, runs.by_posix(log), sums)
    for name, command in runs.of_others():
        runs.recorded(Path(str(command[0])), command[1:], 3, own, _OPEN_MPI)
        _judge_datasets(name, "netCDF-4 and h5py, POSIX", runs.files(own), runs.by_posix(own), sums)


def measure(table: paired.Table, build: Path) -> None:
    """Add a row for each way that transfers went, and what was kept of them."""
    static = Path("/usr/lib/x86_64-linux-gnu/hdf5/mpich/libhdf5.a")
    if not static.exists():
        print("logs: no static HDF5 of MPICH: NOT VERIFIED: HDF5 as judge", file=sys.stderr)
        return
    sums: _Sums = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        _judge(_Runs(build, static, folder), build, folder, sums)
    for name, one in sums.items():
        of = "" if "netCDF" in name else " of kernels"
        table.add(f"{one.wanted} datasets{of}, {name} alone: found, %",
                  100 * one.found / one.wanted, paired.at_least(90, "%"))  # fmt: skip
