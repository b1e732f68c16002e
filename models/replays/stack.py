"""With what a case's run is replayed: its own launcher, MPI and HDF5, as its trace names them.

An answer that was measured with another library says nothing to the program, so a stack that is
not the run's is an error, reported before anything is measured.
"""

from __future__ import annotations

from pathlib import Path

from iotune.models.cases import NO_LIBRARY, Case, trace_of_case

from iotune import core
from iotune.errors import Error
from iotune.replay.mpi import Mpi, find_mpi_of, serial_hdf5
from iotune.traces.summary import RunSummary

_TO_NAME = {
    "mpi": "IOTUNE_MPIRUN and IOTUNE_MPICC name another",
    "hdf5": "HDF5_ROOT or IOTUNE_HDF5_PKG names another",
}


def stack_of(case: Case) -> Mpi:
    """The MPI, or the HDF5 by itself, that the case's run used. Raises Error without it."""
    mpi = case.platform.get("mpi", "")
    library = _hdf5_library(case)
    if case.layer == "hdf5" and case.ranks == 1:
        # Also of a program of MPI whose ranks open files one by one, through a wheel's HDF5 say.
        if mpi in ("", NO_LIBRARY) or (library and not _is_parallel(library)):
            return serial_hdf5(library)
    # A replayer of calls is a program of MPI, whatever it replays.
    return find_mpi_of("" if mpi == NO_LIBRARY else mpi, library)


def _hdf5_library(case: Case) -> str:
    trace = trace_of_case(case)
    if trace is None:
        return ""
    for process in core.processes(trace.path):
        if process.get("hdf5_library"):
            return str(process["hdf5_library"])
    return ""


def _is_parallel(library: str) -> bool:
    """Whether an HDF5 has the MPI-IO driver; of one that is gone it does not matter."""
    try:
        return b"H5Pset_fapl_mpio\0" in Path(library).read_bytes()
    except OSError:
        return True


def demand_same_stack(case: Case, replayed: RunSummary) -> None:
    """Raise Error where a replay went through other libraries than the case's run."""
    # A single HDF5 is replayed without the program's MPI, which such files do not go through.
    measured = {"mpi": replayed.mpi, "hdf5": replayed.hdf5}
    for name, value in measured.items():
        asked = case.platform.get(name, "")
        if asked and asked != NO_LIBRARY and value and value != asked:
            raise Error(
                f"it ran with {_shown(name, asked)} and would be measured with "
                f"{_shown(name, value)}: {_TO_NAME[name]}"
            )


def demand_same_storage(case: Case, filesystem: str) -> None:
    """Raise Error where the case's file lay on another kind of file system."""
    asked = case.platform.get("filesystem", "")
    if asked and asked != filesystem:
        raise Error(
            f"it ran on {asked} and would be measured on {filesystem}: --dir names another place"
        )


def _shown(name: str, value: str) -> str:
    return f"HDF5 {value}" if name == "hdf5" else value
