"""What benchmarks compile and preload."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent


def compiled(source: str, folder: Path, flags: Sequence[str] = ()) -> Path:
    """Compile a C source of this folder, once per content and flags."""
    text = (HERE / source).read_bytes()
    key = hashlib.sha256(text + "\0".join(flags).encode()).hexdigest()[:12]
    suffix = ".so" if "-shared" in flags else ""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder.resolve() / f"{Path(source).stem}-{key}{suffix}"
    if not target.exists():
        draft = target.with_name(f"{target.name}.{os.getpid()}")
        compiler = os.environ.get("CC", "cc")
        subprocess.run(
            [compiler, "-O2", "-Wall", "-Wextra", str(HERE / source), "-o", str(draft), *flags],
            check=True,
        )
        draft.replace(target)
    return target


def shared(source: str, folder: Path, flags: Sequence[str] = ()) -> Path:
    """Compile a C source of this folder into a shared object."""
    return compiled(source, folder, ["-shared", "-fPIC", *flags])


def yield_shim(build: Path) -> Path:
    """Return the preload of kernels/yield_shim.c, for runs with more ranks than cores.

    It goes into every arm of a comparison, never into one.
    """
    return build / "lib" / "libiotune-yield.so"


def preload(*libraries: Path) -> str:
    """Return a value for LD_PRELOAD.

    The loader splits it at spaces and colons, and nothing quotes them: a library whose
    path has one is reached by a link.
    """
    names = []
    for library in libraries:
        name = str(library.resolve())
        if " " in name or ":" in name:
            digest = hashlib.sha256(name.encode()).hexdigest()[:12]
            folder = Path(tempfile.gettempdir()) / f"iotune-bench-{os.getuid()}-{digest}"
            folder.mkdir(mode=0o700, exist_ok=True)
            if folder.stat().st_uid != os.getuid():
                raise PermissionError(f"{folder} belongs to someone else")
            link = folder / library.name
            draft = folder / f"{library.name}.{os.getpid()}"
            draft.symlink_to(name)
            draft.replace(link)
            name = str(link)
        names.append(name)
    return ":".join(names)
