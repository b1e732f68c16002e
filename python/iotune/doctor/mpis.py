"""Checks of the MPIs on PATH, and of what compiles replayers and provers for them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass

from iotune.doctor.check import PARTLY, UNKNOWN, WORKS, Check
from iotune.errors import Error
from iotune.locations import cache_dir
from iotune.prebuilt.lookup import look
from iotune.replay.mpi import Mpi, find_mpi, hdf5_flags, launcher_version
from iotune.replay.programs import REPLAY

_NAMES = (
    "mpirun", "mpiexec", "mpirun.mpich", "mpirun.openmpi", "mpiexec.hydra", "srun", "aprun",
    "jsrun",
)  # fmt: skip
_SCHEDULERS = ("srun", "aprun", "jsrun")


@dataclass(frozen=True)
class Launcher:
    """A launcher and of which MPI it says to be."""

    path: str
    version: str  # as traces name that MPI; "": it does not tell


def launchers() -> list[Launcher]:
    """Those on PATH and IOTUNE_MPIRUN's, each file once."""
    given = os.environ.get("IOTUNE_MPIRUN", "").split()[:1]
    found: dict[str, Launcher] = {}
    for name in (*given, *_NAMES):
        path = shutil.which(name)
        if path is not None and os.path.realpath(path) not in found:
            version = "" if name in _SCHEDULERS else launcher_version(path)
            found[os.path.realpath(path)] = Launcher(path, version)
    return list(found.values())


def mpi_checks() -> list[Check]:
    """All checks of this file."""
    found = []
    for one in launchers():
        if one.version:
            found.append(Check("mpi", WORKS, f"of {one.version}", "", one.path))
        elif os.path.basename(one.path) in _SCHEDULERS:
            found.append(Check("mpi", WORKS, "starts programs of several MPIs", "", one.path))
        else:
            found.append(Check("mpi", UNKNOWN, "says no version that iotune knows",
                               "ask about a program: its library tells", one.path))  # fmt: skip
    if not found:
        found.append(Check("mpi", UNKNOWN, "no launcher of an MPI is on PATH",
                           "load its module, or name it in IOTUNE_MPIRUN"))  # fmt: skip
    return [*found, _replayer()]


def _replayer() -> Check:
    try:
        mpi = find_mpi()
    except Error as problem:
        return Check("replayer", PARTLY, f"{problem}; programs without MPI are trained all the "
                     "same", "load an MPI's module for iotune train and prove")  # fmt: skip
    found = look(REPLAY, mpi)
    if found.prebuilt is not None:
        one = found.prebuilt
        return Check("replayer", WORKS, f"prebuilt for {one.mpi} and HDF5 {one.hdf5}", "",
                     str(one.folder))  # fmt: skip
    cached = _cached()
    said = f"; {cached} compiled before" if cached else "; none compiled yet"
    said += "".join(f"; {one}" for one in found.reported)
    if mpi.compiler is None:
        return Check("replayer", PARTLY, f"there is no mpicc beside {mpi.launcher}{said}",
                     "install it, name it in IOTUNE_MPICC, or prebuild it elsewhere by iotune "
                     "replayer build", mpi.launcher)  # fmt: skip
    try:
        hdf5_flags(mpi)
    except Error as problem:
        return Check(
            "replayer",
            PARTLY,
            f"{problem}{said}",
            "load a parallel HDF5, or name it in IOTUNE_HDF5_PKG",
            mpi.launcher,
        )
    return Check("replayer", WORKS, f"{mpi.compiler} and a parallel HDF5{said}", "", mpi.launcher)


def _cached() -> int:
    try:
        return sum(1 for one in cache_dir().rglob("iotune-*") if os.access(one, os.X_OK))
    except OSError:
        return 0


def hdf5_version_for(mpi: Mpi) -> str:
    """The version of the HDF5 that provers are compiled with, by pkg-config; "": not known."""
    tool = shutil.which("pkg-config")
    for package in mpi.hdf5_packages if tool else ():
        done = subprocess.run(
            [str(tool), "--modversion", package], capture_output=True, text=True, check=False
        )
        match = re.match(r"\d+\.\d+\.\d+", done.stdout)
        if done.returncode == 0 and match:
            return match[0]
    return ""
