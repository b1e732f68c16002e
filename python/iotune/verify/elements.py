"""Which elements of a dataset the transfers of HDF5 selected that the examples are of."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from iotune import core
from iotune.traces.call_filter import CallFilter
from iotune.traces.call_meaning import meaning_of
from iotune.traces.calls import CallReader
from iotune.verify.conflicts import Conflicts, Place
from iotune.verify.verdicts import FileVerdict, Verdicts

_SHOWN = 16  # sites of a file
_MOST_CALLS = 1 << 20  # of a trace that are looked at
_COLUMNS = ("process", "thread", "call", "file", "dataset", "offset_bytes", "length_bytes",
            "selection")  # fmt: skip

# A file, and of an access its process in all traces, direction, offset and length.
_Key = tuple[str, int, bool, int, int]


def with_elements(traces: Sequence[Path], found: Verdicts) -> Verdicts:
    """The same; examples within H5Dread and H5Dwrite name what these selected.

    Reads the first calls of the traces again where there are such. What an aggregator writes is
    left out: its own selection is not what it writes.
    """
    wanted = set(_wanted(found))
    if not wanted:
        return found
    elements: dict[_Key, str] = {}
    first = 0
    for path in traces:
        _read(path, first, wanted, elements)
        first += len(core.processes(path))
    return _named(found, elements)


def _wanted(found: Verdicts) -> Iterator[_Key]:
    for file in found.conflicts.files:
        for site in file.sites[:_SHOWN]:
            yield from (
                _key(file.path, one)
                for one in site.example
                if _may_have(one, site.first, site.second)
            )
    for said in found.files:
        for wrong in said.sites[: 4 * _SHOWN]:
            yield from (
                _key(said.path, one)
                for one in wrong.example or ()
                if _may_have(one, wrong.first, wrong.second)
            )


def _may_have(place: Place, *calls: str) -> bool:
    moves = any(one.startswith(("H5Dread", "H5Dwrite")) for one in calls)
    return moves and not (place.collective or place.truncates or place.metadata)


def _key(path: str, place: Place) -> _Key:
    return path, place.process, place.write, place.offset, place.length


def _read(path: Path, first: int, wanted: set[_Key], elements: dict[_Key, str]) -> None:
    """Adds what the trace has, whose processes are numbered from `first` on."""
    offsets = np.array(sorted({one[3] for one in wanted}), np.int64)
    layers = ("hdf5", "posix", "stdio", "mpiio")
    around: dict[tuple[int, int], tuple[str, str, str]] = {}  # by process and thread
    for batch in CallReader(path, CallFilter(layers=layers), _COLUMNS, _MOST_CALLS):
        moves = np.array([meaning_of(name).transfer for name in batch.names("call")])
        is_hdf5 = np.array([name.startswith("H5") for name in batch.names("call")])
        call = np.asarray(batch.numbers("call"))
        at_wanted = np.isin(np.asarray(batch.numbers("offset_bytes")), offsets) & moves[call]
        rows = np.flatnonzero(is_hdf5[call] | at_wanted)
        columns = [batch.values(name) for name in _COLUMNS]
        for row in rows.tolist():
            process, thread, name, file, dataset, offset, length, selection = (
                column[row] for column in columns
            )
            if name.startswith("H5"):
                is_known = meaning_of(name).transfer and dataset and selection
                around[process, thread] = (file, dataset, selection) if is_known else ("", "", "")
                continue
            key = (file, first + process, meaning_of(name).writes, offset, length)
            owner, dataset, text = around.get((process, thread), ("", "", ""))
            if key in wanted and key not in elements and owner == file:
                elements[key] = f"{_text(json.loads(text))} of {dataset}"
        if len(elements) == len(wanted):
            return


def _text(selection: dict[str, Any]) -> str:
    """Elements of each dimension, the slowest first."""
    kind = selection.get("kind")
    if kind == "all":
        return "all elements"
    if kind == "regular":
        parts = zip(*(selection[name] for name in ("start", "stride", "count", "block")))
        return f"elements {', '.join(_range(*part) for part in parts)}"
    if kind in ("blocks", "bounds", "points"):
        corners = selection.get("points") or [*selection["first"], *selection["last"]]
        if kind == "bounds":
            corners = [selection["first"], selection["last"]]
        sides = ", ".join(_span(min(side), max(side)) for side in zip(*corners))
        return f"elements within {sides}"
    return "unknown elements"


def _range(start: int, stride: int, count: int, block: int) -> str:
    last = start + (count - 1) * stride + block - 1
    if count == 1 or stride == block:
        return _span(start, last)
    each = f" {block}" if block > 1 else ""
    return f"{start}-{last} (each{each} of {stride})"


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def _named(found: Verdicts, elements: dict[_Key, str]) -> Verdicts:
    def both(path: str, example: tuple[Place, Place]) -> tuple[Place, Place]:
        one, other = (
            replace(place, elements=elements.get(_key(path, place), "")) for place in example
        )
        return one, other

    conflicts = tuple(
        replace(
            file,
            sites=tuple(
                replace(site, example=both(file.path, site.example)) for site in file.sites
            ),
        )
        for file in found.conflicts.files
    )
    files: tuple[FileVerdict, ...] = tuple(
        replace(
            said,
            sites=tuple(
                replace(one, example=one.example and both(said.path, one.example))
                for one in said.sites
            ),
        )
        for said in found.files
    )
    whole: Conflicts = replace(found.conflicts, files=conflicts)
    return replace(found, conflicts=whole, files=files)
