"""The HDF5 transfers of a trace, with the selections that each rank really made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from iotune.replay.open_datasets import OpenDatasets
from iotune.replay.plan import PLAIN, Form, Plan, Selection
from iotune.replay.plan_build import DatasetCall, FileOpen, plan_of_calls
from iotune.traces.call_meaning import Meaning, meaning_of
from iotune.traces.calls import Call
from iotune.traces.trace import Trace


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
    address: int = -1  # of its header in the file; below 0: unknown


def plan_of_trace(
    trace: Trace, only_files: Collection[str] = (), pause: Callable[[int], int] | None = None
) -> tuple[Plan, list[str]]:
    """The plan of a trace and what in it had to be approximated or left out.

    `only_files`: of these paths alone, where there are any.
    `pause`: what becomes of the nanoseconds that a rank spent outside of HDF5 since its transfer
    before; without it there are no pauses.
    Raises Error where it holds no transfer that can be replayed.
    """
    defined: dict[tuple[int, int], _Defined] = {}  # by process and object
    opens: list[FileOpen] = []
    calls = list(trace.each_call(layer=("hdf5", "iotune")))
    ranks = max(trace.summary.ranks, 1)
    for call in calls:
        means = meaning_of(call.name)
        if means.notes("dataset"):
            defined[(call.process, call.keys[0])] = _definition(call)
        elif means.opens_file and call.texts:
            opens.append(_open(call, means))
    _name_all(defined)
    gathered = _Gathered(pause, OpenDatasets(calls))
    for at, call in enumerate(calls):
        gathered.pass_over(call, defined)
        means = meaning_of(call.name)
        if means.verb == "completes":
            gathered.wait(call)
        elif means.transfer and (call.result or 0) >= 0:
            gathered.add(at, call, means, defined)
    transfers, notes = gathered.transfers, gathered.notes()
    as_elements = _readable_chunks(transfers, ranks)
    if as_elements:
        notes.append(
            f"{as_elements} transfer(s) of whole chunks as they lie in the file are replayed as "
            "H5Dread and H5Dwrite of their elements: their filters' output is not in the trace"
        )
    files = {one.file for one in transfers}
    opens = [_absolute(one, files) for one in opens]
    return plan_of_calls(transfers, opens, ranks, only_files), notes


@dataclass
class _Gathered:
    """The transfers of a trace's calls, and what is wanting in them."""

    pause: Callable[[int], int] | None
    datasets: OpenDatasets
    transfers: list[DatasetCall] = field(default_factory=list)
    _outside: dict[int, float] = field(default_factory=dict)  # s since a transfer, by process
    _last_end: dict[int, float] = field(default_factory=dict)  # of a process's call before
    _left_out: int = 0
    _approximated: int = 0
    # By process and event set: the last transfer that was begun and is not waited for.
    _begun: dict[tuple[int, int], int] = field(default_factory=dict)

    def pass_over(self, call: Call, defined: dict[tuple[int, int], _Defined]) -> None:
        """Count the time outside of HDF5 before a call, and follow what it opens and closes."""
        self.datasets.pass_over(call)
        if meaning_of(call.name).notes("dataset"):
            one = defined[call.process, call.keys[0]]
            self.datasets.opened(call.process, call.keys[0], one.file, one.path)
        if self.pause is None or call.layer != "hdf5" or call.depth > 0:
            return
        who, last = call.process, self._last_end.get(call.process)
        if last is not None:
            self._outside[who] = self._outside.get(who, 0.0) + max(0.0, call.start - last)
        self._last_end[who] = max(last or 0.0, call.start + call.seconds)

    def add(
        self, at: int, call: Call, means: Meaning, defined: dict[tuple[int, int], _Defined]
    ) -> None:
        """One call, of as many datasets as it has, at a place of all calls."""
        form = _form(call, means)
        found: list[DatasetCall] = []
        for moved in call.transfers or ({},):
            transfer, exact = _transfer(call, moved, defined, form)
            if transfer is None:
                self._left_out += 1
            else:
                number = moved.get("object", 0)
                anew = self.datasets.is_anew(call.process, number, transfer.file, transfer.dataset)
                found.append(replace(transfer, reopens=anew))
                self._approximated += not exact
        for moved in call.transfers:
            self.datasets.end_transfer(call.process, moved.get("object", 0), at)
        one_file = len({one.file for one in found}) == len({one.collective for one in found}) == 1
        if means.on_several and len(found) > 1 and one_file:
            found[0] = replace(found[0], multi=len(found))
            found[1:] = [replace(one, multi=-1) for one in found[1:]]
        if self.pause is not None and found and call.depth == 0:
            before = round(self._outside.pop(call.process, 0.0) * 1e9)
            found[0] = replace(found[0], pause_ns=self.pause(before))
        self.transfers += found
        if form.asynchronous and found:
            self._begun[(call.process, _events(call))] = len(self.transfers) - 1

    def wait(self, call: Call) -> None:
        """H5ESwait: with a time of 0 it only asks."""
        said = meaning_of(call.name).said(call.numbers)
        at = (
            self._begun.pop((call.process, said.get("events", 0)), None)
            if said.get("timeout")
            else None
        )
        if at is not None:
            one = self.transfers[at]
            self.transfers[at] = replace(one, form=replace(one.form, waits=True))

    def notes(self) -> list[str]:
        """What had to be left out or approximated."""
        notes = []
        if self._left_out:
            notes.append(
                f"{self._left_out} transfer(s) left out: their selection is not in the trace"
            )
        if self._approximated:
            notes.append(
                f"{self._approximated} selection(s) were too large to keep: their bounds are used"
            )
        return notes


