"""Settings that the MPI-IO of a platform does not read: measuring them tells nothing."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Mapping
from dataclasses import replace

from iotune.models.settings.candidates import Candidate

from iotune import core

OMPIO, _MPICH = "OMPIO", "MPICH"


def without_unread(found: Iterable[Candidate], platform: Mapping[str, str]) -> list[Candidate]:
    """The candidates without such settings; those of which nothing is left, or that are then the
    same as another, are left out. The default stays.
    """
    unread = _unread(mpi_io_of(platform))
    kept: dict[str, Candidate] = {}
    for one in found:
        settings = {name: value for name, value in one.settings.items() if name not in unread}
        if settings or not one.settings:
            read = one if settings == one.settings else replace(one, settings=settings)
            kept.setdefault(read.text, read)
    return list(kept.values())


def unread_by(platform: Mapping[str, str], name: str) -> str:
    """The MPI-IO of the platform that does not read a hint; "" where it may."""
    library = mpi_io_of(platform)
    return library if is_unread(library, name) else ""


def is_unread(library: str, name: str) -> bool:
    """Whether that MPI-IO, by its name in the table of what is known, ignores a hint."""
    return name in _unread(library)


def mpi_io_of(platform: Mapping[str, str]) -> str:
    """The MPI-IO by its name in the table of what is known; "" where that is not sure."""
    mpi = platform.get("mpi", "")
    if mpi.startswith("MPICH "):
        return _MPICH
    if not mpi.startswith("Open MPI v") or os.environ.get("OMPI_MCA_io"):
        return ""
    # Open MPI takes its ROMIO on Lustre (tuner/mpiio/openmpi_io.h).
    return "" if platform.get("filesystem") == "lustre" else OMPIO


@functools.cache
def _unread(library: str) -> frozenset[str]:
    """The parameters that the library reads in none of its versions, whatever their value."""
    return frozenset(
        row["parameter"]
        for row in core.known_settings()["rows"]
        if library and row["library"] == library and row["known"] == "harmless"
        and not row["from"] and not row["to"] and row["because"].endswith("does not read it")
    )  # fmt: skip
