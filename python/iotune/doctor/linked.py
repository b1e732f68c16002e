"""Checks of what a program is linked with: HDF5, MPI and its MPI-IO, the launcher, odd imports."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence

from iotune.doctor.check import FAILS, PARTLY, UNKNOWN, WORKS, Check
from iotune.doctor.examined import Examined
from iotune.doctor.libraries import Hdf5, MpiLibrary
from iotune.doctor.scripts import is_python
from iotune.errors import Error
from iotune.launch.elf import read_symbols
from iotune.proving.prover import mpi_io_of
from iotune.replay.mpi import is_open_mpi

_FIRST_WITH_READ_BACK = 6  # Open MPI returns the hints that it uses
_SYSTEM = ("/lib", "/usr/lib", "/lib64", "/usr/lib64")
_RINGS = ("io_uring_queue_init", "io_uring_queue_init_params", "io_uring_setup")
_AIO = ("io_submit", "io_setup")
_RIGHTS = ("seccomp_load", "chroot", "unshare", "setns")
_RIGHTS_OF_SCRIPTS = ("os.chroot", "os.unshare", "os.setns", "os.seteuid", "seccomp")
_SHORTER = "expect a shorter trace, or set IOTUNE_MODE=off"
_MOST_OWN_LIBRARIES = 40


# Launchers without a variable that core/run/launcher_ranks.cpp reads.
_SILENT_LAUNCHERS = ("aprun",)


def linked_checks(known: Examined, launchers: Sequence[str], filesystem: str) -> list[Check]:
    """All checks of this file; `filesystem`: where the program's files are to be."""
    found = []
    if known.loaded is not None or known.hdf5:
        found += [_hdf5(known, one) for one in known.hdf5] or [_no_hdf5(known)]
    for mpi in known.mpi:
        found += [_mpi_library(mpi), _mpi_io(mpi, filesystem)]
    found += [_launcher(known, one) for one in launchers if known.mpi]
    if known.elf is not None and known.elf.interpreter:
        found += [_loading(known), _system_calls(known), _rights(known)]
    return found


def _hdf5(known: Examined, one: Hdf5) -> Check:
    name = f"HDF5 {one.version or 'of an unknown version'}"
    kind = "parallel" if one.parallel else "not parallel"
    if one.path == known.binary:
        return Check("hdf5", FAILS, f"a static {name}, {kind}, inside the program: its calls "
                     "cannot be seen, only MPI-IO and POSIX", "link the shared libhdf5 (Debian: "
                     "pkg-config hdf5-mpich or hdf5-openmpi, not h5pcc)", one.path)  # fmt: skip
    if known.mpi and not one.parallel:
        if any(other.parallel for other in known.hdf5):
            return Check("hdf5", WORKS, f"{name}, {kind}, beside a parallel one", "", one.path)
        return Check("hdf5", PARTLY, f"{name} is not parallel, and the program loads MPI",
                     "for one file of all ranks link a parallel HDF5 (h5py: HDF5_MPI=ON)",
                     one.path)  # fmt: skip
    wrong = _other_mpi(known, one)
    if wrong:
        return Check("hdf5", FAILS, f"{name} is of another MPI than the program: {wrong}",
                     "link the HDF5 of the program's MPI", one.path)  # fmt: skip
    return Check("hdf5", WORKS, f"{name}, {kind}, shared", "", one.path)


def _other_mpi(known: Examined, one: Hdf5) -> str:
    """Two MPIs in one program, where the HDF5 brings one of them."""
    versions = list(dict.fromkeys(mpi.version or mpi.path for mpi in known.mpi))
    # A Python's modules are loaded one by one, and it may choose.
    if not one.parallel or len(versions) < 2 or known.python is not None:
        return ""
    return " and ".join(versions)


def _no_hdf5(known: Examined) -> Check:
    symbols = read_symbols(known.binary, ("dlopen", "dlmopen"))
    later = symbols is not None and bool(symbols.imported) and known.python is None
    return Check("hdf5", WORKS, "none: MPI-IO, stdio and POSIX are watched"
                 + (", and an HDF5 that is loaded later" if later else ""), "",
                 known.binary)  # fmt: skip


