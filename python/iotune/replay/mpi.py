"""With what plans are replayed: an MPI's launcher, compiler and HDF5, or one HDF5 by itself."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from iotune.errors import Error
from iotune.launch.preload import find_library


@dataclass(frozen=True)
class Mpi:
    """A launcher and what compiles for it."""

    launcher: str
    compiler: str | None  # None: there is none
    open_mpi: bool
    hdf5_packages: tuple[str, ...]  # names for pkg-config, best first
    hdf5_library: str = ""  # of the run that is replayed: its folder may have headers too
    arguments: tuple[str, ...] = ()  # of the launcher, always

    @property
    def flavour(self) -> str:
        """The MPI as Debian's names of packages and programs have it."""
        return "openmpi" if self.open_mpi else "mpich"

    def command(self, ranks: int) -> list[str]:
        """The words before the program."""
        words = [self.launcher, *self.arguments]
        if self.open_mpi:
            # More ranks than cores is what a small machine has; root is what a container has.
            words.append("--oversubscribe")
            if os.geteuid() == 0:
                words.append("--allow-run-as-root")
        return [*words, "-n", str(ranks)]


@dataclass(frozen=True)
class SerialHdf5(Mpi):
    """No MPI at all: one process, and the very library that the program used.

    The replayer's place behind command() is the library's.
    """

    def command(self, ranks: int) -> list[str]:
        """The words before the library. Raises Error for several ranks."""
        if ranks != 1:
            raise Error(f"{ranks} ranks without MPI cannot be replayed")
        return serial_command("libiotune-serial-replay.so")


def serial_command(name: str) -> list[str]:
    """The words that run a program of one process, before the HDF5 library.

    Raises Error where the program is missing.
    """
    program = find_library(name)
    if program is None:
        raise Error(f"{name} is missing; reinstall iotune")
    return [sys.executable, "-I", "-S", str(Path(__file__).parent / "serial_run.py"), str(program)]


def serial_hdf5(library: str) -> SerialHdf5:
    """For a program without MPI whose HDF5 is the file `library`. Raises Error where it is gone."""
    if not library:
        raise Error("the run's trace does not name its HDF5: record it again with this iotune")
    if not os.path.isfile(library):
        raise Error(f"the HDF5 of the run, {library}, is not there any more")
    return SerialHdf5("", None, False, (), library)


def find_mpi_of(name: str, hdf5_library: str = "") -> Mpi:
    """The launcher of the MPI that a run used, by its name in the trace ("MPICH 4.0.2").

    Raises Error that says what to name where there is none.
    """
    given, arguments = _given()
    wants_open_mpi = name.startswith("Open MPI")
    flavour = "openmpi" if wants_open_mpi else "mpich"
    for launcher in _launchers([given] if given else _NAMES[flavour]):
        if not name or is_open_mpi(launcher) == wants_open_mpi:
            return replace(_describe(launcher), hdf5_library=hdf5_library, arguments=arguments)
    if given:
        raise Error(f"the run used {name}, and IOTUNE_MPIRUN={given} is none of its launchers")
    raise Error(f"the run used {name}, no launcher of which is found: name it in IOTUNE_MPIRUN")


def _given() -> tuple[str, tuple[str, ...]]:
    """IOTUNE_MPIRUN: a program, and words that always follow it ("flux run")."""
    try:
        words = shlex.split(os.environ.get("IOTUNE_MPIRUN", ""))
    except ValueError as problem:
        raise Error(f"IOTUNE_MPIRUN={os.environ['IOTUNE_MPIRUN']}: {problem}") from None
    return (words[0], tuple(words[1:])) if words else ("", ())


_SECONDS = 30  # for a launcher or a compiler to say its version
# How launchers name themselves, and how traces name that MPI.
_SAID = (
    (re.compile(r"\((?:Open MPI|OpenRTE)\) v?(\S+)"), "Open MPI v"),
    (re.compile(r"Intel\(R\) MPI Library.*?Version (\S+)"), "Intel MPI "),
    (re.compile(r"HYDRA build details:.*?Version:\s+(\S+)", re.DOTALL), "MPICH "),
)

_NAMES = {
    "mpich": ("mpirun.mpich", "mpiexec.hydra", "mpirun", "mpiexec"),
    "openmpi": ("mpirun.openmpi", "mpirun", "mpiexec"),
}


def _launchers(names: Sequence[str]) -> list[str]:
    found = [shutil.which(name) for name in names]
    return [launcher for launcher in found if launcher]


def find_mpi() -> Mpi:
    """IOTUNE_MPIRUN's, else MPICH's, else the mpirun of PATH. Raises Error without any."""
    given, arguments = _given()
    for name in [given] if given else ["mpirun.mpich", "mpirun", "mpiexec"]:
        launcher = shutil.which(name)
        if launcher:
            return replace(_describe(launcher), arguments=arguments)
    raise Error(
        f"IOTUNE_MPIRUN={given} is no program"
        if given
        else "no mpirun found: install an MPI, or name its launcher in IOTUNE_MPIRUN"
    )


