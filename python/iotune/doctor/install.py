"""Checks of the install itself: its libraries, their versions, a recording, the database."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing, suppress
from pathlib import Path

import iotune
from iotune import core
from iotune.doctor.check import FAILS, PARTLY, WORKS, Check
from iotune.errors import Error
from iotune.launch.limited_run import run_limited
from iotune.launch.preload import DATABASE_LIBRARY, find_library, loadable, preload_path
from iotune.launch.start import preload_environment
from iotune.locations import new_run_id
from iotune.reports.tables import count_text
from iotune.traces.leftovers import collect_run, run_of_iotune
from iotune.traces.trace import open_trace

_SECONDS = 60
_AGAIN = "install iotune again on this system (README.md, Install)"
_PROGRAM = "import sys; file = open(sys.argv[1], 'wb', 0); file.write(bytes(8192)); file.close()"
_BYTES = 8192


def install_checks() -> list[Check]:
    """All checks of this file. Without the native part no others can follow it."""
    found = [_library(), _database_library(), _versions()]
    try:
        core.native_part()
    except Error:
        return found
    return [*found, _recording(), _database()]


def _library() -> Check:
    try:
        path = preload_path()
    except Error as problem:
        return Check("library", FAILS, str(problem), _AGAIN)
    fault = _loading_fault(path)
    if fault:
        return Check("library", FAILS, fault, _AGAIN, path)
    return Check("library", WORKS, f"programs of this node load it ({_glibc()})", "", path)


def _glibc() -> str:
    with suppress(OSError, ValueError):
        return os.confstr("CS_GNU_LIBC_VERSION") or "an unknown libc"
    return "an unknown libc"


def _loading_fault(path: str) -> str:
    """What the dynamic linker says against a library; empty: nothing."""
    environment = preload_environment(_without_iotune(), path, {"IOTUNE_MODE": "off"})
    environment["LD_PRELOAD"] = path
    try:
        done = run_limited([sys.executable, "-I", "-S", "-c", ""], environment, _SECONDS)
    except (OSError, subprocess.TimeoutExpired) as problem:
        return str(problem)
    said = [line for line in done.stderr.splitlines() if "ld.so" in line or "cannot" in line]
    return said[0] if said else "" if done.returncode == 0 else f"status {done.returncode}"


def _without_iotune() -> dict[str, str]:
    kept = ("IOTUNE_BUFFER_DIR", "IOTUNE_SITE_CONFIG")
    return {
        key: value
        for key, value in os.environ.items()
        if key in kept or not key.startswith("IOTUNE_")
    }


def _database_library() -> Check:
    path = find_library(DATABASE_LIBRARY)
    if path is None:
        return Check("database-library", FAILS, f"{DATABASE_LIBRARY} is not installed", _AGAIN)
    fault = _loading_fault(loadable(path))
    if fault:
        return Check("database-library", FAILS, fault, _AGAIN, str(path))
    return Check("database-library", WORKS, "it loads, with the SQLite inside it", "", str(path))


def _versions() -> Check:
    own = iotune.__version__
    try:
        core.native_part()
    except Error as problem:
        return Check("versions", FAILS, str(problem), _AGAIN)
    with suppress(importlib.metadata.PackageNotFoundError):
        installed = importlib.metadata.version("iotune")
        if installed != own:
            return Check("versions", FAILS, f"package {installed} with the sources of {own}",
                         "remove the older one: pip uninstall iotune")  # fmt: skip
    if os.environ.get("IOTUNE_LIB"):
        return Check("versions", PARTLY, f"{own}, with libraries that IOTUNE_LIB may name: "
                     f"{os.environ['IOTUNE_LIB']}", "unset IOTUNE_LIB")  # fmt: skip
    command = shutil.which("iotune")
    beside = os.path.join(os.path.dirname(sys.executable), "iotune")
    if command and os.path.exists(beside) and not os.path.samefile(command, beside):
        return Check("versions", PARTLY, f"{own}, and PATH has another one: {command}",
                     f"put {os.path.dirname(beside)} first on PATH")  # fmt: skip
    return Check("versions", WORKS, f"{own}: package, native part and command agree")


def _recording() -> Check:
    """Run a program of a few calls under the preload, and read its trace."""
    if core.site_switches_off():
        return Check("recording", FAILS, "the site has switched iotune off",
                     "see site-limits")  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="iotune-doctor-") as scratch:
        run_id, trace = new_run_id(), Path(scratch) / "run.iotrace"
        settings = {
            "IOTUNE_MODE": "record", "IOTUNE_DB": "none", "IOTUNE_TRACE": str(trace),
            "IOTUNE_RUN_ID": run_id, "IOTUNE_RUN_OWNER": str(os.getpid()),
            "IOTUNE_INCLUDE": f"{scratch}/*",
        }  # fmt: skip
        command = [sys.executable, "-I", "-S", "-c", _PROGRAM, f"{scratch}/file"]
        try:
            environment = preload_environment(_without_iotune(), preload_path(), settings)
            with run_of_iotune(run_id) as buffers:
                done = run_limited(command, environment, _SECONDS)
                collect_run(buffers, trace, patience_seconds=1.0, observe=False)
            if not trace.exists():
                said = [one for one in done.stderr.splitlines() if one.strip()]
                return Check("recording", FAILS, said[0] if said else "no trace was written",
                             "see library, buffers and process-limits")  # fmt: skip
            summary = open_trace(trace).summary
        except (Error, OSError, subprocess.TimeoutExpired) as problem:
            return Check("recording", FAILS, str(problem), "see library and buffers")
    moved = sum(file.bytes_written for file in summary.files)
    if moved != _BYTES:
        return Check("recording", FAILS, f"{moved} of {_BYTES} bytes were seen",
                     "see preloads: another library may have the calls")  # fmt: skip
    return Check("recording", WORKS, f"a program of this node was recorded: {_BYTES} bytes written")


def _database() -> Check:
    if os.environ.get("IOTUNE_DB") == "none":
        return Check("database", PARTLY, "IOTUNE_DB=none: nothing is looked up or learnt",
                     "unset IOTUNE_DB")  # fmt: skip
    try:
        path = core.default_database()
    except Error as problem:
        return Check("database", FAILS, str(problem), "set HOME, or IOTUNE_DB")
    lower = [str(one) for one in core.lower_databases()]
    beneath = f"; beneath it {', '.join(lower)}" if lower else ""
    parent = next((one for one in path.absolute().parents if one.exists()), Path("/"))
    if not path.exists():
        if not os.access(parent, os.W_OK):
            return Check("database", PARTLY, f"not there, and {parent} cannot be written{beneath}",
                         "name another place in IOTUNE_DB", str(path))  # fmt: skip
        return Check("database", WORKS, f"not there yet: a run makes it{beneath}", "", str(path))
    try:
        core.Database(path, read_only=True)
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            (fault,) = database.execute("PRAGMA quick_check(1)").fetchone()
            (patterns,) = database.execute("SELECT count(*) FROM patterns").fetchone()
            (answers,) = database.execute("SELECT count(*) FROM tunings").fetchone()
    except (Error, sqlite3.Error) as problem:
        return Check("database", FAILS, str(problem),
                     "put it aside: a run begins a new one", str(path))  # fmt: skip
    if fault != "ok":
        return Check("database", FAILS, f"damaged: {fault}",
                     "put it aside, or get it back by sqlite3's .recover", str(path))  # fmt: skip
    said = f"{count_text(patterns, 'pattern')}, {count_text(answers, 'answer')}{beneath}"
    if not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        return Check("database", PARTLY, f"{said}; read-only for you: runs leave what they learn "
                     "in your spool", "`iotune db ingest` by its owner folds it in",
                     str(path))  # fmt: skip
    return Check("database", WORKS, said, "", str(path))