def _mpi_library(mpi: MpiLibrary) -> Check:
    if mpi.version:
        return Check("mpi-library", WORKS, f"{mpi.version}, ABI of "
                     + ("MPI 5's standard" if mpi.abi == "standard" else mpi.abi), "",
                     mpi.path)  # fmt: skip
    said = f"it says {mpi.said!r}" if mpi.said else "it does not say which one it is"
    return Check(
        "mpi-library",
        FAILS,
        f"an MPI that iotune does not know: {said}",
        "run it by MPICH or Open MPI, or by what is built on one of them",
        mpi.path,
    )


def _mpi_io(mpi: MpiLibrary, filesystem: str) -> Check:
    if not mpi.version:
        return Check("mpi-io", FAILS, "of an MPI that is left alone: no hint is set",
                     "see mpi-library", mpi.path)  # fmt: skip
    if not mpi.version.startswith("Open MPI"):
        return Check("mpi-io", WORKS, "ROMIO or one that is built on it: hints are taken, and read "
                     "back", "", mpi.path)  # fmt: skip
    major = _major(mpi.version)
    which = mpi_io_of(mpi.version, os.environ.get("OMPI_MCA_io", ""), filesystem)
    if which == "OMPIO":
        back = "" if major >= _FIRST_WITH_READ_BACK else "; what it makes of them cannot be asked"
        return Check("mpi-io", PARTLY, "OMPIO reads cb_nodes, cb_buffer_size and "
                     f"collective_buffering alone{back}",
                     "for ROMIO's hints: OMPI_MCA_io=romio321 with Open MPI 4, or an MPICH",
                     mpi.path)  # fmt: skip
    if major >= 5:
        return Check(
            "mpi-io",
            FAILS,
            f"{mpi.version} hands its ROMIO no hints",
            "set them by ROMIO_HINTS, or unset OMPI_MCA_io for OMPIO",
            mpi.path,
        )
    return Check("mpi-io", PARTLY, "ROMIO inside Open MPI: it takes hints, and what it makes of "
                 "them cannot be asked", "use an MPICH to have them read back",
                 mpi.path)  # fmt: skip


def _major(version: str) -> int:
    digits = version.split(" v")[-1].split(".")[0]
    return int(digits) if digits.isdigit() else 0


def _launcher(known: Examined, launcher: str) -> Check:
    there = shutil.which(launcher)
    if there is None:
        return Check("launcher", FAILS, f"{launcher}: no such program",
                     "load the module of the program's MPI", launcher)  # fmt: skip
    name = os.path.basename(launcher)
    if name in _SILENT_LAUNCHERS:
        return Check("launcher", PARTLY, f"{name} does not say how many ranks a node has, so that "
                     "each rank writes into the home at its start", "on many nodes name a folder "
                     "that they all see and that is made for it by XDG_STATE_HOME",
                     there)  # fmt: skip
    versions = [one.version for one in known.mpi if one.version]
    if not name.startswith(("mpirun", "mpiexec", "orterun", "prterun")) or not versions:
        return Check("launcher", WORKS, f"{name} starts programs of several MPIs", "", there)
    try:
        of_open_mpi = is_open_mpi(there)
    except Error as problem:
        return Check("launcher", UNKNOWN, str(problem), "run it by hand", there)
    if of_open_mpi in [one.startswith("Open MPI") for one in versions]:
        return Check("launcher", WORKS, f"of the same kind as {versions[0]}", "", there)
    own = "Open MPI's" if of_open_mpi else "not Open MPI's"
    wanted = "mpirun.mpich" if of_open_mpi else "mpirun.openmpi"
    return Check("launcher", FAILS, f"it is {own}, and the program loads {versions[0]}: each "
                 "process will be a run of one rank", f"use the program's own, say {wanted}",
                 there)  # fmt: skip


