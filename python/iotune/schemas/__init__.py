"""What `--json` prints, as JSON Schemas: a file a command. Tests hold output against them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from iotune.errors import Error

_FOLDER = Path(__file__).parent
_ENDING = ".schema.json"


def names() -> list[str]:
    """The schemas: show, db-list and so on."""
    return sorted(path.name[: -len(_ENDING)] for path in _FOLDER.glob(f"*{_ENDING}"))


def schema(name: str) -> dict[str, Any]:
    """A schema by its name, in the dialect of 2020-12. Raises Error where there is none."""
    path = _FOLDER / f"{name}{_ENDING}"
    if name not in names():
        raise Error(f"there is no schema {name!r}; there are: {', '.join(names())}")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found
