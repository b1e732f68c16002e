"""Which prebuilt program this node takes: that of its MPI, of the run's HDF5, of these sources."""

from __future__ import annotations

import functools
import os
import platform
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from iotune import core
from iotune.errors import Error
from iotune.launch.preload import YIELD_LIBRARY
from iotune.locations import cache_dir
from iotune.prebuilt.stored import Prebuilt, checked, sets_in
from iotune.replay.mpi import Mpi, hdf5_root, launcher_version
from iotune.replay.programs import CALLS, OF_HDF5, sources_digest
from iotune.talk import say

VARIABLE = "IOTUNE_REPLAYER_DIR"
NOWHERE = "none"
SITE_FILE = "/etc/iotune.conf"


@dataclass(frozen=True)
class Place:
    """A directory of prebuilt sets, and who names it."""

    directory: Path
    named_by: str  # VARIABLE, SITE_FILE; "": the user's own, or a command's argument

    @property
    def owner_of(self) -> Path | None:
        """The directory whose owner is relied on: a caller that only looks into one does not."""
        return self.directory if self.named_by else None


@dataclass(frozen=True)
class Verdict:
    """Whether a set is for this node."""

    reason: str  # why not, as the end of "it …"; "": it fits
    checks_passed: int = 0  # among several that do not fit, the nearest has the most
    program: Path | None = None  # of one that fits: the very file that was checked

    @property
    def fits(self) -> bool:
        """Whether its programs may be used."""
        return not self.reason


@dataclass(frozen=True)
class Asked:
    """What is to be replayed with: a launcher's MPI, and an HDF5 where it is known."""

    open_mpi: bool
    launcher: str  # its version as traces name the MPI; "": it tells none
    hdf5: str = ""  # of the run that is replayed; "": any
    root: str = ""  # HDF5_ROOT, where a parallel HDF5 lies in it
    package: str = ""  # IOTUNE_HDF5_PKG


def own_directory() -> Path:
    """Where `iotune replayer build` puts a set unless it is set otherwise."""
    return cache_dir() / "replayers"


def places() -> list[Place]:
    """Where sets are looked for, in that order; none where the variable says "none"."""
    given = os.environ.get(VARIABLE, "")
    if given == NOWHERE:
        return []
    found = [Place(Path(os.path.abspath(given)), VARIABLE)] if given else []
    try:
        of_site = str(core.site_limits().get("replayers", ""))
    except Error:  # the native part is missing, and the code that needs it says so
        of_site = ""
    if of_site:
        found.append(Place(Path(of_site), SITE_FILE))
    return [*found, Place(own_directory(), "")]


def asked_of(mpi: Mpi) -> Asked:
    """What replays with this MPI ask for."""
    package = os.environ.get("IOTUNE_HDF5_PKG", "")
    root = "" if package else hdf5_root()
    return Asked(
        mpi.open_mpi, launcher_version(mpi.launcher) if mpi.launcher else "",
        _parallel_version(mpi.hdf5_library) if mpi.hdf5_library else "",
        root if root and _has_parallel_hdf5(root) else "", package,
    )  # fmt: skip


def _parallel_version(library: str) -> str:
    """The version of a parallel HDF5; "" of another one, whose runs any HDF5 replays."""
    from iotune.doctor.libraries import hdf5_among

    return next((one.version for one in hdf5_among([library]) if one.parallel), "")


def _has_parallel_hdf5(root: str) -> bool:
    folders = (os.path.join(root, one) for one in ("lib", "lib64"))
    return any(_parallel_version(os.path.join(one, "libhdf5.so")) for one in folders)


@dataclass(frozen=True)
class Found:
    """What look() found."""

    prebuilt: Prebuilt | None
    reported: tuple[str, ...] = ()  # where there is none: why what lies there is not used
    program: Path | None = None  # what is to be started, with no link on the way to it


def look(name: str, mpi: Mpi) -> Found:
    """The set whose program `name` replays with this MPI are to start here."""
    asked = None
    reported: list[str] = []
    nearest: tuple[int, str, Place] | None = None
    for place in places():
        sets, faults = _sets_of(place)
        reported += faults
        for one in sets:
            asked = asked or asked_of(mpi)
            verdict = verdict_of(one, place, asked, name)
            if verdict.fits:
                return Found(one, program=verdict.program)
            if nearest is None or verdict.checks_passed > nearest[0]:
                nearest = (verdict.checks_passed, f"{one.folder} {verdict.reason}", place)
    if nearest is not None:
        _, said, place = nearest
        into = f" --into {place.directory}" if place.named_by else ""
        reported.append(f"{said}: it is not used (iotune replayer build{into} makes another)")
    return Found(None, tuple(reported))


def prebuilt_program(name: str, mpi: Mpi) -> Path | None:
    """One of programs.PROGRAMS that this node may start; None, reported once, where none fits."""
    found = look(name, mpi)
    if found.prebuilt is not None:
        return found.program
    for text in found.reported:
        _tell(text)
    return None


def prebuilt_shim() -> Path | None:
    """The libiotune-yield.so of any set of these sources: it is of no MPI."""
    for place in places():
        for one in _sets_of(place)[0]:
            shim = one.folder / YIELD_LIBRARY
            is_of_here = one.machine == platform.machine() and one.sources == sources_digest()
            if YIELD_LIBRARY in one.programs and is_of_here and shim.is_file():
                real, why = checked(shim, place.owner_of)
                if not why:
                    return real
    return None


def best_first(sets: list[Prebuilt]) -> list[Prebuilt]:
    """In the order in which they are asked: the newest HDF5 first, then what was made last."""

    def newness(one: Prebuilt) -> tuple[list[int], float]:
        parts = [part for part in one.hdf5.split(".") if part.isascii() and part.isdecimal()]
        return [int(part[:9]) for part in parts], one.built_at

    return sorted(sets, key=newness, reverse=True)


