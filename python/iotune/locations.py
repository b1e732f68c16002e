"""Where iotune keeps its own files: buffers, traces, caches.

Nothing here creates a directory unless its name says so, and every directory that is
created is private to the user (0700) and checked to be so: some lie below /tmp or /dev/shm,
where another user could have been first.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import socket
import stat
import time
from pathlib import Path

from iotune.errors import Error

# Traces beyond this are deleted from the default directory, oldest first.
# As in recorder/gather/kept_traces.h.
TRACES_CAP_BYTES = 256 * 1024 * 1024
MOST_TRACES = 4096
TRACE_SUFFIX = ".iotrace"
# What a process needs before it records anything.
_LEAST_BUFFER_BYTES = 512 * 1024


def _xdg(variable: str, default: str) -> Path:
    """The base directory of the XDG specification: relative values are to be ignored."""
    value = os.environ.get(variable, "")
    if value.startswith("/"):
        return Path(value)
    return Path(os.environ.get("HOME") or os.path.expanduser("~")) / default


def cache_dir() -> Path:
    """What can be made again: replayers built for an MPI and an HDF5."""
    return _xdg("XDG_CACHE_HOME", ".cache") / "iotune"


def state_dir() -> Path:
    """What runs leave behind; their buffers name it too."""
    return _xdg("XDG_STATE_HOME", ".local/state") / "iotune"


def _site_folder(name: str, make: bool = False) -> tuple[Path, str, bool] | None:
    """As core.site_traces_folder; None also where the native part is missing."""
    from iotune import core

    try:
        return core.site_traces_folder(name, make)
    except Error:
        return None


def _run_folder(name: str) -> Path:
    """In the site's folder for this user, where it can be had, else in the state directory.

    As recorder/gather/trace_file.cpp does it.
    """
    site = _site_folder(name)
    return state_dir() / name if site is None or site[1] else site[0]


def traces_dir() -> Path:
    """Where runs leave their traces unless IOTUNE_TRACE or -o names a file."""
    return _run_folder("traces")


def made_traces_dir() -> Path:
    """traces_dir(), made where it is missing, for the readers that the site asks for."""
    site = _site_folder("traces", make=True)
    return make_private(state_dir() / "traces") if site is None or site[1] else site[0]


def why_not_of_site() -> str:
    """One line on why traces do not go where the site wants them; empty where they do."""
    site = _site_folder("traces")
    if site is None or not site[1]:
        return ""
    return f"the site's folder for traces, {site[0]}, {site[1]}: they go to the home"


def share_trace(trace: Path) -> None:
    """Let the group read a trace of ours in the site's folder, where the site asks for that."""
    site = _site_folder("traces")
    if site is not None and not site[1] and site[2] and trace.parent == site[0]:
        with contextlib.suppress(OSError):
            trace.chmod(0o640)


def pending_runs_dir() -> Path:
    """Runs that are still to be learnt from (patterndb/learn/pending_runs.h)."""
    return _run_folder("learn")


def waiting_runs_dirs() -> list[Path]:
    """Where such runs may wait: there, and in the home, from before the site named a folder."""
    folders = dict.fromkeys((pending_runs_dir(), state_dir() / "learn"))
    return [folder for folder in folders if folder.is_dir()]


def buffer_root() -> Path:
    """Node-local directory below which each run has a directory of process buffers."""
    value = os.environ.get("IOTUNE_BUFFER_DIR", "")
    return Path(value) if value else Path(f"/dev/shm/iotune-{os.getuid()}")


def buffers_of_others(run_id: str) -> list[tuple[int, Path]]:
    """Where processes of a run left buffers that had become other users: (user, directory).

    Only root sees them all.
    """
    if os.environ.get("IOTUNE_BUFFER_DIR"):
        return []
    found = []
    for directory in sorted(Path("/dev/shm").glob(f"iotune-*/{run_id}")):
        with contextlib.suppress(OSError):
            user = directory.lstat().st_uid
            if user != os.getuid():
                found.append((user, directory))
    return found


def temporary_root() -> Path:
    """The user's private directory below /tmp."""
    return Path(f"/tmp/iotune-{os.getuid()}")


def why_no_buffers() -> str:
    """Why no process buffer can be had on this node, in plain words; empty where one can."""
    root = buffer_root()
    try:
        found = root.lstat()
        if not stat.S_ISDIR(found.st_mode):
            return f"{root} is no directory"
        if found.st_uid != os.getuid():
            return f"{root} belongs to another user (IOTUNE_BUFFER_DIR names another place)"
        if found.st_mode & 0o022:
            return f"{root} may be written by others (chmod 700 it)"
    except OSError:
        found = None
    try:
        space = os.statvfs(root if found else root.parent)
    except OSError as problem:
        return f"{root}: {problem.strerror}"
    if space.f_bavail * space.f_frsize < _LEAST_BUFFER_BYTES:
        return f"there is no space left in {root} (IOTUNE_BUFFER_DIR names another place)"
    return ""


def make_private(directory: Path) -> Path:
    """Create `directory` with mode 0700, or check that the one there is ours and private.

    Raises Error where it is a link, belongs to someone else or is open to others.
    """
    try:
        directory.mkdir(mode=0o700, parents=True)
    except FileExistsError:
        pass
    except OSError as problem:
        raise Error(f"cannot create {directory}: {problem.strerror}") from problem
    found = directory.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise Error(f"{directory} is not a directory of yours; remove it")
    if found.st_mode & 0o022:
        raise Error(f"{directory} may be written by others; chmod 700 it")
    return directory


def host_label() -> str:
    """Name of this host as process buffers have it (core/os/host_label.h)."""
    name = os.fsencode(socket.gethostname()).partition(b".")[0]
    return re.sub(rb"[^A-Za-z0-9]", b"-", name).decode() or "node"


def new_run_id() -> str:
    """Unique over hosts and time, sortable by start, and safe as a part of a file name."""
    return f"{int(time.time()):x}{secrets.token_hex(4)}"


def trace_name(program: str, run_id: str, when: float) -> str:
    """`<YYYYmmdd-HHMMSS>-<program>-<run id>.iotrace`; `when` in seconds since the epoch."""
    plain = re.sub(r"[^A-Za-z0-9._+-]", "_", os.path.basename(program))[:64] or "program"
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(when))
    return f"{stamp}-{plain}-{run_id}{TRACE_SUFFIX}"


def kept_traces() -> list[Path]:
    """Traces in the default directory, newest first."""
    aged = []
    try:
        with os.scandir(traces_dir()) as entries:
            for entry in entries:
                if entry.name.endswith(TRACE_SUFFIX) and entry.is_file(follow_symlinks=False):
                    aged.append((entry.stat(follow_symlinks=False).st_mtime_ns, entry.path))
    except OSError:
        return []
    return [Path(path) for _, path in sorted(aged, reverse=True)]


def trim_traces(cap_bytes: int = TRACES_CAP_BYTES, most: int = MOST_TRACES) -> list[Path]:
    """Delete the oldest traces of the default directory until the rest fits; the newest stays."""
    removed = []
    total = 0
    for number, trace in enumerate(kept_traces()):
        try:
            total += trace.stat().st_size
            if number and (total > cap_bytes or number >= most):
                trace.unlink()
                removed.append(trace)
        except OSError:
            continue  # another command was faster
    return removed
