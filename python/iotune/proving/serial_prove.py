"""Files of one process through an HDF5 that is given as a file, under settings, byte by byte.

A program of its own, with the options and the output of kernels/prove/prove_hdf5.c: `python -m
iotune.proving.serial_prove --library libhdf5.so --dir DIR [--seed N] [--set NAME=VALUE]`. Nothing
is compiled and no MPI is needed, so that also the library of a wheel can be asked.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import random
import sys
from dataclasses import dataclass
from pathlib import Path

try:
    import numpy as np
except ImportError as problem:  # iotune itself does without
    sys.exit(f"iotune-prove: to prove settings without MPI needs numpy ({problem})")

from iotune.replay.serial_replay import CALLS, ID, INT, SIZE, UINT, Fault, Hdf5, dims_of

VERSION = 1  # of what is written, in the record of proofs; a number of its own
_TRUNCATE, _READ_WRITE, _READ_ONLY = 2, 1, 0  # H5F_ACC_*
_SET = 0  # H5S_SELECT_SET
_UNDEFINED = 2**64 - 1  # HADDR_UNDEF
_FORMATS = {"v18": 1, "v110": 2, "v112": 3, "v114": 4}  # H5F_libver_t
_FILL_TIMES = {"never": 1, "ifset": 2}  # H5D_fill_time_t
_DATASETS, _ROUNDS, _MOST_SIDE = 3, 3, 300
_BEFORE = -7  # of values that nobody wrote: not compared
_BOUNDS = ctypes.POINTER(INT)
_PAGED = 1  # H5F_FSPACE_STRATEGY_PAGE
_PAGED_READS = 40
# Of H5AC_cache_config_t: its bytes at most, and where its sizes are.
_CACHE_CONFIG_BYTES, _SETS_INITIAL, _INITIAL, _MOST, _LEAST = 2048, 1033, 1040, 1056, 1064
_MORE_CALLS = {
    "H5Pset_alignment": (INT, ID, ctypes.c_uint64, ctypes.c_uint64),
    "H5Pset_meta_block_size": (INT, ID, ctypes.c_uint64),
    "H5Pset_sieve_buf_size": (INT, ID, SIZE),
    "H5Pset_libver_bounds": (INT, ID, INT, INT),
    "H5Pset_page_buffer_size": (INT, ID, SIZE, UINT, UINT),
    "H5Pget_page_buffer_size": (INT, ID, ctypes.POINTER(SIZE), ctypes.POINTER(UINT),
                                ctypes.POINTER(UINT)),
    "H5Fget_access_plist": (ID, ID), "H5Pset_evict_on_close": (INT, ID, ctypes.c_bool),
    "H5Pget_mdc_config": (INT, ID, ctypes.c_void_p),
    "H5Pset_mdc_config": (INT, ID, ctypes.c_void_p),
    "H5Pget_libver_bounds": (INT, ID, _BOUNDS, _BOUNDS),
    "H5Pset_fill_time": (INT, ID, INT), "H5Dget_offset": (ctypes.c_uint64, ID),
    "H5get_libversion": (INT, ctypes.POINTER(UINT), ctypes.POINTER(UINT), ctypes.POINTER(UINT)),
}  # fmt: skip


@dataclass
class _Dataset:
    id: int
    values: np.ndarray  # what it must hold


class Proof:
    """One seed's files."""

    def __init__(self, hdf5: Hdf5, options: argparse.Namespace):
        self.call = hdf5
        self.directory = Path(options.dir)
        self.seed = int(options.seed)
        self.settings = dict(one.split("=", 1) for one in options.set)
        self.spoil = bool(options.spoil)
        self.random = random.Random(self.seed)
        self.compared_bytes = self.wrong_bytes = 0
        self.first_fault = ""

    def version(self) -> str:
        """As MAJOR.MINOR.RELEASE."""
        parts = [UINT() for _ in range(3)]
        self.call("H5get_libversion", *(ctypes.byref(part) for part in parts))
        return ".".join(str(part.value) for part in parts)

    def files(self, count: int) -> None:
        """Write, read and compare so many, two open at a time."""
        for number in range(0, count, 2):
            pair = [self.directory / f"serial-{self.seed}-{number + k}.h5" for k in range(2)]
            try:
                held = self._write_pair(pair)
                for path, datasets in zip(pair, held, strict=True):
                    self._read_paged(path, datasets)
                    self._compare_file(path, datasets)
            finally:
                for path in pair:
                    path.unlink(missing_ok=True)

    def _write_pair(self, pair: list[Path]) -> list[list[_Dataset]]:
        ids = [self._opened(path, creating=True) for path in pair]
        held = [[self._created(id_, f"d{d}") for d in range(_DATASETS)] for id_ in ids]
        for number in range(_ROUNDS):
            for d in range(_DATASETS):
                for k in range(2):
                    self._write(held[k][d], number * _DATASETS + d)
            if number == 1:
                ids[0] = self._again(pair[0], ids[0], held[0])
        ids[1] = self._again(pair[1], ids[1], held[1])
        for k in range(2):
            for one in held[k]:
                self._read(one, pair[k])
            self._close(ids[k], held[k])
        return held

    def _opened(self, path: Path, creating: bool) -> int:
        """With the settings as the tuner makes them."""
        call, given = self.call, self.settings
        listed = call("H5Pcreate", call.id_of("H5P_CLS_FILE_ACCESS_ID_g"))
        if "alignment" in given:
            threshold, alignment = given["alignment"].split(",")
            call("H5Pset_alignment", listed, int(threshold), int(alignment))
        for name in ("meta_block_size", "sieve_buf_size"):
            if name in given:
                call(f"H5Pset_{name}", listed, int(given[name]))
        if "mdc_size" in given:
            self._set_metadata_cache(listed, int(given["mdc_size"]))
        if "evict_on_close" in given:
            call("H5Pset_evict_on_close", listed, given["evict_on_close"] == "enable")
        if "libver_low" in given:
            low, high = INT(), INT()
            call("H5Pget_libver_bounds", listed, ctypes.byref(low), ctypes.byref(high))
            # The tuner sets no format that the library does not know.
            if _FORMATS[given["libver_low"]] <= high.value:
                call("H5Pset_libver_bounds", listed, _FORMATS[given["libver_low"]], high.value)
        encoded = os.fsencode(path)
        if creating:
            made = call("H5Pcreate", call.id_of("H5P_CLS_FILE_CREATE_ID_g"))
            if "page_buffer" in given:
                call("H5Pset_file_space_strategy", made, _PAGED, False, 1)
            opened = call("H5Fcreate", encoded, _TRUNCATE, made, listed)
            call("H5Pclose", made)
        else:
            opened = call("H5Fopen", encoded, _READ_WRITE, listed)
        call("H5Pclose", listed)
        return opened

    def _set_metadata_cache(self, listed: int, size: int) -> None:
        config = ctypes.create_string_buffer(_CACHE_CONFIG_BYTES)
        ctypes.c_int.from_buffer(config).value = 1
        self.call("H5Pget_mdc_config", listed, config)
        initial, most, least = (
            SIZE.from_buffer(config, at) for at in (_INITIAL, _MOST, _LEAST)
        )  # fmt: skip
        ctypes.c_bool.from_buffer(config, _SETS_INITIAL).value = True
        initial.value = size
        most.value, least.value = max(most.value, size), min(least.value, size)
        self.call("H5Pset_mdc_config", listed, config)

    def _read_paged(self, path: Path, datasets: list[_Dataset]) -> None:
        """Parts in any order through the page buffer, which is of files that are only read."""
        call = self.call
        if "page_buffer" not in self.settings:
            return
        listed = call("H5Pcreate", call.id_of("H5P_CLS_FILE_ACCESS_ID_g"))
        call("H5Pset_page_buffer_size", listed, int(self.settings["page_buffer"]), 0, 0)
        file = call("H5Fopen", os.fsencode(path), _READ_ONLY, listed)
        call("H5Pclose", listed)
        listed = call("H5Fget_access_plist", file)
        held, least = SIZE(), [UINT(), UINT()]
        call("H5Pget_page_buffer_size", listed, ctypes.byref(held), *map(ctypes.byref, least))
        call("H5Pclose", listed)
        if held.value == 0:
            raise Fault(f"{path.name} got no page buffer")
        for d, one in enumerate(datasets):
            one.id = call("H5Dopen2", file, f"d{d}".encode(), 0)
        for _ in range(_PAGED_READS):
            self._read(self.random.choice(datasets), path)
        self._close(file, datasets)

    def _created(self, file: int, name: str) -> _Dataset:
        call = self.call
        sides = [self.random.randint(1, _MOST_SIDE) for _ in range(2)]
        chunk = (
            [self.random.randint(1, side) for side in sides] if self.random.random() < 0.5 else []
        )
        listed = call("H5Pcreate", call.id_of("H5P_CLS_DATASET_CREATE_ID_g"))
        # As the tuner: of datasets without a layout of the program's.
        if "chunk" in self.settings and not chunk:
            asked = [int(side) for side in self.settings["chunk"].split(",")]
            chunk = [min(one, side) for one, side in zip(asked, sides, strict=True)]
            if "fill_time" in self.settings:
                call("H5Pset_fill_time", listed, _FILL_TIMES[self.settings["fill_time"]])
        if chunk:
            call("H5Pset_chunk", listed, 2, dims_of(chunk))
        space = call("H5Screate_simple", 2, dims_of(sides), None)
        kind = call.id_of("H5T_NATIVE_INT_g")
        made = call("H5Dcreate2", file, name.encode(), kind, space, 0, listed, 0)
        call("H5Sclose", space)
        call("H5Pclose", listed)
        return _Dataset(made, np.full(sides, _BEFORE, np.intc))

    def _selected(self, one: _Dataset) -> tuple[tuple[slice, slice], int, int]:
        """A drawn part of a dataset, with its dataspace and the memory's."""
        slices, starts, strides, counts = [], [], [], []
        for side in one.values.shape:
            start, stride = self.random.randrange(side), self.random.choice((1, 1, 2, 5))
            count = self.random.randint(1, (side - start - 1) // stride + 1)
            slices.append(slice(start, start + (count - 1) * stride + 1, stride))
            starts.append(start)
            strides.append(stride)
            counts.append(count)
        space = self.call("H5Dget_space", one.id)
        self.call("H5Sselect_hyperslab", space, _SET, dims_of(starts), dims_of(strides),
                  dims_of(counts), None)  # fmt: skip
        memory = self.call("H5Screate_simple", 1, dims_of([counts[0] * counts[1]]), None)
        return (slices[0], slices[1]), space, memory

    def _transfer(
        self, call: str, one: _Dataset, space: int, memory: int, data: np.ndarray
    ) -> None:
        kind = self.call.id_of("H5T_NATIVE_INT_g")
        self.call(call, one.id, kind, memory, space, 0, data.ctypes.data)
        self.call("H5Sclose", space)
        self.call("H5Sclose", memory)

    def _write(self, one: _Dataset, number: int) -> None:
        part, space, memory = self._selected(one)
        shape = one.values[part].shape
        first = self.seed * 7919 + number * 100003
        data = np.arange(first, first + shape[0] * shape[1], dtype=np.intc).reshape(shape)
        one.values[part] = data
        self._transfer("H5Dwrite", one, space, memory, data)

    def _read(self, one: _Dataset, path: Path) -> None:
        part, space, memory = self._selected(one)
        got = np.zeros(one.values[part].shape, np.intc)
        self._transfer("H5Dread", one, space, memory, got)
        self._compare(f"as read of {path.name}", got, one.values[part])

    def _close(self, file: int, datasets: list[_Dataset]) -> None:
        for one in datasets:
            self.call("H5Dclose", one.id)
        self.call("H5Fclose", file)

    def _again(self, path: Path, file: int, datasets: list[_Dataset]) -> int:
        self._close(file, datasets)
        opened = self._opened(path, creating=False)
        for d, one in enumerate(datasets):
            one.id = self.call("H5Dopen2", opened, f"d{d}".encode(), 0)
        return opened

    def _compare_file(self, path: Path, datasets: list[_Dataset]) -> None:
        """By the library without settings, and contiguous ones by what stands in the file."""
        file = self.call("H5Fopen", os.fsencode(path), _READ_ONLY, 0)
        for d, one in enumerate(datasets):
            dataset = self.call("H5Dopen2", file, f"d{d}".encode(), 0)
            place = self.call.number("H5Dget_offset", dataset)
            if place != _UNDEFINED:
                self._spoil(path, place, one)
            got = np.zeros(one.values.shape, np.intc)
            kind = self.call.id_of("H5T_NATIVE_INT_g")
            self.call("H5Dread", dataset, kind, 0, 0, 0, got.ctypes.data)
            self._compare(f"{path.name} read again", got, one.values)
            if place != _UNDEFINED:
                there = path.read_bytes()[place : place + one.values.nbytes]
                there = there.ljust(one.values.nbytes, b"\0")
                on_disk = np.frombuffer(there, np.intc).reshape(one.values.shape)
                self._compare(f"{path.name} on disk", on_disk, one.values)
            self.call("H5Dclose", dataset)
        self.call("H5Fclose", file)

    def _spoil(self, path: Path, place: int, one: _Dataset) -> None:
        """One value that would be compared, where a test wants to see it found."""
        written = np.flatnonzero(one.values.ravel() != _BEFORE)
        if not self.spoil or len(written) == 0:
            return
        at = int(written[0])
        with path.open("r+b") as file:
            file.seek(place + at * one.values.itemsize)
            file.write((one.values.ravel()[at : at + 1] ^ 1).tobytes())
        self.spoil = False

    def _compare(self, what: str, got: np.ndarray, expected: np.ndarray) -> None:
        known = expected != _BEFORE
        wrong = np.flatnonzero((known & (got != expected)).ravel())
        self.compared_bytes += int(known.sum()) * expected.itemsize
        self.wrong_bytes += len(wrong) * expected.itemsize
        if len(wrong) and not self.first_fault:
            at = int(wrong[0])
            self.first_fault = (
                f"{what}: value {at} is {got.ravel()[at]} instead of {expected.ravel()[at]}"
            )


def main() -> int:
    """The program."""
    parser = argparse.ArgumentParser(prog="serial_prove")
    parser.add_argument("--library", required=True)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--files", type=int, default=4)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--spoil", action="store_true")
    options = parser.parse_args()
    try:
        proof = Proof(Hdf5(options.library, {**CALLS, **_MORE_CALLS}), options)
        proof.files(options.files)
        said = {
            "prover": VERSION, "ranks": 1, "nodes": 1, "hdf5": proof.version(), "io": "",
            "seeds": 1,
            "compared_bytes": proof.compared_bytes, "wrong_bytes": proof.wrong_bytes,
            "first_fault": proof.first_fault,
        }  # fmt: skip
    except (Fault, OSError) as problem:
        print(f"iotune-prove: {problem}", file=sys.stderr)
        return 1
    print(json.dumps(said))
    return 0


if __name__ == "__main__":
    sys.exit(main())
