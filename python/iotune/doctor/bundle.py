"""A file for a support ticket: what the doctor found, and what the last run left, scrubbed."""

from __future__ import annotations

import importlib.metadata
import io
import json
import os
import platform
import re
import subprocess
import sys
import tarfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import iotune
from iotune import core
from iotune.doctor.directory import mount_of
from iotune.doctor.mpis import launchers
from iotune.doctor.scrub import Scrubber
from iotune.doctor.visit import Visit
from iotune.errors import Error
from iotune.launch.limited_run import run_limited
from iotune.launch.start import programs_and_words
from iotune.locations import buffer_root, kept_traces, traces_dir
from iotune.output_file import new_file
from iotune.reports.tables import path_text
from iotune.traces.trace import open_trace

_VARIABLES = re.compile(
    r"^(IOTUNE_|HDF5_|H5PY_|ROMIO_|MPICH_|MPIIO_|I_MPI_|MV2_|OMPI_MCA_|PRTE_MCA_|PMIX_MCA_|UCX_|"
    r"FI_PROVIDER$|LD_PRELOAD$|LD_LIBRARY_PATH$|PYTHONPATH$)"
)
_SECRET = re.compile(r"TOKEN|SECRET|PASSW|CREDENTIAL|COOKIE|_KEY$")
_SECONDS = 120
_MOST_BYTES = 1 << 20  # of each text


def write_bundle(found: Visit, target: Path) -> list[tuple[str, int, str]]:
    """Write `target`, which must not be there; the name, bytes and meaning of each part.

    Raises Error.
    """
    trace = next(iter(kept_traces()), None)
    hosts, paths = _names_of(trace)
    paths += [path for path in (str(found.directory or ""), os.getcwd()) if path]
    scrubber = Scrubber(hosts, paths)
    shown = {**found.as_json(), "command": _without_arguments(found.command)}
    parts = [
        ("doctor.json", "what iotune doctor found (doctor.schema.json)",
         json.dumps(scrubber.values(shown), indent=2)),
        ("versions.txt", "iotune, Python, the kernel, MPIs", scrubber.text(_versions())),
        ("variables.txt", "those of iotune, MPI, HDF5, hints", scrubber.text(_variables())),
        ("mounts.txt", "the file systems of its folders", scrubber.text(_mounts(found))),
    ]  # fmt: skip
    if trace is not None:
        for name, what in (("show", "the last run's patterns"), ("explain", "its decisions")):
            said = _said_by(name, "--all", str(trace))
            parts.append((f"{name}.txt", f"{what}: iotune {name}", scrubber.text(said)))
    rows = [(name, len(text.encode("utf-8", "replace")), what) for name, what, text in parts]
    _write(target, parts, rows)
    return rows


def _write(
    target: Path, parts: Sequence[tuple[str, str, str]], rows: Sequence[tuple[str, int, str]]
) -> None:
    listed = "".join(f"{name:<14}{size:>9} bytes  {what}\n" for name, size, what in rows)
    head = (
        "A support bundle of iotune. User and host names, homes, e-mail and network addresses are\n"
        "replaced; of folders that are not the system's stand numbers. Last names, as of files,\n"
        f"datasets and programs, are as they were: look through it before you send it.\n\n{listed}"
    )
    with new_file(target, force=False) as file, tarfile.open(fileobj=file, mode="w:gz") as archive:
        for name, text in [("README.txt", head), *((name, text) for name, _, text in parts)]:
            content = text.encode("utf-8", "replace")
            member = tarfile.TarInfo(f"iotune-bundle/{name}")  # without an owner's name
            member.size, member.mtime, member.mode = len(content), int(time.time()), 0o644
            archive.addfile(member, io.BytesIO(content))


def _names_of(trace: Path | None) -> tuple[list[str], list[str]]:
    """Hosts and paths that a trace holds."""
    if trace is None:
        return [], []
    try:
        run = open_trace(trace)
        rows = core.processes(trace)
        files = [file.path for file in run.summary.files]
    except Error:
        return [], [str(trace)]
    hosts = [str(row[key]) for row in rows for key in ("host", "node") if row.get(key)]
    return hosts, [str(trace), *files]


def _versions() -> str:
    lines = [
        f"iotune {iotune.__version__}",
        f"Python {platform.python_version()}",
        f"{os.confstr('CS_GNU_LIBC_VERSION')}",
        f"{platform.system()} {platform.release()} {platform.machine()}",
    ]
    lines += [f"{one.path}: {one.version or 'unknown'}" for one in launchers()]
    for name in ("numpy", "h5py", "mpi4py", "netCDF4"):
        with suppress(importlib.metadata.PackageNotFoundError):
            lines.append(f"{name} {importlib.metadata.version(name)}")
    return "\n".join(lines) + "\n"


def _variables() -> str:
    return "".join(
        f"{name}={'<left out>' if _SECRET.search(name) else ' '.join(os.environ[name].split())}\n"
        for name in sorted(os.environ)
        if _VARIABLES.match(name)
    )


def _mounts(found: Visit) -> str:
    lines = []
    for what, folder in (
        ("--on", found.directory),
        ("here", Path.cwd()),
        ("traces", traces_dir()),
        ("buffers", buffer_root()),
        ("database", core.default_database().parent),
    ):
        there = folder
        while there is not None and not there.exists() and there != there.parent:
            there = there.parent
        mount = mount_of(there) if there is not None else None
        if mount is not None and there is not None:
            # What is mounted stays out: a server's name is a host's.
            lines.append(f"{what}: {core.filesystem_of(there)}: type {mount.type} on {mount.point} "
                         f"({mount.plain_options})")  # fmt: skip
    return "\n".join(lines) + "\n"


# Not `-m iotune`: Python looks for modules in the present folder first, which may be anybody's.
_MAIN = """
import sys
sys.path = [one for one in sys.path if one]
sys.argv[0] = "iotune"
from iotune.entry import main
main()
"""


def _said_by(*words: str) -> str:
    return _output([sys.executable, "-c", _MAIN, *words])


def _without_arguments(command: Sequence[str]) -> list[str]:
    """A command whose programs' own arguments are left out: they may hold passwords."""
    words = list(command)
    for program, behind in programs_and_words(command):
        for at, word in enumerate(words):
            if word == program and words[at + 1 : at + 1 + len(behind)] == behind:
                words[at + 1 : at + 1 + len(behind)] = ["<argument>"] * len(behind)
                break
    return words


def _output(command: Sequence[str]) -> str:
    try:
        done = run_limited(command, None, _SECONDS)
    except subprocess.TimeoutExpired:
        return f"{path_text(command[-1])}: took longer than {_SECONDS} s\n"
    except OSError as problem:
        return f"{command[0]}: {problem.strerror}\n"
    text = done.stdout + done.stderr
    return text if len(text) <= _MOST_BYTES else text[:_MOST_BYTES] + "\n… cut here\n"
