"""Compiles a set of the replayer's programs for an MPI and an HDF5, whole or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from iotune import __version__
from iotune.errors import Error
from iotune.launch.preload import YIELD_LIBRARY
from iotune.locations import cache_dir, make_private
from iotune.prebuilt.lookup import (
    Asked,
    Place,
    Versions,
    loaded_versions,
    own_directory,
    verdict_of,
)
from iotune.prebuilt.stored import NOTE, Prebuilt, checked, read_note, write_note
from iotune.replay import programs
from iotune.replay.mpi import (
    Mpi,
    find_mpi,
    hdf5_flags,
    hdf5_flags_of,
    launcher_version,
    mpi_of_compiler,
)


@dataclass(frozen=True)
class Wanted:
    """What a site asks for; "" is what a replay here would be compiled with."""

    compiler: str = ""  # an MPI's wrapper, by name or path
    hdf5: str = ""  # a root with a slash in it, or pkg-config's name
    with_hdf5: bool = True


@dataclass(frozen=True)
class Built:
    """A set, and whether it was made now or lay there already."""

    prebuilt: Prebuilt
    is_new: bool


def build(directory: Path, wanted: Wanted) -> Built:
    """Compile a set into a folder of its own in `directory`, which is made where it is missing.

    One of the same MPI, HDF5 and sources is kept if it fits this node, else replaced. Raises Error
    for what is missing (an MPI, its compiler, a parallel HDF5), and for a directory in which no
    user would trust it.
    """
    mpi = _mpi_of(wanted)
    libraries = _hdf5_words(mpi, wanted) if wanted.with_hdf5 else []
    _make(directory)
    with _new_folder(directory) as fresh:
        made = _compiled(mpi, wanted, libraries, fresh)
        target = directory / _name_of(made)
        kept = _fitting(target, made, directory)
        if kept is not None:
            return Built(kept, False)
        write_note(made, fresh)
        fresh.chmod(0o755)
        _move(fresh, target)
    return Built(read_note(target, directory), True)


def _mpi_of(wanted: Wanted) -> Mpi:
    compiler = wanted.compiler or os.environ.get("IOTUNE_MPICC", "")
    if compiler:
        return mpi_of_compiler(compiler)
    try:
        mpi = find_mpi()
    except Error as problem:
        # With its compiler alone it can be built, and where runs are no jobs there is no launcher.
        if os.environ.get("IOTUNE_MPIRUN") or shutil.which("mpicc") is None:
            raise Error(f"{problem}, or its compiler by --mpicc") from None
        return mpi_of_compiler("mpicc")
    if mpi.compiler is None:
        raise Error(
            f"there is no mpicc beside {mpi.launcher}: install the MPI's development files, or "
            "name its compiler by --mpicc"
        )
    return mpi


def _hdf5_words(mpi: Mpi, wanted: Wanted) -> list[str]:
    try:
        return hdf5_flags_of(wanted.hdf5) if wanted.hdf5 else hdf5_flags(mpi)
    except Error as problem:
        raise Error(
            f"{problem}; --hdf5 names one, --without-hdf5 leaves out what needs it"
        ) from None


def _make(directory: Path) -> None:
    """Make it readable by all, whatever the umask, and check that its users may trust it."""
    if directory == own_directory():
        make_private(cache_dir())
    missing = [one for one in (directory, *directory.parents) if not one.exists()]
    try:
        for one in reversed(missing):
            one.mkdir(mode=0o755, exist_ok=True)
            one.chmod(0o755)
    except OSError as problem:
        raise Error(f"cannot create {problem.filename}: {problem.strerror}") from None
    if not directory.is_dir():
        raise Error(f"{directory} is no directory")
    _, why = checked(directory, directory)
    if why:
        raise Error(f"iotune would not use what lies in {directory}: {why}")


@contextlib.contextmanager
def _new_folder(directory: Path) -> Iterator[Path]:
    """A hidden folder in `directory`, which is gone afterwards unless it was renamed."""
    folder = directory / f".building-{secrets.token_hex(6)}"
    try:
        folder.mkdir(mode=0o700)
    except OSError as problem:
        raise Error(f"nothing can be written in {directory}: {problem.strerror}") from None
    try:
        yield folder
    except OSError as problem:
        raise Error(f"{problem.filename or directory}: {problem.strerror}") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _compiled(mpi: Mpi, wanted: Wanted, libraries: list[str], folder: Path) -> Prebuilt:
    assert mpi.compiler is not None
    names = [one for one in programs.PROGRAMS if wanted.with_hdf5 or one not in programs.OF_HDF5]
    for name in names:
        sources = programs.sources_of(name)
        words = libraries if name in programs.OF_HDF5 else list(programs.WITHOUT_HDF5)
        programs.compile_program(
            name, mpi.compiler, programs.flags_of(sources), sources, words, folder / name
        )
        (folder / name).chmod(0o755)
    # What needs MPI alone tells the compiler's own MPI.
    loads = _loads(folder, programs.CALLS, mpi.compiler)
    for name in names:
        found = _loads(folder, name, mpi.compiler)
        if name in programs.OF_HDF5:
            _demand_own_hdf5(name, mpi.compiler, loads, found)
    if wanted.with_hdf5:
        loads = _loads(folder, programs.REPLAY, mpi.compiler)
    return Prebuilt(
        folder=folder, mpi=loads.mpi, mpi_library=loads.mpi_library,
        launcher=launcher_version(mpi.launcher) if mpi.launcher else "",
        hdf5=loads.hdf5, hdf5_library=loads.hdf5_library,
        hdf5_package=_package(mpi, wanted), machine=platform.machine(),
        sources=programs.sources_digest(), iotune=__version__, compiler=mpi.compiler,
        built_at=time.time(), programs=(*names, *_shim(folder)),
    )  # fmt: skip


def _loads(folder: Path, name: str, compiler: str) -> Versions:
    """What a program of the set loads here. Raises Error where it cannot be said of it."""
    found = loaded_versions(str(folder / name))
    if found.fault:
        raise Error(f"what {compiler} made does not start here, {found.fault}")
    if not found.mpi:
        raise Error(f"what {compiler} made loads no MPI: it is no compiler of an MPI, or a static "
                    "one; --mpicc names another")  # fmt: skip
    return found


def _demand_own_hdf5(name: str, compiler: str, own: Versions, found: Versions) -> None:
    """Raise Error where a program with HDF5 loads another MPI, or an HDF5 that is unknown."""
    if found.others or found.mpi != own.mpi:
        both = " and ".join(dict.fromkeys((own.mpi, found.mpi, *found.others)))
        raise Error(f"the HDF5 is of another MPI than {compiler}: {name} would mix {both}; --hdf5 "
                    "names that of the same")  # fmt: skip
    if not found.hdf5:
        raise Error(f"{name} has a static HDF5 inside: which runs it is for cannot be seen; "
                    "--hdf5 names a shared one")  # fmt: skip


def _package(mpi: Mpi, wanted: Wanted) -> str:
    """pkg-config's name that was asked for."""
    if not wanted.with_hdf5 or "/" in wanted.hdf5:
        return ""
    return wanted.hdf5 or os.environ.get("IOTUNE_HDF5_PKG", "")


