"""Replay a plan by one process through an HDF5 library that is given as a file.

A program of its own: `python serial_replay.py --library libhdf5.so [options] PLAN`, with the
options and the output of iotune-replay; kernels/replay/PLAN.md is the format of a plan. A wheel
brings a library without headers, so nothing is compiled: calls go through ctypes, and by the
program's global symbols, so that a preload sees them.
"""

from __future__ import annotations

import argparse
import ctypes
import functools
import json
import os
import random
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import median
from urllib.parse import unquote_to_bytes

_TRUNCATE, _READ_WRITE, _READ_ONLY = 2, 1, 0  # H5F_ACC_*
_SET, _OR = 0, 1  # H5S_seloper_t
_APPEND = 6
_PAGED = 1  # H5F_FSPACE_STRATEGY_PAGE
_SCALAR, _OPAQUE = 0, 5  # H5S_SCALAR, H5T_OPAQUE
_SLICE_BYTES = 1 << 24  # of one call that writes what is read later

ID, INT, UINT, SIZE = ctypes.c_int64, ctypes.c_int, ctypes.c_uint, ctypes.c_size_t
TEXT, DIMS, MEMORY = ctypes.c_char_p, ctypes.POINTER(ctypes.c_uint64), ctypes.c_void_p
# Result, arguments. hid_t has 64 bits from HDF5 1.10 on.
CALLS = {
    "H5Fcreate": (ID, TEXT, UINT, ID, ID), "H5Fopen": (ID, TEXT, UINT, ID),
    "H5Fclose": (INT, ID), "H5Pcreate": (ID, ID), "H5Pclose": (INT, ID),
    "H5Pset_create_intermediate_group": (INT, ID, UINT),
    "H5Pset_file_space_strategy": (INT, ID, INT, ctypes.c_bool, ctypes.c_uint64),
    "H5Pset_file_space_page_size": (INT, ID, ctypes.c_uint64),
    "H5Pset_chunk": (INT, ID, INT, DIMS), "H5Pset_deflate": (INT, ID, UINT),
    "H5Dcreate2": (ID, ID, TEXT, ID, ID, ID, ID, ID), "H5Dopen2": (ID, ID, TEXT, ID),
    "H5Dget_space": (ID, ID), "H5Dget_type": (ID, ID), "H5Dclose": (INT, ID),
    "H5Dread": (INT, ID, ID, ID, ID, ID, MEMORY),
    "H5Dwrite": (INT, ID, ID, ID, ID, ID, MEMORY),
    "H5Tcopy": (ID, ID), "H5Tcreate": (ID, INT, SIZE), "H5Tclose": (INT, ID),
    "H5Tget_size": (SIZE, ID),
    "H5Screate": (ID, INT), "H5Screate_simple": (ID, INT, DIMS, DIMS),
    "H5Scopy": (ID, ID), "H5Sclose": (INT, ID), "H5Sselect_all": (INT, ID),
    "H5Sselect_none": (INT, ID), "H5Sget_select_npoints": (ID, ID),
    "H5Sselect_hyperslab": (INT, ID, INT, DIMS, DIMS, DIMS, DIMS),
    "H5Sselect_elements": (INT, ID, INT, SIZE, DIMS),
}  # fmt: skip


class Fault(Exception):
    """A plan or a library that cannot be replayed; its text is one line."""


@dataclass
class Dataset:
    """A dataset statement."""

    path: bytes
    element_bytes: int
    dims: list[int]
    chunk: list[int] = field(default_factory=list)
    deflate: int | None = None


@dataclass
class Transfer:
    """A transfer statement with this process's selection."""

    write: bool
    dataset: int
    repeat: int = 1
    shift: list[int] = field(default_factory=list)
    kind: str = ""  # slab, points, all, none; empty: this process makes no call
    items: list[list[int]] = field(default_factory=list)
    pause_ns: int = 0
    reopens: bool = False  # before each call, where the dataset was used before