def _events(call: Call) -> int:
    """The event set of an asynchronous form, the last of what was passed to it."""
    return meaning_of(call.name).said(call.numbers).get("events", 0)


def _form(call: Call, means: Meaning) -> Form:
    if "chunk" not in means.words:
        return Form(asynchronous=means.begins)
    said = means.said(call.numbers)
    return Form(
        chunks=True,
        filters=said.get("filters", 0) & 0xFFFFFFFF,
        stored_bytes=max(said.get("bytes", 0), 0) if means.writes else 0,
    )


def _readable_chunks(transfers: list[DatasetCall], ranks: int) -> int:
    """Make those of chunks plain whose bytes a replay could not read, and count them.

    What a filter would make of made-up data is not known. It does where nobody looks into it, on
    one rank: parallel HDF5 has no chunks of unknown size written by one rank alone.
    """
    as_elements = 0
    looked_into = {(one.file, one.dataset) for one in transfers if not one.form.chunks}
    for at, one in enumerate(transfers):
        if not one.form.chunks:
            continue
        if one.deflate and (ranks > 1 or (one.file, one.dataset) in looked_into):
            transfers[at] = replace(one, form=PLAIN)
            as_elements += 1
        elif not one.deflate:
            transfers[at] = replace(one, form=replace(one.form, filters=0, stored_bytes=0))
    return as_elements


def _absolute(opened: FileOpen, files: set[str]) -> FileOpen:
    """An open under the path by which the transfers know the file."""
    if opened.file in files:
        return opened
    for file in files:
        if Path(file).name == Path(opened.file).name and file.endswith(opened.file.lstrip("./")):
            return FileOpen(opened.rank, opened.start, file, opened.create)
    return opened


def _open(call: Call, means: Meaning) -> FileOpen:
    file = call.file or call.texts[means.named or 0]
    return FileOpen(max(call.rank, 0), call.start, file, means.verb == "creates")


def _name_all(defined: dict[tuple[int, int], _Defined]) -> None:
    """Give each dataset one name: those that the program never linked get one, in the order of
    their first transfers, those with several keep the first.
    """
    unnamed: Counter[tuple[int, str]] = Counter()
    names: dict[tuple[object, ...], str] = {}
    for (process, number), one in defined.items():
        path = one.path
        if not path:
            unnamed[process, one.file] += 1
            path = f"/unnamed_{unnamed[process, one.file]}"
        if one.address >= 0:
            place = (process, one.file, one.address, one.dims, one.element_bytes)
            path = names.setdefault(place, path)
        if path != one.path:
            defined[process, number] = replace(one, path=path)


def _definition(call: Call) -> _Defined:
    _, element_bytes, type_class, _, filters, n = call.numbers[:6]
    dims = call.numbers[6 : 6 + n]
    m = call.numbers[6 + n] if len(call.numbers) > 6 + n else 0
    chunk = call.numbers[7 + n : 7 + n + max(m, 0)]
    file, path = (*call.texts, "", "")[:2]
    address = call.numbers[7 + n + max(m, 0) :]
    return _Defined(file, path, element_bytes, dims, chunk, filters, type_class, *address[:1])


def _transfer(
    call: Call, moved: dict[str, Any], defined: dict[tuple[int, int], _Defined], form: Form
) -> tuple[DatasetCall | None, bool]:
    """What the call moved of one of its datasets, and whether that is all that is known."""
    dataset = defined.get((call.process, moved.get("object", 0)))
    if dataset is None:
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
            write=meaning_of(call.name).writes,
            collective=moved["mode"] == 1,
            selection=selection,
            type_class=dataset.type_class,
            form=form,
        ),
        exact,
    )


def _selection(reported: dict[str, Any]) -> tuple[Selection | None, bool]:
    """A recorded selection, and whether it is the true one."""
    kind = reported["kind"]
    if kind in ("none", "all"):
        return Selection(kind), True
    if kind == "regular":
        words = (*reported["start"], *reported["stride"], *reported["count"], *reported["block"])
        return Selection("slab", (words,)), True
    if kind == "blocks":
        corners = zip(reported["first"], reported["last"])
        return Selection("slab", tuple(_box(tuple(a), tuple(b)) for a, b in corners)), True
    if kind == "points":
        return Selection("points", tuple(tuple(point) for point in reported["points"])), True
    if kind == "bounds":
        return Selection("slab", (_box(tuple(reported["first"]), tuple(reported["last"])),)), False
    return None, True


def _box(first: tuple[int, ...], last: tuple[int, ...]) -> tuple[int, ...]:
    """The slab from one corner to the other, both included."""
    n = len(first)
    return first + (1,) * n + tuple(b - a + 1 for a, b in zip(first, last)) + (1,) * n
