"""The HDF5 transfers of a trace, with the selections that each rank really made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from iotune.calls import Call
from iotune.plan import Plan, Selection
from iotune.plan_build import DatasetCall, FileOpen, plan_of_calls
from iotune.trace import Trace

# Numbers of H5Dread and H5Dwrite: five handles and the result, then the extras.
_OBJECT, _MODE, _KIND, _RANK_OF_SPACE = 6, 7, 10, 11
_NONE, _ALL, _REGULAR, _BLOCKS, _POINTS, _BOUNDS = range(6)


@dataclass(frozen=True)
class _Defined:
    """An iotune_dataset line."""

    file: str
    path: str
    element_bytes: int
    dims: tuple[int, ...]
    chunk: tuple[int, ...]
    filters: int


def plan_of_trace(trace: Trace, only_file: str | None = None) -> tuple[Plan, list[str]]:
    """The plan of a trace and what in it had to be approximated or left out.

    Raises Error where it holds no transfer that can be replayed.
    """
    defined: dict[tuple[int, int], _Defined] = {}  # by process and object
    transfers: list[DatasetCall] = []
    opens: list[FileOpen] = []
    left_out = approximated = 0
    calls = list(trace.each_call(layer=("hdf5", "iotune")))
    ranks = max(trace.summary.ranks, 1)
    for call in calls:
        if call.name == "iotune_dataset":
            defined[(call.process, call.keys[0])] = _definition(call)
        elif call.name in ("H5Fcreate", "H5Fopen") and call.texts:
            opens.append(_open(call))
    for call in calls:
        if call.name not in ("H5Dwrite", "H5Dread"):
            continue
        transfer, exact = _transfer(call, defined)
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
    return FileOpen(max(call.rank, 0), call.start, call.texts[0], call.name == "H5Fcreate")


def _definition(call: Call) -> _Defined:
    _, element_bytes, _, _, filters, n = call.numbers[:6]
    dims = call.numbers[6 : 6 + n]
    m = call.numbers[6 + n] if len(call.numbers) > 6 + n else 0
    chunk = call.numbers[7 + n : 7 + n + max(m, 0)]
    file, path = (*call.texts, "", "")[:2]
    return _Defined(file, path, element_bytes, dims, chunk, filters)


def _transfer(
    call: Call, defined: dict[tuple[int, int], _Defined]
) -> tuple[DatasetCall | None, bool]:
    if len(call.numbers) <= _KIND:
        return None, True
    dataset = defined.get((call.process, call.numbers[_OBJECT]))
    if dataset is None or not dataset.path:
        return None, True
    selection, exact = _selection(call.numbers[_KIND:])
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
            write=call.name == "H5Dwrite",
            collective=call.numbers[_MODE] == 1,
            selection=selection,
        ),
        exact,
    )


def _selection(words: tuple[int, ...]) -> tuple[Selection | None, bool]:
    """The extras from the selection's kind on; and whether it is the true one."""
    kind, n = words[0], words[1] if len(words) > 1 else 0
    rest = words[2:]
    if kind == _NONE:
        return Selection("none"), True
    if kind == _ALL:
        return Selection("all"), True
    if kind == _REGULAR and len(rest) >= 4 * n:
        return Selection("slab", (rest[: 4 * n],)), True
    if kind == _BLOCKS and rest:
        corners = [rest[1 + 2 * n * at : 1 + 2 * n * (at + 1)] for at in range(rest[0])]
        return Selection("slab", tuple(_box(one[:n], one[n:]) for one in corners)), True
    if kind == _POINTS and rest:
        return (
            Selection(
                "points", tuple(rest[1 + n * at : 1 + n * (at + 1)] for at in range(rest[0]))
            ),
            True,
        )
    if kind == _BOUNDS and len(rest) >= 2 * n:
        return Selection("slab", (_box(rest[:n], rest[n : 2 * n]),)), False
    return None, True


def _box(first: tuple[int, ...], last: tuple[int, ...]) -> tuple[int, ...]:
    """The slab from one corner to the other, both included."""
    n = len(first)
    return first + (1,) * n + tuple(b - a + 1 for a, b in zip(first, last)) + (1,) * n
