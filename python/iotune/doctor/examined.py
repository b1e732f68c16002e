"""What is known of the program of a command line before anything is said of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field

from iotune.doctor.libraries import (
    Hdf5,
    Loaded,
    MpiLibrary,
    hdf5_among,
    hdf5_inside,
    loaded_by,
    mpi_among,
)
from iotune.doctor.scripts import (
    Script,
    extensions_of,
    imports_of,
    is_python,
    script_at,
    script_of_command,
)
from iotune.errors import Error
from iotune.launch import start
from iotune.launch.elf import Executable, read_executable
from iotune.launch.preload import preload_path

_MOST_INTERPRETERS = 4  # as the kernel follows them


@dataclass
class Examined:
    """A program and what it loads."""

    path: str  # absolute, as the command names it
    scripts: list[Script] = field(default_factory=list)  # each reads the one before
    binary: str = ""  # what the kernel runs in the end; "": nothing that could be found
    elf: Executable | None = None
    loaded: Loaded | None = None  # None: no dynamic linker lists it
    with_preload: Loaded | None = None
    modules: dict[str, list[str]] = field(default_factory=dict)  # a Python script's, compiled
    imports: list[str] = field(default_factory=list)
    hdf5: list[Hdf5] = field(default_factory=list)
    mpi: list[MpiLibrary] = field(default_factory=list)
    fault: str = ""  # why its libraries are not known

    @property
    def python(self) -> Script | None:
        """The script that a Python reads."""
        return next((one for one in self.scripts if one.is_python), None)


def named_programs(command: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Programs that a command line starts, each with the words behind it.

    As `iotune run` finds them; what is not found stays as it was written.
    """
    found = []
    for program, behind in start.programs_and_words(command):
        there = shutil.which(program)
        found.append((os.path.abspath(there or program), behind))
    return found


def examine(path: str, words: Sequence[str]) -> Examined:
    """Look at a program that is there; `words` stand behind it on the command line."""
    known = Examined(path, binary=path)
    for _ in range(_MOST_INTERPRETERS):
        script = script_at(known.binary)
        if script is None:
            break
        known.scripts.append(script)
        known.binary = os.path.abspath(script.interpreter) if script.interpreter else ""
    if not known.scripts and is_python(path):
        script = script_of_command(path, words)
        known.scripts += [script] if script is not None else []
    if known.binary:
        known.elf = read_executable(known.binary)
    if known.elf is not None:
        _add_libraries(known)
    return known


def _add_libraries(known: Examined) -> None:
    paths: list[str] = []
    assert known.elf is not None
    if known.elf.holds_hdf5:
        known.hdf5.append(hdf5_inside(known.binary))
    if known.elf.interpreter:
        try:
            known.loaded = loaded_by(known.binary)
            paths += known.loaded.paths
            known.with_preload = loaded_by(known.binary, preload_path())
        except Error as problem:
            known.fault = str(problem)
    script = known.python
    if script is not None:
        known.imports = imports_of(script.text)
        known.modules = extensions_of(script, known.imports)
        for libraries in known.modules.values():
            for library in libraries:
                try:
                    paths += loaded_by(library).paths
                except Error as problem:
                    known.fault = str(problem)
    unique = {os.path.realpath(path): path for path in reversed(paths)}
    ordered = [path for path in dict.fromkeys(paths) if unique[os.path.realpath(path)] == path]
    known.hdf5 += hdf5_among(ordered)
    known.mpi += mpi_among(ordered)
