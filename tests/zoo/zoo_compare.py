"""What a run left, and where two runs differ."""

from __future__ import annotations

import fnmatch
import hashlib
import re
import stat
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from zoo.zoo_table import Entry, Exception_

# In what h5dump prints: the address of an object that a reference leads to.
ADDRESS = re.compile(rb'\b(DATASET|GROUP|DATATYPE) \d+ (?=")')
SIGNATURE = b"\x89HDF\r\n\x1a\n"


@dataclass(frozen=True)
class Left:
    """One run: its exit status, its output, and the folder it ran in, moved aside."""

    arm: str
    status: int
    out: bytes
    err: bytes
    folder: Path

    def reported(self) -> list[str]:
        """Lines of iotune on stderr."""
        return [line for line in _text(self.err) if line.startswith("iotune:")]


def _text(output: bytes) -> list[str]:
    return output.decode(errors="backslashreplace").splitlines()


def lines_of(output: bytes, entry: Entry) -> list[str]:
    """Output to compare: without iotune's lines and the table's; of ranks in any order."""
    lines = [line for line in _text(output) if not line.startswith("iotune:")]
    for exception in entry.lines:
        lines = [line for line in lines if not re.search(exception.match, line)]
    return sorted(lines) if entry.mpi else lines


def names_in(folder: Path) -> dict[str, str]:
    """Relative name of each entry below `folder`, and its kind and permissions."""
    found = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        kind = f"{stat.filemode(mode)}"
        if stat.S_ISLNK(mode):
            kind += f" -> {path.readlink()}"
        found[str(path.relative_to(folder))] = kind
    return found


def rule_for(name: str, entry: Entry) -> Exception_ | None:
    return next((e for e in entry.files if fnmatch.fnmatch(name, e.match)), None)


def is_hdf5(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(4096)
    return any(head[at : at + 8] == SIGNATURE for at in (0, 512, 1024, 2048))


def contents_of(path: Path, root: Path) -> bytes:
    """What h5dump prints of a file: data, types, attributes and links, no addresses."""
    done = subprocess.run(
        ["h5dump", str(path.relative_to(root))],
        cwd=root, capture_output=True, check=False, timeout=120,
    )  # fmt: skip
    dump = ADDRESS.sub(rb"\1 ", done.stdout)
    return dump if done.returncode == 0 else b"not readable: " + path.read_bytes()


def digest(path: Path, root: Path, contents: bool) -> str:
    data = contents_of(path, root) if contents and is_hdf5(path) else path.read_bytes()
    return hashlib.sha256(data).hexdigest()


def different_files(a: Left, b: Left, entry: Entry, contents: bool) -> list[str]:
    """One line for each name that differs; `contents`: offsets in HDF5 files may."""
    names_a, names_b = names_in(a.folder), names_in(b.folder)
    found = []
    for name in sorted({*names_a, *names_b}):
        rule = rule_for(name, entry)
        if rule is not None and rule.how == "never":
            continue
        if names_a.get(name) != names_b.get(name):
            found.append(f"{name}: {names_a.get(name)} became {names_b.get(name)}")
            continue
        path_a, path_b = a.folder / name, b.folder / name
        if not names_a[name].startswith("-") or (rule is not None and rule.how == "exists"):
            continue
        by_contents = contents or (rule is not None and rule.how == "contents")
        if digest(path_a, a.folder, by_contents) != digest(path_b, b.folder, by_contents):
            sizes = path_a.stat().st_size, path_b.stat().st_size
            found.append(f"{name}: other {'contents' if by_contents else 'bytes'}, sizes {sizes}")
    return found


def first_difference(a: Sequence[str], b: Sequence[str]) -> str:
    for number, (x, y) in enumerate(zip(a, b, strict=False), 1):
        if x != y:
            return f"line {number}: {x[:150]!r} became {y[:150]!r}"
    longer = a if len(a) > len(b) else b
    return f"{len(a)} lines became {len(b)}; the first more: {longer[min(len(a), len(b))][:200]!r}"


def differences(a: Left, b: Left, entry: Entry, contents: bool = False) -> list[str]:
    """Where run `b` is not what run `a` was; empty where they are alike."""
    found = []
    if a.status != b.status:
        found.append(f"exit status {a.status} became {b.status}; stderr: {b.err[-600:]!r}")
    for what, x, y in (("stdout", a.out, b.out), ("stderr", a.err, b.err)):
        lines_a, lines_b = lines_of(x, entry), lines_of(y, entry)
        if lines_a != lines_b:
            found.append(f"{what}: {first_difference(lines_a, lines_b)}")
    return found + different_files(a, b, entry, contents)
