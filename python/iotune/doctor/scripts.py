"""Scripts: their interpreters, and what a Python script imports."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

# Modules whose compiled parts bring an HDF5 or an MPI, and those that import one of them.
HOLDERS = ("h5py", "netCDF4", "tables", "mpi4py", "adios2")
_BEHIND = {
    "h5netcdf": ("h5py",), "pandas": ("tables",), "xarray": ("netCDF4", "h5py"),
}  # fmt: skip
_MOST_LIBRARIES = 12
_SECONDS = 60
# The script's folder comes first on the path, as Python has it; nothing of it is imported, nor of
# the folder that the doctor stands in.
_WHERE = """
import sys
sys.path = [one for one in sys.path if one not in ("", "/")]
import importlib.util, json
sys.path.insert(0, sys.argv[1])
found = {}
for name in sys.argv[2:]:
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        spec = None
    if spec is not None and spec.submodule_search_locations:
        found[name] = list(spec.submodule_search_locations)
print(json.dumps(found))
"""


@dataclass(frozen=True)
class Script:
    """A script and who reads it."""

    path: str
    interpreter: str  # absolute; "": it is not there
    named: str  # as the first line or the command names it
    text: str

    @property
    def is_python(self) -> bool:
        """Whether a Python reads it."""
        return is_python(self.interpreter or self.named)


def is_python(program: str) -> bool:
    """By its name: python3.11, pypy3."""
    return re.match(r"(python|pypy)[\d.]*$", os.path.basename(program)) is not None


def script_at(path: str) -> Script | None:
    """The script with its first line's interpreter; None where that line is none."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(1 << 20)
    except OSError:
        return None
    if not content.startswith(b"#!"):
        return None
    text = content.decode(errors="replace")
    words = text[2:].splitlines()[0].split() if text[2:].strip() else []
    if not words:
        return Script(path, "", "nothing", text)
    named = words[0]
    if os.path.basename(named) == "env":
        rest = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
        named = rest[0] if rest else named
        return Script(path, shutil.which(named) or "", named, text)
    return Script(path, named if os.access(named, os.X_OK) else "", named, text)


def script_of_command(interpreter: str, words: Sequence[str]) -> Script | None:
    """What `python3 [options] FILE` reads; `words` stand behind the interpreter."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        if words[at] in ("-c", "-m", "-"):
            return None
        at += 2 if words[at] in ("-W", "-X", "--check-hash-based-pycs") else 1
    if at == len(words):
        return None
    try:
        text = Path(words[at]).read_bytes()[: 1 << 20].decode(errors="replace")
    except OSError:
        return None
    return Script(os.path.abspath(words[at]), interpreter, interpreter, text)


def imports_of(text: str) -> list[str]:
    """Top-level names of the modules that a Python source imports anywhere, each once."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return []
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.append(node.module)
    return list(dict.fromkeys(name.partition(".")[0] for name in found))


def extensions_of(script: Script, modules: Sequence[str]) -> dict[str, list[str]]:
    """Compiled parts of modules as the script's Python finds them; a module without is left out.

    One of each folder, as these are linked alike (Debian's h5py has one with MPI and one without).
    """
    behind = [name for one in modules for name in _BEHIND.get(one, ())]
    asked = [name for name in HOLDERS if name in modules or name in behind]
    if not asked or not script.interpreter:
        return {}
    kept = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    folder = os.path.dirname(os.path.abspath(script.path))
    words = [script.interpreter, "-c", _WHERE, folder, *asked]
    try:
        done = subprocess.run(
            words, env=kept, capture_output=True, text=True, timeout=_SECONDS, check=False,
            stdin=subprocess.DEVNULL, cwd="/",
        )  # fmt: skip
        places: dict[str, list[str]] = json.loads(done.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return {}
    found: dict[str, list[str]] = {}
    for name, folders in places.items():
        first: dict[Path, str] = {}
        for folder in folders:
            for path in sorted(Path(folder).rglob("*.so")):
                first.setdefault(path.parent, str(path))
        if first:
            found[name] = list(first.values())[:_MOST_LIBRARIES]
    return found
