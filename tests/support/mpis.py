"""The MPIs of three ABIs that the tests run under: Debian's, and the wheels that
`tools/setup.sh companions` installed below build/companions.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from support.place import Place, not_verified
from support.repository import COMPANIONS, program_source

# As root, and with more ranks than cores, Open MPI 4 and 5 run only if asked so.
OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_ALLOW_RUN_AS_ROOT": "1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMPI_MCA_btl_base_warn_component_unused": "0",
}  # fmt: skip


@dataclass(frozen=True)
class Mpi:
    """One MPI: its launcher, its compiler, and what its libraries say of themselves."""

    name: str
    launcher: str
    compiler: str
    version: str  # how the PROCESS text begins
    romio: bool  # else its default MPI-IO is OMPIO
    hdf5_package: str = ""

    def fortran(self) -> str:
        """The Fortran compiler beside the C one; "" where there is none."""
        found = Path(self.compiler.replace("mpicc", "mpifort"))
        return str(found) if found.exists() else ""


KNOWN = (
    Mpi("mpich-4", "mpirun.mpich", "mpicc.mpich", "MPICH 4", True, "hdf5-mpich"),
    Mpi("openmpi-4", "mpirun.openmpi", "mpicc.openmpi", "Open MPI v4", False, "hdf5-openmpi"),
    Mpi("mpich-5", "mpich/bin/mpirun", "mpich/bin/mpicc", "MPICH 5", True),
    Mpi("standard-abi", "mpich/bin/mpirun", "mpich/bin/mpicc_abi", "MPICH 5", True),
    Mpi("openmpi-5", "openmpi/bin/mpirun", "openmpi/bin/mpicc", "Open MPI v5", False),
)
NAMES = tuple(mpi.name for mpi in KNOWN)


def find_mpi(name: str) -> Mpi | None:
    """The MPI with the paths of its programs; None, and said so, where it cannot be had."""
    known = next(mpi for mpi in KNOWN if mpi.name == name)
    paths = [shutil.which(COMPANIONS / word if "/" in word else word)
             for word in (known.launcher, known.compiler)]  # fmt: skip
    if None in paths:
        not_verified(f"{name}: neither installed nor below build/companions")
        return None
    # The wheel's compiler is a shell script that does not quote its own place.
    if known.compiler.startswith("mpich/") and " " in str(paths[1]):
        not_verified(f"{name}: its mpicc does not work in a path with a space")
        return None
    return Mpi(name, str(paths[0]), str(paths[1]), known.version, known.romio, known.hdf5_package)


def use(place: Place, mpi: Mpi) -> None:
    """Let `place.mpi` start programs under this MPI."""
    place.mpirun = mpi.launcher
    if not mpi.romio:
        os.environ.update(OPEN_MPI)


def linked_folders(mpi: Mpi) -> list[str]:
    """For the MPI's Fortran compiler: Debian's mpifort.openmpi would take the libmpi.so that the
    machine's alternatives name.
    """
    show = subprocess.run([mpi.compiler, "-show"], capture_output=True, text=True, check=True)
    return [word for word in show.stdout.split() if word.startswith("-L")]


def compiled(place: Place, mpi: Mpi, source: str, *flags: str, compiler: str = "") -> Path:
    """A program of tests/*/programs, or one given by its path, built by the MPI's compiler."""
    program = place.scratch / Path(source).stem
    done = subprocess.run(
        [compiler or mpi.compiler, "-O1", "-o", str(program),
         str(source if "/" in source else program_source(source)), *flags],
        capture_output=True, text=True, check=False, cwd=place.scratch,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return program


def hdf5_flags(package: str) -> list[str] | None:
    """What compiles a program against an HDF5 that pkg-config knows; None: it is not installed."""
    done = subprocess.run(["pkg-config", "--cflags", "--libs", package],
                          capture_output=True, text=True, check=False)  # fmt: skip
    return done.stdout.split() if done.returncode == 0 else None
