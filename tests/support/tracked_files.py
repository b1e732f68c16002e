"""The files of a tree that are under version control, for rules about all of them."""

from __future__ import annotations

import subprocess
from pathlib import Path


def tracked(root: Path) -> list[Path]:
    """Return the files under version control; all of them where there is no repository."""
    listing = subprocess.run(["git", "-C", str(root), "ls-files", "-z"], capture_output=True)
    top = subprocess.run(
        ["git", "-C", str(root), "rev-parse", "--show-toplevel"], capture_output=True, text=True
    )
    if listing.returncode == 0 and Path(top.stdout.strip() or "/") == root.resolve():
        names = [name for name in listing.stdout.decode().split("\0") if name]
        found = [root / name for name in names]
    else:
        found = list(root.rglob("*"))
    # A tracked file may be deleted in the working tree.
    return sorted(path for path in found if path.is_file() and not path.is_symlink())