@dataclass
class File:
    """A file statement up to its close."""

    path: str
    create: bool
    datasets: dict[int, Dataset] = field(default_factory=dict)
    transfers: list[Transfer] = field(default_factory=list)
    page_bytes: int = 0  # of paged file space, where it is made

    @property
    def writes(self) -> bool:
        """Whether any transfer writes."""
        return any(one.write for one in self.transfers)


def _read_dataset(words: list[str]) -> tuple[int, Dataset]:
    number, count = int(words[1]), int(words[4])
    dims = [int(word) for word in words[5 : 5 + count]]
    one = Dataset(unquote_to_bytes(words[2]), int(words[3]), dims)
    rest = words[5 + count :]
    if rest[:1] == ["chunk"]:
        one.chunk = [int(word) for word in rest[1 : 1 + count]]
        rest = rest[1 + count :]
    if rest[:1] == ["deflate"]:
        one.deflate = int(rest[1])
    return number, one


def _read_transfer(words: list[str]) -> Transfer:
    if words[3] != "independent" and words[3] != "collective":
        raise Fault(f"there is no mode {words[3]}")
    one = Transfer(words[1] == "write", int(words[2]), reopens="reopen" in words)
    if "repeat" in words:
        at = words.index("repeat")
        one.repeat, one.shift = int(words[at + 1]), [int(word) for word in words[at + 2 :]]
    return one


def read_plan(path: str) -> list[File]:
    """The files of a plan for one rank. Raises Fault with the line's number."""
    files: list[File] = []
    with open(path, encoding="utf-8", errors="surrogateescape") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                _read_line(line.split(), files)
            except (IndexError, KeyError, ValueError):
                raise Fault(f"{path}:{number}: not a statement of a plan") from None
            except Fault as fault:
                raise Fault(f"{path}:{number}: {fault}") from None
    return files


def _read_line(words: list[str], files: list[File]) -> None:
    if not words or words[0].startswith("#"):
        return
    name = words[0]
    if name == "iotune-plan" and words[1] not in ("1", "2"):
        raise Fault(f"this replay knows no version {words[1]} of a plan")
    if name == "ranks" and words[1] != "1":
        raise Fault(f"the plan is for {words[1]} ranks, this replay has one")
    if name == "file":
        file = File(os.fsdecode(unquote_to_bytes(words[1])), words[2] == "create")
        if words[3:4] == ["paged"]:
            file.page_bytes = int(words[4])
        files.append(file)
    elif name == "dataset":
        number, dataset = _read_dataset(words)
        files[-1].datasets[number] = dataset
    elif name == "transfer":
        files[-1].transfers.append(_read_transfer(words))
    elif name == "pause":
        files[-1].transfers[-1].pause_ns = int(words[2])
    elif name in ("slab", "points", "all", "none"):
        transfer = files[-1].transfers[-1]
        transfer.kind = name
        numbers = [int(word) for word in words[2:]]
        dims = len(files[-1].datasets[transfer.dataset].dims)
        width = 4 * dims if name == "slab" else dims
        transfer.items += [numbers[at : at + width] for at in range(0, len(numbers), width)]
    elif name not in ("iotune-plan", "ranks", "close", "multi"):
        raise Fault(f"there is no statement {name}")


