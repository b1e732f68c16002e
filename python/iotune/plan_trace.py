"""The HDF5 transfers of a trace, with the selections that each rank really made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iotune.calls import Call
from iotune.plan import Plan, Selection
from iotune.plan_build import DatasetCall, FileOpen, plan_of_calls
from iotune.trace import Trace


@dataclass(frozen=True)
class _Defined:
    """An iotune_dataset line."""

    file: str
    path: str
    element_bytes: int
    dims: tuple[int, ...]
    chunk: tuple[int, ...]
    filters: int
    type_class: int


def plan_of_trace(trace: Trace, only_file: str | None = None) -> tuple[Plan, list[str]]:
    """The plan of a trace and what in it had to be approximated or left out.

    Raises Error where it holds no transfer that can be replayed.
    """
    defined: dict[tuple[int, int], _Defined] = {}  # by process and object
    transfers: list[DatasetCall] = []
    opens: list[FileOpen] = []
    left_out = approximated = of_chunks = 0
    calls = list(trace.each_call(layer=("hdf5", "iotune")))
    ranks = max(trace.summary.ranks, 1)
    for call in calls:
        if call.name == "iotune_dataset":
            defined[(call.process, call.keys[0])] = _definition(call)
        elif call.name.removesuffix("_async") in ("H5Fcreate", "H5Fopen") and call.texts:
            opens.append(_open(call))
    for call in calls:
        if not call.name.startswith(("H5Dread", "H5Dwrite")) or (call.result or 0) < 0:
            continue
        of_chunks += "chunk" in call.name
        for moved in call.transfers or ({},):
            transfer, exact = _transfer(call, moved, defined)
            if transfer is None:
                left_out += 1
            else:
                transfers.append(transfer)
                approximated += not exact
    notes = []
    if left_out:
        notes.append(f"{left_out} transfer(s) left out: their selection is not in the trace")
    if approximated:
        notes.append(f"{approximated} selection(s) were too large to keep: their bounds are used")
    if of_chunks:
        notes.append(
            f"{of_chunks} transfer(s) of whole chunks as they lie in the file are replayed as "
            "H5Dread and H5Dwrite of their elements"
        )
    files = {one.file for one in transfers}
    opens = [_absolute(one, files) for one in opens]
    return plan_of_calls(transfers, opens, ranks, only_file), notes


def _absolute(opened: FileOpen, files: set[str]) -> FileOpen:
    """An open under the path by which the transfers know the file."""
    if opened.file in files:
        return opened
    for file in files:
        if Path(file).name == Path(opened.file).name and file.endswith(opened.file.lstrip("./")):
            return FileOpen(opened.rank, opened.start, file, opened.create)
    return opened


def _open(call: Call) -> FileOpen:
    # An asynchronous form has texts of its own in front.
    file = call.file or call.texts[-1]
    return FileOpen(max(call.rank, 0), call.start, file, call.name.startswith("H5Fcreate"))


def _definition(call: Call) -> _Defined:
    _, element_bytes, type_class, _, filters, n = call.numbers[:6]
    dims = call.numbers[6 : 6 + n]
    m = call.numbers[6 + n] if len(call.numbers) > 6 + n else 0
    chunk = call.numbers[7 + n : 7 + n + max(m, 0)]
    file, path = (*call.texts, "", "")[:2]
    return _Defined(file, path, element_bytes, dims, chunk, filters, type_class)


def _transfer(
    call: Call, moved: dict[str, Any], defined: dict[tuple[int, int], _Defined]
) -> tuple[DatasetCall | None, bool]:
    """What the call moved of one of its datasets, and whether that is all that is known."""
    dataset = defined.get((call.process, moved.get("object", 0)))
    if dataset is None or not dataset.path:
        return None, True
    selection, exact = _selection(moved["selection"])
    if selection is None:
        return None, True
    return (
        DatasetCall(
            rank=max(call.rank, 0),
            start=call.start,
            file=dataset.file,
            dataset=dataset.path,
            element_bytes=dataset.element_bytes,
            dims=dataset.dims,
            chunk=dataset.chunk,
            deflate=dataset.filters > 0,
            write=call.name.startswith("H5Dwrite"),
            collective=moved["mode"] == 1,
            selection=selection,
            type_class=dataset.type_class,
        ),
        exact,
    )


def _selection(told: dict[str, Any]) -> tuple[Selection | None, bool]:
    """A recorded selection, and whether it is the true one."""
    kind = told["kind"]
    if kind in ("none", "all"):
        return Selection(kind), True
    if kind == "regular":
        words = (*told["start"], *told["stride"], *told["count"], *told["block"])
        return Selection("slab", (words,)), True
    if kind == "blocks":
        corners = zip(told["first"], told["last"])
        return Selection("slab", tuple(_box(tuple(a), tuple(b)) for a, b in corners)), True
    if kind == "points":
        return Selection("points", tuple(tuple(point) for point in told["points"])), True
    if kind == "bounds":
        return Selection("slab", (_box(tuple(told["first"]), tuple(told["last"])),)), False
    return None, True


def _box(first: tuple[int, ...], last: tuple[int, ...]) -> tuple[int, ...]:
    """The slab from one corner to the other, both included."""
    n = len(first)
    return first + (1,) * n + tuple(b - a + 1 for a, b in zip(first, last)) + (1,) * n