def _shim(folder: Path) -> list[str]:
    """libiotune-yield.so, which is of no MPI: by the system's compiler, or not at all."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    source = programs.shim_source()
    if compiler is None or source is None:
        return []
    into = folder / YIELD_LIBRARY
    try:
        programs.compile_program(
            YIELD_LIBRARY, compiler, programs.SHIM_FLAGS, [source], programs.SHIM_LIBRARIES, into
        )
    except Error:
        return []
    into.chmod(0o755)
    return [YIELD_LIBRARY]


def _name_of(one: Prebuilt) -> str:
    """A folder's name that says what it is for, and is another one for other libraries."""
    words = one.mpi.lower().replace("open mpi v", "openmpi-")
    of_mpi = re.sub(r"[^a-z0-9.]+", "-", words).strip("-")[:40]
    of_hdf5 = f"hdf5-{one.hdf5}" if one.hdf5 else "without-hdf5"
    reported = "\0".join((
        one.sources, os.path.realpath(one.mpi_library), os.path.realpath(one.hdf5_library)
    ))  # fmt: skip
    return f"{of_mpi}-{of_hdf5}-{one.machine}-{hashlib.sha256(reported.encode()).hexdigest()[:12]}"


def _fitting(target: Path, made: Prebuilt, directory: Path) -> Prebuilt | None:
    """What lies in the place of the new set, if it is as good."""
    if not (target / NOTE).is_file():
        return None
    try:
        there = read_note(target, None)
    except Error:
        return None
    asked = Asked(made.open_mpi, made.launcher, made.hdf5)
    same = set(made.programs) == set(there.programs) and made.hdf5_package == there.hdf5_package
    fits = all(
        verdict_of(there, Place(directory, ""), asked, name).fits
        for name in there.programs
        if name in programs.PROGRAMS
    )
    return there if same and fits else None


def _move(fresh: Path, target: Path) -> None:
    """Put the new set in its place; programs of the old one that run go on running."""
    if os.path.lexists(target):
        old = target.with_name(f".old-{secrets.token_hex(6)}")
        os.rename(target, old)
        try:
            os.rename(fresh, target)
        except OSError:
            os.rename(old, target)
            raise
        shutil.rmtree(old, ignore_errors=True)
        return
    os.rename(fresh, target)
