"""docs/settings.md, from the table of parameters that the library has.

`python -m iotune.database.settings_page > docs/settings.md` writes it anew.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

from iotune import core

_HEAD = """# Settings

Every parameter that iotune may set, by the layer that it belongs to. Names are those of HDF5,
ROMIO, OMPIO, Cray's MPI-IO and Lustre. This page is made from patterndb/settings/parameters.h and
parameter_gates.h; a value outside of its range is refused with a line that names it.

- **On disk** says what a setting changes of a file. *Allocation* means other offsets and another
  size with the same contents, *placement* where the file system puts a new file. *Layout* is what
  readers of raw offsets notice.
- **Candidate** says whether `iotune train` may try the setting. The others are set only where a
  user asks for them by name, in H5Tuner's XML ([The pattern database](database.md)).
- **Gate** is what must hold before the setting is applied. *Agreed by all ranks* means that the
  ranks compare what each of them would apply, inside of the program's own collective call.

A setting also has to be known as right for the MPI and HDF5 at hand.
[What may be set](safety.md) has that table, where each setting is read back from, and its tests.
`iotune prove --list` prints what is known on this machine.
"""
_TITLES = {
    "hdf5 file access": "HDF5: access to a file",
    "hdf5 dataset access": "HDF5: access to a dataset",
    "hdf5 dataset creation": "HDF5: creation of a dataset",
    "hdf5 dataset transfer": "HDF5: transfers",
    "mpi-io hint": "MPI-IO hints",
    "file system": "Placement of new files",
    "posix": "POSIX",
}
_WORDS = {"choice": "enable, disable or automatic", "switch": "enable or disable", "text": "text"}
_UNITS = ("TiB", "GiB", "MiB", "KiB")


def _amount(value: int, unit: str) -> str:
    if unit == "bytes":
        for power, name in zip(range(4, 0, -1), _UNITS):
            if value and value % 1024**power == 0:
                return f"{value >> 10 * power} {name}"
    return str(value)


def _values(one: dict[str, Any]) -> str:
    """What may be set, in words: the range with its unit, or the words themselves."""
    kind, unit = one["kind"], one["unit"]
    if one["max"] == 0:
        return str(_WORDS.get(kind, kind))
    text = f"{_amount(one['min'], unit)} to {_amount(one['max'], unit)}"
    text += "" if text.endswith("B") or unit == "mode" else f" {unit}"
    if kind == "pair":
        text = f"threshold,alignment, each {text}"
    if kind == "list":
        text = f"separated by commas, each {text}"
    if one["multiple"] > 1:
        text += f", a multiple of {_amount(one['multiple'], unit)}"
    return text


def page() -> str:
    """The whole page, as Markdown."""
    parts = [_HEAD]
    for layer, members in groupby(core.parameters(), key=lambda one: str(one["layer"])):
        rows = [
            "| name | values | on disk | candidate | gate |",
            "| --- | --- | --- | --- | --- |",
        ]
        for one in members:
            trainable = "yes" if one["trainable"] else "no"
            cells = (one["name"], _values(one), one["disk"], trainable, one["gate"])
            rows.append(f"| {' | '.join(cells)} |")
        parts.append(f"## {_TITLES[layer]}\n\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    print(page(), end="")
