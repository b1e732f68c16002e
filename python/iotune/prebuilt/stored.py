"""Sets of prebuilt programs: a folder each, with a note of what they were compiled for.

Say DIR/mpich-4.0.2-hdf5-1.10.8-x86_64-2f6c41d09a7b/ with replayer.json, iotune-replay and others.
"""

from __future__ import annotations

import json
import math
import os
import stat
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from iotune.errors import Error, shown
from iotune.launch.preload import YIELD_LIBRARY
from iotune.replay.programs import PROGRAMS

NOTE = "replayer.json"
_FORMAT = 1
_MOST_NOTE_BYTES = 1 << 16
_KNOWN = frozenset((*PROGRAMS, YIELD_LIBRARY))


@dataclass(frozen=True)
class Prebuilt:
    """The programs of one MPI and at most one HDF5, and what they were compiled with."""

    folder: Path
    mpi: str  # as traces name it: "MPICH 4.0.2"
    mpi_library: str  # the file that the programs loaded where they were made
    launcher: str  # the version that the launcher beside the compiler says; "": none, or unknown
    hdf5: str  # "1.10.8"; "": the programs without HDF5 alone
    hdf5_library: str
    hdf5_package: str  # pkg-config's name by which it was asked for; "": not by name
    machine: str  # the instruction set: x86_64
    sources: str  # programs.sources_digest()
    iotune: str  # the version of the iotune that made it
    compiler: str
    built_at: float  # seconds since the epoch
    programs: tuple[str, ...]

    @property
    def open_mpi(self) -> bool:
        """Whether they are Open MPI's."""
        return self.mpi.startswith("Open MPI")

    def note(self) -> dict[str, Any]:
        """What the note holds, for JSON."""
        return {**asdict(self), "folder": str(self.folder), "programs": list(self.programs)}


def write_note(one: Prebuilt, folder: Path) -> None:
    """Write the note of `one` into `folder`, readable by all. Raises OSError."""
    values = {"format": _FORMAT, **one.note()}
    del values["folder"]
    path = folder / NOTE
    path.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")
    path.chmod(0o644)


def read_note(folder: Path, owner_of: Path | None) -> Prebuilt:
    """The set in `folder`, whose note is read only if checked() trusts it.

    Raises Error that names the note and what is wrong with it.
    """
    path = folder / NOTE
    try:
        values = json.loads(_content(path, owner_of))
    except OSError as problem:
        raise Error(f"{path}: {problem.strerror}") from None
    except (ValueError, RecursionError) as problem:
        raise Error(f"{path} is no JSON: {shown(str(problem))}") from None
    if not isinstance(values, dict) or values.get("format") != _FORMAT:
        raise Error(f"{path} is not of format {_FORMAT}: another iotune made it")
    names = values.get("programs")
    if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
        raise Error(f"{path}: programs is no list of names")
    built_at = values.get("built_at")
    if isinstance(built_at, bool) or not isinstance(built_at, (int, float)):
        raise Error(f"{path}: built_at is no number")
    try:
        built_at = float(built_at)
    except OverflowError:
        built_at = math.inf
    if not math.isfinite(built_at):
        raise Error(f"{path}: built_at is no time")
    texts: dict[str, str] = {}
    for name in (one.name for one in fields(Prebuilt)):
        if name not in ("folder", "built_at", "programs"):
            value = values.get(name)
            if not isinstance(value, str):
                raise Error(f"{path}: {name} is no text")
            texts[name] = value
    known = tuple(one for one in names if one in _KNOWN)
    others: Any = texts
    return Prebuilt(folder=folder, built_at=built_at, programs=known, **others)


def _content(path: Path, owner_of: Path | None) -> bytes:
    """A note's bytes. Raises Error where it is not trusted or no file, and OSError."""
    folder, why = checked(path.parent, owner_of)
    if why:
        raise Error(f"{path} is not trusted, {why}")
    # A FIFO would wait for its writer.
    number = os.open(folder / NOTE, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with open(number, "rb") as file:
        found = os.fstat(number)
        if not stat.S_ISREG(found.st_mode):
            raise Error(f"{path} is no regular file")
        why = _why_not(path, found, _owners(owner_of))
        if why:
            raise Error(f"{path} is not trusted, {why}")
        content = file.read(_MOST_NOTE_BYTES + 1)
    if len(content) > _MOST_NOTE_BYTES:
        raise Error(f"{path} is longer than {_MOST_NOTE_BYTES} bytes")
    return content


def sets_in(directory: Path, owner_of: Path | None) -> tuple[list[Prebuilt], list[str]]:
    """The sets in a directory by their names, and why others cannot be read or are not trusted.

    Raises OSError where the directory cannot be read.
    """
    found, faults = [], []
    for entry in sorted(os.scandir(directory), key=lambda one: one.name):
        if entry.name.startswith(".") or not os.path.exists(os.path.join(entry.path, NOTE)):
            continue
        try:
            found.append(read_note(Path(entry.path), owner_of))
        except Error as problem:
            faults.append(str(problem))
    return found, faults


def checked(file: Path, owner_of: Path | None) -> tuple[Path, str]:
    """Where `file` really lies, and why others could put something else there; "": they cannot.

    Its user runs it, so all on the way to it belongs to root, to this user or to who owns
    `owner_of` (a folder that the site or the user relies on; None: there is none), and is closed to
    other writers. A group with its owner's number is the owner's own. Of a chain of links the
    middle is not looked at: start what is returned, not `file`.
    """
    real = Path(os.path.realpath(file))
    try:
        owners = _owners(owner_of)
        for path in dict.fromkeys((file, *file.absolute().parents, real, *real.parents)):
            why = _why_not(path, path.stat(), owners)
            if why:
                return real, why
    except OSError as problem:
        return real, f"{problem.filename}: {problem.strerror}"
    return real, ""


def _owners(owner_of: Path | None) -> set[int]:
    return {0, os.geteuid()} | ({owner_of.stat().st_uid} if owner_of is not None else set())


def _why_not(path: Path, found: os.stat_result, owners: set[int]) -> str:
    if found.st_uid not in owners:
        return f"{path} belongs to user {found.st_uid}"
    return f"{path} may be written by others (chmod go-w it)" if _is_open(found) else ""


def _is_open(found: os.stat_result) -> bool:
    # In a sticky folder nobody replaces what is another's.
    if stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX:
        return False
    if found.st_mode & stat.S_IWOTH:
        return True
    return bool(found.st_mode & stat.S_IWGRP) and found.st_gid != found.st_uid
