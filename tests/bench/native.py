"""What benchmarks compile."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from support.repository import TESTS


def _found(source: str) -> Path:
    (found,) = [*TESTS.glob(f"bench/**/{source}"), *TESTS.glob(f"*/programs/**/{source}")]
    return found


def compiled(source: str, folder: Path, flags: Sequence[str] = ()) -> Path:
    """Compile a C source of a benchmark or of a test's program, once per content and flags."""
    text = _found(source).read_bytes()
    key = hashlib.sha256(text + "\0".join(flags).encode()).hexdigest()[:12]
    suffix = ".so" if "-shared" in flags else ""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder.resolve() / f"{Path(source).stem}-{key}{suffix}"
    if not target.exists():
        draft = target.with_name(f"{target.name}.{os.getpid()}")
        compiler = os.environ.get("CC", "cc")
        subprocess.run(
            [compiler, "-O2", "-Wall", "-Wextra", str(_found(source)), "-o", str(draft), *flags],
            check=True,
        )
        draft.replace(target)
    return target


def shared(source: str, folder: Path, flags: Sequence[str] = ()) -> Path:
    """Compile a C source of a benchmark into a shared object."""
    return compiled(source, folder, ["-shared", "-fPIC", *flags])


def yield_shim(build: Path) -> Path:
    """Return the preload of kernels/measure/yield_shim.c, for runs with more ranks than cores.

    It goes into every arm of a comparison, never into one.
    """
    return build / "lib" / "libiotune-yield.so"