def _own_files(known: Examined) -> list[str]:
    """The program and those of its libraries that are not the system's."""
    paths = known.loaded.paths if known.loaded is not None else ()
    own = [one for one in paths if not os.path.realpath(one).startswith(_SYSTEM)]
    return [known.binary, *own][:_MOST_OWN_LIBRARIES]


def _loading(known: Examined) -> Check:
    script = known.python
    if script is not None:
        if "RTLD_DEEPBIND" in script.text:
            return _deep(script.path)
        if "ctypes" in known.imports or "cffi" in known.imports:
            return Check("loading", PARTLY, "it calls libraries by ctypes or cffi: such calls are "
                         "not seen, those of the layers below are",
                         "call HDF5 by h5py and MPI by mpi4py", script.path)  # fmt: skip
        return Check("loading", WORKS, "its modules are loaded as iotune sees them", "",
                     script.path)  # fmt: skip
    takes: set[str] = set()
    for path in _own_files(known):
        symbols = read_symbols(path, ("dlopen", "dlmopen"))
        takes |= symbols.imported if symbols is not None else set()
        if not (known.scripts or is_python(path)) and b"RTLD_DEEPBIND" in _content(path):
            return _deep(path)
    if "dlmopen" in takes:
        return Check(
            "loading",
            PARTLY,
            "it imports dlmopen: what it loads so has a libc of its own",
            "see in `iotune show` whether the files are there",
            known.binary,
        )
    said = ("it imports dlopen: what it loads is seen, unless it asks for RTLD_DEEPBIND"
            if takes else "neither it nor a library of its own imports dlopen")  # fmt: skip
    return Check("loading", WORKS, said, "", known.binary)


def _deep(path: str) -> Check:
    return Check("loading", PARTLY, "it names RTLD_DEEPBIND: libraries that are loaded so find "
                 "libc before iotune", "load them without that flag", path)  # fmt: skip


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(64 << 20)
    except OSError:
        return b""


def _system_calls(known: Examined) -> Check:
    loaded = known.loaded.paths if known.loaded is not None else ()
    names = [os.path.basename(one) for one in loaded]
    symbols = read_symbols(known.binary, (*_RINGS, *_AIO))
    has = (symbols.defined | symbols.imported) if symbols is not None else frozenset()
    found = []
    if any(one.startswith("liburing.so") for one in names) or has & set(_RINGS):
        found.append("io_uring")
    if any(one.startswith("libaio.so") for one in names) or has & set(_AIO):
        found.append("libaio")
    if found:
        return Check("system-calls", PARTLY, f"it is linked with {' and '.join(found)}, whose "
                     "transfers go past libc", "let it read and write by POSIX calls, where it has "
                     "a choice", known.binary)  # fmt: skip
    return Check("system-calls", WORKS, "neither io_uring nor libaio", "", known.binary)


def _rights(known: Examined) -> Check:
    assert known.elf is not None
    if known.scripts or is_python(known.binary):
        # An interpreter has all of these; what counts is what the script asks for.
        asks = [
            word for word in _RIGHTS_OF_SCRIPTS if any(word in one.text for one in known.scripts)
        ]
        if asks:
            return Check("giving-up-rights", PARTLY, f"the script names {', '.join(asks)}: after "
                         "such a call it is recorded as far as memory goes, and nothing is set",
                         _SHORTER, known.scripts[0].path)  # fmt: skip
        return Check("giving-up-rights", WORKS, "the script names no call that gives up rights", "",
                     known.scripts[0].path if known.scripts else known.binary)  # fmt: skip
    symbols = read_symbols(known.binary, _RIGHTS)
    has = sorted(symbols.imported) if symbols is not None else []
    if any(one.startswith("libseccomp.so") for one in known.elf.needed):
        has = ["libseccomp", *(one for one in has if not one.startswith("seccomp"))]
    if has:
        return Check("giving-up-rights", PARTLY, f"it imports {', '.join(has)}: after such a call "
                     "it is recorded as far as memory goes, and nothing is set",
                     _SHORTER, known.binary)  # fmt: skip
    return Check("giving-up-rights", WORKS, "it imports no call that gives up rights", "",
                 known.binary)  # fmt: skip
