"""The replayer: found or built once per MPI and HDF5, and run on a plan."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from iotune.errors import Error
from iotune.launch.limited_run import run_limited
from iotune.launch.preload import YIELD_LIBRARY, find_library, library_directories
from iotune.locations import cache_dir, make_private
from iotune.prebuilt.lookup import prebuilt_program, prebuilt_shim
from iotune.replay import programs
from iotune.replay.mpi import Mpi, SerialHdf5, hdf5_flags


@dataclass(frozen=True)
class Replayed:
    """What the replayer printed."""

    bytes: int
    seconds: float  # the sum of the rounds
    files: int
    rounds: list[float]
    file_seconds: list[float]  # of each of the plan's files, median of the rounds; none of calls
    # By name, of each file what all ranks used; none of calls.
    file_counts: dict[str, list[float]] = field(default_factory=dict)


# Of a file, without the noise of times: processor time, and system calls that move bytes.
COUNTS = ("processor_seconds", "system_calls", "moved_bytes")


def find_replayer(mpi: Mpi) -> Path:
    """IOTUNE_REPLAY, the build's own, a prebuilt one, the cached one, or one compiled now.

    Of a single HDF5 that library itself. Raises Error where it has to be compiled and cannot be.
    """
    if isinstance(mpi, SerialHdf5):
        return Path(mpi.hdf5_library)
    given = os.environ.get("IOTUNE_REPLAY", "")
    if given:
        if not os.access(given, os.X_OK):
            raise Error(f"IOTUNE_REPLAY={given} is no program")
        return Path(given).absolute()
    return _found(programs.REPLAY, mpi)


def find_call_replayer(mpi: Mpi) -> Path:
    """The same for plans of calls, but for IOTUNE_REPLAY."""
    return _found(programs.CALLS, mpi)


def find_prover(mpi: Mpi, with_hdf5: bool) -> Path:
    """The prover, as find_call_replayer() finds its own."""
    return _found(programs.PROVE_HDF5 if with_hdf5 else programs.PROVE, mpi)


def find_sampler(mpi: Mpi) -> Path:
    """The program that samples response times, as find_call_replayer() finds its own."""
    return _found(programs.SAMPLE, mpi)


def _found(name: str, mpi: Mpi) -> Path:
    return _of_build(name, mpi) or prebuilt_program(name, mpi) or _compiled(name, mpi)


def _of_build(name: str, mpi: Mpi) -> Path | None:
    if not mpi.open_mpi:  # a build tree is MPICH's unless it says otherwise
        for directory in library_directories():
            built = directory.parent / "bin" / name
            if os.access(built, os.X_OK):
                return built
    return None


def _compiled(name: str, mpi: Mpi) -> Path:
    sources = programs.sources_of(name)
    if mpi.compiler is None:
        raise Error(
            f"no mpicc found for {mpi.launcher}: install it (Debian: lib{mpi.flavour}-dev), "
            "name it in IOTUNE_MPICC, or make what it is needed for where there is one, by "
            "iotune replayer build"
        )
    libraries = hdf5_flags(mpi) if name in programs.OF_HDF5 else programs.WITHOUT_HDF5
    return _built(name, mpi.compiler, programs.flags_of(sources), sources, libraries)


def find_yield_shim() -> Path | None:
    """The preload that keeps MPICH from burning its time slice, built where it is missing.

    None where there is no compiler: figures of more ranks than cores then measure spinning.
    """
    found = find_library(YIELD_LIBRARY) or prebuilt_shim()
    if found is not None:
        return found
    source = programs.shim_source()
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or source is None:
        return None
    try:
        return _built(
            YIELD_LIBRARY, compiler, programs.SHIM_FLAGS, [source], programs.SHIM_LIBRARIES
        )
    except Error:
        return None


def _built(
    name: str,
    compiler: str,
    flags: Sequence[str],
    sources: Sequence[Path],
    libraries: Sequence[str],
) -> Path:
    """A program of the cache, compiled where this compiler has not compiled these sources yet."""
    key = hashlib.sha256()
    for part in sorted(sources[0].parent.glob("*.[ch]")):
        key.update(part.read_bytes())
    key.update("\0".join([os.path.realpath(compiler), *flags, *libraries]).encode())
    # What tells two MPIs behind one compiler wrapper apart.
    key.update(subprocess.run([compiler, "-show"], capture_output=True, check=False).stdout)
    directory = make_private(cache_dir())
    stem, dot, suffix = name.partition(".")
    program = directory / f"{stem}-{key.hexdigest()[:16]}{dot}{suffix}"
    if os.access(program, os.X_OK):
        return program
    fresh = directory / f".{program.name}.{secrets.token_hex(4)}"
    programs.compile_program(name, compiler, flags, sources, libraries, fresh)
    os.replace(fresh, program)
    return program


_OTHER_LAUNCHER = "IOTUNE_MPIRUN names another launcher"


def run_plan(
    mpi: Mpi,
    replayer: Path,
    plan: Path,
    ranks: int,
    file_dir: Path,
    options: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    timeout_seconds: float | None = None,
) -> Replayed:
    """Replay `plan` with all its files in `file_dir`. Raises Error with the replayer's reason."""
    command = [*mpi.command(ranks), str(replayer), "--file-dir", str(file_dir), *options, str(plan)]
    try:
        done = run_limited(command, environment, timeout_seconds)
    except subprocess.TimeoutExpired:
        raise Error(f"the replay did not end within {timeout_seconds:.0f} s") from None
    except OSError as problem:
        raise Error(f"{command[0]}: {problem.strerror}") from None
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        said = " ".join(lines[:2]) or f"{command[0]} does not say why ({_OTHER_LAUNCHER})"
        raise Error(f"the replay failed ({done.returncode}): {said}"[:500])
    for line in reversed(done.stdout.splitlines()):
        if line.startswith("{"):
            with suppress(ValueError, TypeError, KeyError):  # of what else prints there
                return _replayed(json.loads(line))
    raise Error(f"{command[0]} succeeded, but no replay reported its times ({_OTHER_LAUNCHER})")


