"""Lines by their language, and which of them fit a program."""

from __future__ import annotations

import re
from collections.abc import Iterable

from iotune.findings.finding import Snippet
from iotune.launch.elf import read_executable
from iotune.traces.summary import RunSummary

# What a program needs by itself that was compiled from Fortran.
_FORTRAN = re.compile(r"lib(gfortran|ifcore|flang|nvf|pgf90|hdf5.*_fortran|mpi_?.*(fort|mpifh))")


def c(code: str) -> Snippet:
    """Lines of C."""
    return Snippet("c", code.strip("\n"))


def fortran(code: str) -> Snippet:
    """Lines of Fortran."""
    return Snippet("fortran", code.strip("\n"))


def python(code: str) -> Snippet:
    """Lines of Python."""
    return Snippet("python", code.strip("\n"))


def shell(code: str) -> Snippet:
    """Lines of a job script."""
    return Snippet("shell", code.strip("\n"))


def language_of(run: RunSummary) -> str:
    """The language that the recorded program was written in, "c" where nothing says another."""
    if run.program_name.startswith("python") or run.identity.endswith(".py"):
        return "python"
    executable = read_executable(run.program) if run.program.startswith("/") else None
    needed = executable.needed if executable else []
    return "fortran" if any(_FORTRAN.match(one) for one in needed) else "c"


def fitting(snippets: Iterable[Snippet], language: str, layer: str) -> tuple[Snippet, ...]:
    """All of them, those first that fit a program in `language` whose calls are of `layer`."""

    def misfit(one: Snippet) -> tuple[bool, bool]:
        of_hdf5 = re.search(r"\bh5|old\.h5", one.code, re.IGNORECASE) is not None
        return (
            one.language not in (language, "shell"),
            of_hdf5 != (layer == "hdf5"),
        )

    return tuple(sorted(snippets, key=misfit))
