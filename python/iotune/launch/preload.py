"""Where libiotune.so lies, in a form that LD_PRELOAD can take."""

from __future__ import annotations

import os
from pathlib import Path

from iotune.errors import Error

LIBRARY = "libiotune.so"
DATABASE_LIBRARY = "libiotune-db.so"
YIELD_LIBRARY = "libiotune-yield.so"


def library_directories() -> list[Path]:
    """Where native libraries are looked for: the installed package, then IOTUNE_LIB's folder."""
    found = [Path(__file__).parents[1] / "lib"]
    development = os.environ.get("IOTUNE_LIB", "")
    if development:
        given = Path(development)
        found.append(given if given.is_dir() else given.parent)
    return found


def find_library(name: str) -> Path | None:
    """Absolute path of a native library of this installation, or None."""
    for directory in library_directories():
        candidate = directory / name
        if candidate.is_file():
            return Path(os.path.abspath(candidate))
    return None


def preload_path(name: str = LIBRARY) -> str:
    """The path of an installed library for LD_PRELOAD; see loadable().

    Raises Error where the library is missing or no link can be made.
    """
    library = find_library(name)
    if library is None:
        looked = ", ".join(str(directory) for directory in library_directories())
        raise Error(f"{name} is not installed (looked in {looked}); reinstall iotune")
    return loadable(library)


def loadable(library: Path) -> str:
    """A path of `library` that LD_PRELOAD can take.

    The dynamic linker splits LD_PRELOAD at spaces and colons. Where the library's path has
    one, a link to its *directory* is made, so that what lies beside it is still beside it.
    """
    if not set(" :\t\n") & set(str(library)):
        return str(library)
    link = _link_to(library.parent)
    return str(link / library.name)


def _link_to(directory: Path) -> Path:
    # Seldom needed, and `iotune lib` is to be quick.
    import hashlib
    import secrets

    from iotune.locations import make_private, temporary_root

    private = make_private(temporary_root())
    target = str(directory)
    link = private / ("lib-" + hashlib.sha256(os.fsencode(target)).hexdigest()[:12])
    if _points_to(link, target):
        return link
    fresh = private / f".lib-{secrets.token_hex(6)}"
    try:
        fresh.symlink_to(target)
        os.replace(fresh, link)
    except OSError as problem:
        fresh.unlink(missing_ok=True)
        raise Error(f"cannot make the link {link}: {problem.strerror}") from problem
    return link


def _points_to(link: Path, target: str) -> bool:
    try:
        return link.lstat().st_uid == os.getuid() and os.readlink(link) == target
    except OSError:
        return False