def _replayed(result: Mapping[str, Any]) -> Replayed:
    return Replayed(
        int(result["bytes"]),
        float(result["seconds"]),
        int(result["files"]),
        [float(one) for one in result["rounds"]],
        [float(one) for one in result.get("file_seconds", ())],
        {
            name: [float(one) for one in result[f"file_{name}"]]
            for name in COUNTS
            if f"file_{name}" in result
        },
    )


def room_of(directory: Path) -> int | None:
    """Bytes that may be written there: nine tenths of what is free.

    None where the file system tells no size at all (CephFS without a manager), or is not there.
    """
    with suppress(OSError):
        disk = shutil.disk_usage(directory)
        if disk.total > 0:
            return disk.free * 9 // 10
    return None


@contextmanager
def scratch_directory(parent: Path, needed_bytes: int) -> Iterator[Path]:
    """A directory of our own on the storage of `parent`, removed afterwards.

    The replayer may replace what lies in it, so it is never one of the user's. What a process that
    was killed left there is removed first. Raises Error where it cannot be made, or where
    `needed_bytes` are more than room_of() it. A file system that tells no size is tried.
    """
    try:
        _remove_abandoned(parent)
        room_bytes = room_of(parent)
        if room_bytes is not None and needed_bytes > room_bytes:
            free_mib = shutil.disk_usage(parent).free >> 20
            raise Error(
                f"{parent} has {free_mib} MiB free, the replay needs {needed_bytes >> 20}; "
                "--dir names another place"
            )
        directory, lock = _made_and_locked(parent)
    except OSError as problem:
        raise Error(
            f"no files can be written in {parent} ({problem.strerror}); --dir names another place"
        ) from None
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        os.close(lock)


_SCRATCH = ".iotune-replay-"


def _locked(directory: Path) -> int | None:
    """A descriptor that holds the directory's lock; None where another process holds it."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _made_and_locked(parent: Path) -> tuple[Path, int]:
    """A new directory, and what tells others that it is in use for as long as we live.

    Where the file system has no locks nobody removes it but we.
    """
    while True:
        directory = Path(tempfile.mkdtemp(prefix=_SCRATCH, dir=parent))
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Another training may have met it before it was locked.
        if directory.exists():
            return directory, descriptor
        os.close(descriptor)


def _remove_abandoned(parent: Path) -> None:
    """Remove scratch directories of ours whose process is gone: a SIGKILL leaves them."""
    for directory in parent.glob(f"{_SCRATCH}*"):
        with suppress(OSError):
            if directory.lstat().st_uid != os.getuid():
                continue
            lock = _locked(directory)
            if lock is not None:
                shutil.rmtree(directory, ignore_errors=True)
                os.close(lock)


def forget_files(directory: Path) -> None:
    """Let nobody have bytes of our own files in memory: the next reads come from the storage.

    Of a parallel file system the ranks' nodes are other clients than this one. A write takes
    their bytes away from them, and our own pages are dropped.
    """
    for path in directory.iterdir():
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDWR)
            try:
                first = os.pread(descriptor, 1, 0)
                os.pwrite(descriptor, first, 0)
                os.fsync(descriptor)
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)
