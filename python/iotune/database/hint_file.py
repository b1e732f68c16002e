"""ROMIO's hint files: a line a hint, its name and its value; lines with # in front are remarks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from iotune import core
from iotune.errors import Error, shown

# What ROMIO takes as MPI_Info; "file system" ones are hints there too.
_LAYERS = ("mpi-io hint", "file system")


def _is_hint(parameter: Mapping[str, Any]) -> bool:
    return str(parameter["layer"]) in _LAYERS


def hint_text(settings: Mapping[str, str]) -> tuple[str, list[str]]:
    """A hint file's text, and the settings that are no hints and left out."""
    hints = {parameter["name"] for parameter in core.parameters() if _is_hint(parameter)}
    lines = [f"{name} {settings[name]}\n" for name in sorted(settings) if name in hints]
    return "".join(lines), sorted(set(settings) - hints)


def read_hints(text: str, source: str) -> tuple[dict[str, str], list[str]]:
    """Settings out of a hint file, and the names of hints that iotune does not know.

    Raises Error with the line of a value that is out of range, or of a hint given twice.
    """
    known = {parameter["name"] for parameter in core.parameters() if _is_hint(parameter)}
    settings: dict[str, str] = {}
    unknown: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split(None, 1)
        if not words or words[0].startswith("#"):
            continue
        name, value = words[0], "".join(words[1:]).strip()
        if name not in known:
            unknown.append(name)
            continue
        fault = core.fault_of_setting(name, value)
        if fault:
            raise Error(f"{source}:{number}: {name} {shown(value)}: the value {fault}")
        if name in settings:
            raise Error(f"{source}:{number}: {name} is given twice")
        settings[name] = value
    return settings, unknown