class Hdf5:
    """The calls of a library, by the names that the whole process sees."""

    def __init__(self, path: str, calls: Mapping[str, tuple[type, ...]] = CALLS):
        try:
            self._library = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
        except OSError as problem:
            raise Fault(str(problem)) from None
        self._library.H5open()
        self._library.H5Eset_auto2.argtypes = (ID, MEMORY, MEMORY)
        self._library.H5Eset_auto2(0, None, None)
        # A handle of the library would be asked past every preload.
        everything = ctypes.CDLL(None)
        self._calls = {}
        for name, (result, *arguments) in calls.items():
            call = getattr(everything, name)
            call.restype, call.argtypes = result, arguments
            self._calls[name] = call

    def __call__(self, name: str, *arguments: object) -> int:
        """Call it. Raises Fault where it fails."""
        result = self.number(name, *arguments)
        if result < 0:
            raise Fault(f"{name} failed")
        return result

    def number(self, name: str, *arguments: object) -> int:
        """Call it; every result is right."""
        return int(self._calls[name](*arguments))

    def id_of(self, variable: str) -> int:
        """A global variable, as H5T_NATIVE_UINT8_g."""
        return int(ID.in_dll(self._library, variable).value)

    def element_type(self, element_bytes: int) -> int:
        """Nothing is converted: memory and file have it."""
        if element_bytes in (1, 2, 4, 8):
            return self("H5Tcopy", self.id_of(f"H5T_NATIVE_UINT{8 * element_bytes}_g"))
        return self("H5Tcreate", _OPAQUE, element_bytes)


def dims_of(numbers: list[int]) -> ctypes.Array[ctypes.c_uint64]:
    """As hsize_t."""
    return (ctypes.c_uint64 * max(1, len(numbers)))(*numbers)


