"""All checks that a command line asks for, in the order in which they are shown."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import iotune
from iotune import core
from iotune.doctor.check import FAILS, Check, worst_of
from iotune.doctor.directory import directory_checks, proven_check
from iotune.doctor.examined import Examined, examine, named_programs
from iotune.doctor.install import install_checks
from iotune.doctor.linked import linked_checks
from iotune.doctor.mpis import hdf5_version_for, mpi_checks
from iotune.doctor.places import places_checks
from iotune.doctor.program import program_checks, why_no_program
from iotune.doctor.surroundings import surroundings_checks
from iotune.doctor.variables import variable_checks
from iotune.errors import Error
from iotune.launch import start
from iotune.proving.prover import LEAST_RANKS, Site, mpi_io_of
from iotune.replay.mpi import find_mpi, launcher_version


@dataclass(frozen=True)
class Visit:
    """What was asked, and what was found."""

    command: tuple[str, ...]
    directory: Path | None
    checks: tuple[Check, ...]

    @property
    def worst(self) -> str:
        """The gravest verdict."""
        return worst_of(self.checks)

    def as_json(self) -> dict[str, Any]:
        """Plain values (doctor.schema.json)."""
        return {
            "iotune": iotune.__version__,
            "libc": os.confstr("CS_GNU_LIBC_VERSION") or "",
            "kernel": platform.release(),
            "machine": platform.machine(),
            "command": list(self.command),
            "directory": None if self.directory is None else str(self.directory),
            "worst": self.worst,
            "checks": [one.as_json() for one in self.checks],
        }


def visit(command: Sequence[str], directory: Path | None, everything: bool = False) -> Visit:
    """Look at a program, or without one at the install; and at a directory where one is named.

    `everything`: at the install in any case.
    """
    checks: list[Check] = []
    of_install = everything or not command
    if of_install:
        checks += install_checks()
        if any(one.id == "versions" and one.verdict == FAILS for one in checks):
            # The others ask the native part.
            return Visit(tuple(command), directory, tuple(checks))
    checks += variable_checks()
    checks += surroundings_checks()
    if of_install:
        checks += [*places_checks(), *mpi_checks()]
    known: list[Examined] = []
    place = directory or Path.cwd()
    for path, words in named_programs(command):
        fault = why_no_program(path)
        if fault is not None:
            checks.append(fault)
            continue
        one = examine(path, words)
        known.append(one)
        checks += program_checks(one)
        checks += linked_checks(one, start.launchers(command), core.filesystem_of(place))
    if directory is not None:
        checks += directory_checks(directory)
        checks += _proven(known, directory)
    return Visit(tuple(command), directory, tuple(checks))


def _proven(known: Sequence[Examined], directory: Path) -> list[Check]:
    """Of the programs' libraries, else of the MPI that `iotune prove` would take."""
    found = [check for one in known for check in _proven_of(one, directory)]
    if found or known:
        return found
    try:
        mpi = find_mpi()
    except Error:
        return []
    site = _site(directory, launcher_version(mpi.launcher), hdf5_version_for(mpi))
    return [proven_check(site, directory)] if site.mpi else []


def _proven_of(one: Examined, directory: Path) -> list[Check]:
    mpi = next((each.version for each in one.mpi if each.version), "")
    hdf5 = [each for each in one.hdf5 if each.version and each.path != one.binary]
    best = next((each for each in hdf5 if each.parallel), hdf5[0] if hdf5 else None)
    if not mpi and best is None:
        return []
    site = _site(directory, mpi, best.version if best is not None else "")
    return [proven_check(site, directory, best.path if best is not None and not mpi else "")]


def _site(directory: Path, mpi: str, hdf5: str) -> Site:
    filesystem = core.filesystem_of(directory)
    mpi_io = mpi_io_of(mpi, os.environ.get("OMPI_MCA_io", ""), filesystem)
    name = core.mpiio_name(mpi, mpi_io) if mpi else ""
    return Site(filesystem, mpi, name, hdf5, LEAST_RANKS if mpi else 1, 1)
