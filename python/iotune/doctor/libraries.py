"""What a program loads, which HDF5 and which MPI that is. Nothing of the program is run for it."""

from __future__ import annotations

import mmap
import os
import re
import stat
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from iotune import core
from iotune.errors import Error
from iotune.launch.elf import HDF5_MARK, read_executable, read_symbols

_SECONDS = 30
# "libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f…)", or the path alone.
_FOUND = re.compile(r"^\s*(?:(\S+) => )?(/.*) \(0x[0-9a-f]+\)$")
# What ends the list; other linkers, and ldd, go on with "=> not found".
_MISSING = re.compile(r"(\S+): cannot open shared object file|^\s*(\S+) => not found")
# A child asks, for a library of MPI starts threads and handlers as soon as it is loaded.
_ASK_MPI = """
import ctypes, sys
text, length = ctypes.create_string_buffer(16384), ctypes.c_int(0)
ctypes.CDLL(sys.argv[1]).MPI_Get_library_version(text, ctypes.byref(length))
sys.stdout.buffer.write(text.value)
"""


@dataclass(frozen=True)
class Loaded:
    """The dynamic linker's answer."""

    paths: tuple[str, ...]  # in its order
    missing: tuple[str, ...] = ()
    fault: str = ""  # why it refuses, in its words


@dataclass(frozen=True)
class Hdf5:
    """A libhdf5, alone or inside of a program."""

    path: str
    version: str  # "1.10.8"; "": its file does not tell
    parallel: bool


@dataclass(frozen=True)
class MpiLibrary:
    """A library that has MPI."""

    path: str
    version: str  # as traces name it ("MPICH 4.0.2"); "": one that is left alone
    abi: str  # MPICH, Open MPI or standard
    said: str  # the first line of what it says of itself


def loaded_by(file: str, preload: str = "", environment: Mapping[str, str] | None = None) -> Loaded:
    """What the dynamic linker loads for a program or a library, `preload` in front.

    The program is not run: its own linker lists if that is root's, for the file may name any
    program as its linker; else this Python's. Raises Error where that cannot be asked.
    """
    elf = read_executable(file)
    linker = (_of_root(elf.interpreter) if elf is not None else "") or _own_linker()
    asked = dict(os.environ if environment is None else environment)
    asked.pop("LD_PRELOAD", None)
    if preload:
        asked["LD_PRELOAD"] = preload
    try:
        done = subprocess.run(
            [linker, "--list", file], env=asked, capture_output=True, text=True,
            errors="replace", timeout=_SECONDS, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise Error(f"{linker} --list {file}: {problem}") from None
    lines = done.stdout.splitlines()
    found = [os.path.normpath(match[2]) for match in map(_FOUND.match, lines) if match]
    faults = [line for line in done.stderr.splitlines() if line.strip()]
    missing = [match[1] or match[2] for match in map(_MISSING.search, lines + faults) if match]
    fault = faults[0] if faults else "" if done.returncode == 0 else f"status {done.returncode}"
    return Loaded(tuple(found), tuple(dict.fromkeys(missing)), fault)


def _of_root(linker: str) -> str:
    """Where a linker really lies if root alone can put one there, else ""."""
    if not os.path.isabs(linker):
        return ""
    real = Path(os.path.realpath(linker))
    try:
        if not stat.S_ISREG(real.stat().st_mode):
            return ""
        for path in (real, *real.parents):
            found = path.stat()
            sticky = stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX
            others = stat.S_IWOTH | (stat.S_IWGRP if found.st_gid else 0)
            if found.st_uid != 0 or (found.st_mode & others and not sticky):
                return ""
    except OSError:
        return ""
    return str(real)


def _own_linker() -> str:
    elf = read_executable(os.path.realpath(sys.executable))
    if elf is None or not elf.interpreter:
        raise Error(f"{sys.executable} has no dynamic linker to ask")
    return elf.interpreter


def hdf5_among(paths: Iterable[str]) -> list[Hdf5]:
    """Libraries that have HDF5, not those that wrap it (C++, Fortran, high-level)."""
    found = []
    for path in paths:
        if "hdf5" not in os.path.basename(path).lower():
            continue
        symbols = read_symbols(path, ("H5Fcreate", "H5Pset_fapl_mpio"))
        if symbols is not None and "H5Fcreate" in symbols.defined:
            version, _ = hdf5_settings(path)
            found.append(Hdf5(path, version, "H5Pset_fapl_mpio" in symbols.defined))
    return found


def hdf5_inside(program: str) -> Hdf5:
    """The static libhdf5 of a program."""
    version, parallel = hdf5_settings(program)
    symbols = read_symbols(program, ("H5Pset_fapl_mpio",))
    has = symbols is not None and "H5Pset_fapl_mpio" in symbols.defined
    return Hdf5(program, version, parallel or has)


def hdf5_settings(path: str) -> tuple[str, bool]:
    """The version and whether it is parallel, of the summary that libhdf5 has within; "" if none.

    The text has been there since 1.8; its words are yes and no, of CMake's builds ON and OFF.
    """
    try:
        with Path(path).open("rb") as file:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                at = data.find(HDF5_MARK)
                text = data[at : at + 8192].split(b"\0")[0].decode(errors="replace")
    except (OSError, ValueError):
        return "", False
    if at < 0:
        return "", False
    version = re.search(r"HDF5 Version:\s*(\d+\.\d+\.\d+)", text)
    parallel = re.search(r"Parallel HDF5:\s*(\w+)", text)
    return version[1] if version else "", bool(parallel and parallel[1].lower() in ("yes", "on"))


def mpi_among(paths: Iterable[str]) -> list[MpiLibrary]:
    """Libraries that have MPI itself, and what each says of itself."""
    found = []
    for path in paths:
        name = os.path.basename(path)
        if "mpi" not in name.lower():
            continue
        symbols = read_symbols(path, ("MPI_Init", "MPI_Get_library_version", "ompi_mpi_comm_world"))
        if symbols is not None and "MPI_Init" in symbols.defined:
            found.append(_asked(path, "ompi_mpi_comm_world" in symbols.defined))
    return found


def _asked(path: str, has_open_mpi_objects: bool) -> MpiLibrary:
    elf = read_executable(path)
    soname = elf.soname if elf is not None else ""
    kept = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _ASK_MPI, path], env=kept, capture_output=True,
            text=True, errors="replace", timeout=_SECONDS, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        said = done.stdout if done.returncode == 0 else ""
    except (OSError, subprocess.TimeoutExpired):
        said = ""
    known = core.identify_mpi(said, soname or os.path.basename(path), has_open_mpi_objects)
    first = " ".join(said.splitlines()[0].split()) if said.strip() else ""
    return MpiLibrary(path, known["version"], known["abi"], first)