def _sets_of(place: Place) -> tuple[list[Prebuilt], list[str]]:
    """Those of a place, best first, and what is to be said of others."""
    try:
        found, faults = sets_in(place.directory, place.owner_of)
    except OSError as problem:
        if not place.named_by:  # nobody has said that there is one
            return [], []
        return [], [f"{place.directory} ({place.named_by}): {problem.strerror}; no prebuilt "
                    "replayer is looked for there"]  # fmt: skip
    return best_first(found), [f"{one}; it is not used" for one in faults]


@functools.cache
def _tell(text: str) -> None:
    """Say it once in a process."""
    say(text)


def verdict_of(one: Prebuilt, place: Place, asked: Asked, name: str = "") -> Verdict:
    """Whether a set has the program `name` for what is asked; without a name whether any.

    Quick checks come first; the last one has the dynamic linker list what the program loads here.
    """
    programs = [name] if name else [each for each in (*OF_HDF5[:1], CALLS) if each in one.programs]
    with_hdf5 = any(each in OF_HDF5 for each in programs)
    # Checked, asked and started are the same files, whatever becomes of links meanwhile.
    trusted = {each: checked(one.folder / each, place.owner_of) for each in programs}
    checks: tuple[Callable[[], str], ...] = (
        lambda: "" if one.machine == platform.machine() else f"is for {one.machine}",
        lambda: _other_mpi(one, asked),
        lambda: _other_sources(one),
        lambda: "" if programs and programs[0] in one.programs else f"has no {name or CALLS}",
        lambda: _other_hdf5(one, asked) if with_hdf5 else "",
        lambda: _cannot_be_had(trusted),
        lambda: next(filter(None, (
            _loads_other(one, asked, each, real) for each, (real, _) in trusted.items()
        )), ""),
    )  # fmt: skip
    for passed, check in enumerate(checks):
        reason = check()
        if reason:
            return Verdict(reason, passed)
    return Verdict("", len(checks), trusted[programs[0]][0])


def _other_mpi(one: Prebuilt, asked: Asked) -> str:
    # A launcher of several MPIs (srun) tells no version: what is loaded here decides.
    if not asked.launcher:
        return ""
    known = one.launcher or one.mpi
    # Before all else the kind: a launcher of Intel's is MPICH's, by another name.
    if one.open_mpi != asked.open_mpi or (one.launcher and known != asked.launcher):
        return f"is for {known}, and the launcher is of {asked.launcher}"
    return ""


def _other_sources(one: Prebuilt) -> str:
    return "" if one.sources == sources_digest() else f"was made by another iotune, {one.iotune}"


def _other_hdf5(one: Prebuilt, asked: Asked) -> str:
    if asked.hdf5 and asked.hdf5 != one.hdf5:
        return f"is for HDF5 {one.hdf5}, and the run used {asked.hdf5}"
    if asked.package and asked.package != one.hdf5_package:
        return f"is not for the HDF5 that IOTUNE_HDF5_PKG={asked.package} names"
    return ""


def _cannot_be_had(trusted: dict[str, tuple[Path, str]]) -> str:
    for name, (real, why) in trusted.items():
        if why:
            return f"is not trusted, {why}"
        if not os.access(real, os.X_OK):
            return f"has a {name} that may not be executed"
    return ""


def _loads_other(one: Prebuilt, asked: Asked, name: str, real: Path) -> str:
    """What the program in the file `real` would load on this node that it was not made for."""
    try:
        found = loaded_versions(str(real))
    except Error as problem:
        return f"cannot be asked what it loads, {problem}"
    if found.fault:
        return f"does not start here, {found.fault}"
    if found.mpi != one.mpi:
        return f"is for {one.mpi}, and {name} loads {found.mpi or 'none'}"
    if name not in OF_HDF5:
        return ""
    if found.hdf5 != one.hdf5:
        return f"is for HDF5 {one.hdf5}, and {name} loads {found.hdf5 or 'none'}"
    inside = os.path.realpath(asked.root) + os.sep
    if asked.root and not os.path.realpath(found.hdf5_library).startswith(inside):
        return f"loads {found.hdf5_library}, which is not below {asked.root} (HDF5_ROOT)"
    return ""


@dataclass(frozen=True)
class Versions:
    """The MPI and the HDF5 that a program loads on this node."""

    mpi: str  # as traces name it, else what it says of itself; "": no MPI is loaded
    mpi_library: str
    hdf5: str
    hdf5_library: str
    fault: str = ""  # why the dynamic linker does not start the program
    others: tuple[str, ...] = ()  # MPIs beside the first one


@functools.cache
def loaded_versions(program: str) -> Versions:
    """Asked of the dynamic linker and of the libraries; the program is not run.

    Raises Error where the linker cannot be asked.
    """
    from iotune.doctor.libraries import hdf5_among, loaded_by, mpi_among

    loaded = loaded_by(program)
    if loaded.missing:
        return Versions("", "", "", "", f"for {loaded.missing[0]} is not found")
    if loaded.fault:
        return Versions("", "", "", "", f"for the linker says: {loaded.fault}")
    mpis = mpi_among(loaded.paths)
    hdf5 = next(iter(hdf5_among(loaded.paths)), None)
    # An MPI that runs leave alone has programs, too.
    return Versions(
        (mpis[0].version or mpis[0].said) if mpis else "", mpis[0].path if mpis else "",
        hdf5.version if hdf5 else "", hdf5.path if hdf5 else "",
        others=tuple(one.version or one.path for one in mpis[1:]),
    )  # fmt: skip