class Replay:
    """One plan through one library."""

    def __init__(self, hdf5: Hdf5, files: list[File]):
        self.call, self.files = hdf5, files
        self._memory = ctypes.create_string_buffer(0)
        self.moved_bytes = 0

    def reserve(self, size: int) -> None:
        """Memory with bytes that do not compress to nothing; its first touch is no I/O."""
        if size > len(self._memory):
            self._memory = ctypes.create_string_buffer(random.Random(1).randbytes(size), size)

    def space_of(self, dataset: Dataset) -> int:
        """A dataspace of its extent."""
        if not dataset.dims:
            return self.call("H5Screate", _SCALAR)
        return self.call("H5Screate_simple", len(dataset.dims), dims_of(dataset.dims), None)

    def select(self, space: int, transfer: Transfer, turn: int, dims: int) -> tuple[int, int]:
        """Select a repetition in `space`; the memory's dataspace, and how many elements."""
        shift = [step * turn for step in transfer.shift] or [0] * dims
        if transfer.kind == "all":
            self.call("H5Sselect_all", space)
            return self.call("H5Scopy", space), self.call("H5Sget_select_npoints", space)
        self.call("H5Sselect_none", space)
        for at, item in enumerate(transfer.items):
            start = [one + step for one, step in zip(item[:dims], shift)]
            if transfer.kind == "points":
                how = _SET if at == 0 else _APPEND
                self.call("H5Sselect_elements", space, how, 1, dims_of(start))
            else:
                parts = [dims_of(item[k * dims : (k + 1) * dims]) for k in (1, 2, 3)]
                how = _SET if at == 0 else _OR
                self.call("H5Sselect_hyperslab", space, how, dims_of(start), *parts)
        count = self.call("H5Sget_select_npoints", space)
        extent = [max(1, count)]
        if transfer.kind == "slab" and len(transfer.items) == 1:
            item = transfer.items[0]
            extent = [a * b for a, b in zip(item[2 * dims : 3 * dims], item[3 * dims :])]
        memory = self.call("H5Screate_simple", len(extent), dims_of(extent), None)
        if count == 0:
            self.call("H5Sselect_none", memory)
        return memory, count

    def measure_transfers(self) -> None:
        """Reserve memory for the largest, and sum up what all move."""
        for file in self.files:
            for transfer in file.transfers:
                dataset = file.datasets[transfer.dataset]
                space = self.space_of(dataset)
                memory, count = self.select(space, transfer, 0, len(dataset.dims))
                self.call("H5Sclose", memory)
                self.call("H5Sclose", space)
                self.reserve(count * dataset.element_bytes)
                self.moved_bytes += count * dataset.element_bytes * transfer.repeat

    def create_dataset(self, file: int, dataset: Dataset) -> int:
        """With its chunks, its compression and its parent groups."""
        call = self.call
        links = call("H5Pcreate", call.id_of("H5P_CLS_LINK_CREATE_ID_g"))
        call("H5Pset_create_intermediate_group", links, 1)
        creation = 0
        if dataset.chunk:
            creation = call("H5Pcreate", call.id_of("H5P_CLS_DATASET_CREATE_ID_g"))
            call("H5Pset_chunk", creation, len(dataset.chunk), dims_of(dataset.chunk))
            if dataset.deflate is not None:
                call("H5Pset_deflate", creation, dataset.deflate)
        kind, space = call.element_type(dataset.element_bytes), self.space_of(dataset)
        made = call("H5Dcreate2", file, dataset.path, kind, space, links, creation, 0)
        call("H5Sclose", space)
        call("H5Tclose", kind)
        call("H5Pclose", links)
        if creation:
            call("H5Pclose", creation)
        return made

    def move(
        self, dataset: int, transfer: Transfer, dims: int, anew: Callable[[], int] | None = None
    ) -> None:
        """All repetitions of a transfer, each through the handle that `anew` gives for it."""
        call = self.call
        name = "H5Dwrite" if transfer.write else "H5Dread"
        kind = call("H5Dget_type", dataset)
        for turn in range(transfer.repeat if transfer.kind else 0):
            if transfer.pause_ns:
                time.sleep(transfer.pause_ns / 1e9)
            if anew is not None:
                dataset = anew()
            space = call("H5Dget_space", dataset)
            memory, _ = self.select(space, transfer, turn, dims)
            call(name, dataset, kind, memory, space, 0, self._memory)
            call("H5Sclose", memory)
            call("H5Sclose", space)
        call("H5Tclose", kind)

    def replay_file(self, file: File) -> None:
        """From its open to its close. A dataset is open from its first transfer to its last."""
        call, path = self.call, os.fsencode(file.path)
        if file.create:
            handle = self.create_file(path, file.page_bytes)
        else:
            handle = call("H5Fopen", path, _READ_WRITE if file.writes else _READ_ONLY, 0)
        last = {one.dataset: at for at, one in enumerate(file.transfers)}
        opened: dict[int, int] = {}
        made: set[int] = set()
        used: set[int] = set()
        for at, transfer in enumerate(file.transfers):
            number = transfer.dataset
            dataset = file.datasets[number]
            if number not in opened:
                if file.create and number not in made:
                    opened[number] = self.create_dataset(handle, dataset)
                    made.add(number)
                else:
                    opened[number] = call("H5Dopen2", handle, dataset.path, 0)
                    self.check_elements(opened[number], dataset)
            anew = None
            if transfer.reopens:
                anew = functools.partial(self.opened_anew, handle, number, opened, used, dataset)
            self.move(opened[number], transfer, len(dataset.dims), anew)
            if transfer.kind:
                used.add(number)
            if last[number] == at:
                call("H5Dclose", opened.pop(number))
        call("H5Fclose", handle)

    def opened_anew(
        self, handle: int, number: int, opened: dict[int, int], used: set[int], dataset: Dataset
    ) -> int:
        """A handle for the next transfer of a dataset: another one, where it was used before."""
        if number in used:
            self.call("H5Dclose", opened[number])
            opened[number] = self.call("H5Dopen2", handle, dataset.path, 0)
        used.add(number)
        return opened[number]

    def create_file(self, path: bytes, page_bytes: int) -> int:
        """In pages, where there are some."""
        if not page_bytes:
            return self.call("H5Fcreate", path, _TRUNCATE, 0, 0)
        listed = self.call("H5Pcreate", self.call.id_of("H5P_CLS_FILE_CREATE_ID_g"))
        self.call("H5Pset_file_space_strategy", listed, _PAGED, False, 1)
        self.call("H5Pset_file_space_page_size", listed, page_bytes)
        made = self.call("H5Fcreate", path, _TRUNCATE, listed, 0)
        self.call("H5Pclose", listed)
        return made

    def check_elements(self, dataset: int, wanted: Dataset) -> None:
        """Memory is reserved for elements of the plan's size."""
        kind = self.call("H5Dget_type", dataset)
        size = self.call("H5Tget_size", kind)
        self.call("H5Tclose", kind)
        if size != wanted.element_bytes:
            raise Fault(f"{os.fsdecode(wanted.path)} has not the elements of the plan")

    def prepare(self, first: File) -> None:
        """Write what is read: all datasets in full, under another name until it is whole."""
        part = first.path + ".preparing"
        handle = self.create_file(os.fsencode(part), first.page_bytes)
        named: set[bytes] = set()
        for file in self.files:
            for dataset in file.datasets.values() if file.path == first.path else ():
                if dataset.path not in named:
                    named.add(dataset.path)
                    made = self.create_dataset(handle, dataset)
                    self.fill(made, dataset)
                    self.call("H5Dclose", made)
        self.call("H5Fclose", handle)
        os.replace(part, first.path)

    def fill(self, made: int, dataset: Dataset) -> None:
        """By slices of whole chunks."""
        if not dataset.dims or 0 in dataset.dims:
            whole = Transfer(True, 0, kind="none" if dataset.dims else "all")
            self.reserve(dataset.element_bytes)
            self.move(made, whole, len(dataset.dims))
            return
        row_bytes = dataset.element_bytes
        for extent in dataset.dims[1:]:
            row_bytes *= extent
        unit = dataset.chunk[0] if dataset.chunk else 1
        rows = max(1, _SLICE_BYTES // (row_bytes * unit + 1)) * unit
        self.reserve(min(rows, dataset.dims[0]) * row_bytes)
        for start in range(0, dataset.dims[0], rows):
            ones = [1] * len(dataset.dims)
            count = [min(rows, dataset.dims[0] - start), *dataset.dims[1:]]
            item = [start, *[0] * (len(dataset.dims) - 1), *ones, *count, *ones]
            self.move(made, Transfer(True, 0, kind="slab", items=[item]), len(dataset.dims))

    def round(self) -> list[float]:
        """Seconds of each file, one after the other."""
        begun: set[str] = set()
        for file in self.files:
            if file.create and file.path not in begun and os.path.exists(file.path):
                os.unlink(file.path)
            begun.add(file.path)
        seconds: list[float] = []
        for file in self.files:
            start = time.perf_counter()
            self.replay_file(file)
            seconds.append(time.perf_counter() - start)
        return seconds


def replay(options: argparse.Namespace) -> dict[str, object]:
    """Replay as `options` say; what iotune-replay prints. Raises Fault and OSError."""
    files = read_plan(options.plan)
    for file in files:
        if options.file_dir:
            file.path = os.path.join(options.file_dir, os.path.basename(file.path))
        elif not options.overwrite and (file.create or file.writes) and os.path.exists(file.path):
            raise Fault(f"{file.path} exists: give --file-dir, or --overwrite to replace it")
    work = Replay(Hdf5(options.library), files)
    made: set[str] = set()
    for file in files:
        if options.prepare and not file.create and file.path not in made:
            if not os.path.exists(file.path):
                work.prepare(file)
        made.add(file.path)
    work.measure_transfers()
    rounds = [work.round() for _ in range(options.repeat)]
    return {
        "bytes": work.moved_bytes * options.repeat,
        "seconds": sum(map(sum, rounds)),
        "files": len(files),
        "rounds": [sum(one) for one in rounds],
        "file_seconds": [median(one[at] for one in rounds) for at in range(len(files))],
    }


def main() -> int:
    """The program."""
    parser = argparse.ArgumentParser(prog="serial_replay")
    parser.add_argument("--library", required=True)
    parser.add_argument("--file-dir", default="")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--prepare", action="store_true")
    parser.add_argument("--overwrite", action="store_true")
    parser.add_argument("plan")
    try:
        print(json.dumps(replay(parser.parse_args())))
    except (Fault, OSError) as problem:
        print(f"iotune-replay: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