def mpi_of_compiler(compiler: str) -> Mpi:
    """The MPI of a compiler wrapper, for who only compiles. Raises Error where there is none.

    Its launcher is the one beside it, "" where there is none: a login node needs none.
    """
    path = shutil.which(compiler)
    if path is None:
        raise Error(f"{compiler} is no program: name the compiler of an MPI, mpicc say")
    folder, name = os.path.split(path)
    ending = name[len("mpicc") :] if name.startswith("mpicc") else ""
    found = (shutil.which(f"{one}{ending}", path=folder) for one in ("mpirun", "mpiexec"))
    open_mpi = "Open MPI" in _said_by([path, "--showme:version"])
    return Mpi(next(filter(None, found), ""), path, open_mpi, _hdf5_packages(open_mpi))


def launcher_version(path: str) -> str:
    """The MPI of a launcher as traces name it; "" where it says none that iotune knows."""
    said = _said_by([path, "--version"])
    for pattern, name in _SAID:
        match = pattern.search(said)
        if match:
            return name + match[1]
    return ""


def _said_by(command: Sequence[str]) -> str:
    """Both streams of a program that says its version; "" where it does not start or end."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=_SECONDS,
            check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr


def _hdf5_packages(open_mpi: bool) -> tuple[str, ...]:
    flavour = "openmpi" if open_mpi else "mpich"
    packages = (os.environ.get("IOTUNE_HDF5_PKG", ""), f"hdf5-{flavour}", "hdf5-mpi", "hdf5")
    return tuple(filter(None, packages))


def _describe(launcher: str) -> Mpi:
    open_mpi = is_open_mpi(launcher)
    flavour = "openmpi" if open_mpi else "mpich"
    beside = os.path.dirname(launcher)
    names = [f"mpicc.{flavour}", "mpicc"]
    given = os.environ.get("IOTUNE_MPICC", "")
    compiler = shutil.which(given) if given else None
    # The compiler beside the launcher belongs to it; another MPI's may come first on PATH.
    for path in (beside, None):
        for name in names:
            compiler = compiler or shutil.which(name, path=path)
    return Mpi(launcher, compiler, open_mpi, _hdf5_packages(open_mpi))


def is_open_mpi(launcher: str) -> bool:
    """Whether a launcher is Open MPI's. Raises Error where it does not start."""
    try:
        done = subprocess.run(
            [launcher, "--version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise Error(f"{launcher} --version: {problem}") from None
    # Under another name than mpirun, Open MPI 4 says OpenRTE.
    return any(name in done.stdout + done.stderr for name in ("Open MPI", "OpenRTE"))


def _is_parallel(root: Path) -> bool:
    try:
        said = (root / "include" / "H5pubconf.h").read_text(errors="replace")
    except OSError:
        return False
    return re.search(r"^#define H5_HAVE_PARALLEL\b", said, re.MULTILINE) is not None


def hdf5_flags(mpi: Mpi) -> list[str]:
    """Compiler and linker words for the parallel HDF5 of this MPI. Raises Error without one."""
    root = hdf5_root()
    beside = Path(mpi.hdf5_library).parent.parent
    if not root and mpi.hdf5_library and _is_parallel(beside):
        root = str(beside)  # the run's own
    # What a module of the site names goes before what the system has, if it is parallel.
    if root and not os.environ.get("IOTUNE_HDF5_PKG") and _is_parallel(Path(root)):
        return _flags_of_root(root)
    for package in mpi.hdf5_packages:
        flags = _flags_of_package(package)
        if flags is not None:
            return flags
    if root:
        return _flags_of_root(root)
    tool = shutil.which("pkg-config")
    looked = ", ".join(mpi.hdf5_packages) if tool else "is not installed"
    raise Error(
        f"no parallel HDF5 found (pkg-config: {looked}; HDF5_ROOT is not set): install its headers "
        f"(Debian: libhdf5-{mpi.flavour}-dev{'' if tool else ' pkg-config'})"
    )


def hdf5_flags_of(named: str) -> list[str]:
    """The same for an HDF5 by its root, a path with a slash, or by pkg-config's name of it.

    Raises Error where it is not there, and where a root's headers say that it is not parallel.
    """
    if "/" not in named:
        flags = _flags_of_package(named)
        if flags is None:
            raise Error(f"pkg-config knows no {named}; a root of an HDF5 is a path, ./{named} say")
        return flags
    root = os.path.abspath(named)
    if not _is_parallel(Path(root)):
        why = "says in include/H5pubconf.h that it is not parallel"
        if not os.path.isfile(os.path.join(root, "include", "H5pubconf.h")):
            why = "has no include/H5pubconf.h: name the folder above it"
        raise Error(f"the HDF5 in {root} {why}")
    return _flags_of_root(root)


def hdf5_root() -> str:
    """What a module of the site names by HDF5_ROOT or HDF5_DIR; "": nothing."""
    return os.environ.get("HDF5_ROOT") or os.environ.get("HDF5_DIR") or ""


def _flags_of_root(root: str) -> list[str]:
    library = os.path.join(root, "lib")
    return [f"-I{root}/include", f"-L{library}", f"-Wl,-rpath,{library}", "-lhdf5"]


def _flags_of_package(package: str) -> list[str] | None:
    tool = shutil.which("pkg-config")
    if tool is None:
        return None
    done = subprocess.run(
        [tool, "--cflags", "--libs", package], capture_output=True, text=True, check=False
    )
    return shlex.split(done.stdout) if done.returncode == 0 else None
