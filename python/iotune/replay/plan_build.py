"""Plans out of what ranks really did, or out of a stored pattern where the trace is gone."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from iotune.errors import Error
from iotune.replay.plan import (
    PLAIN,
    Dataset,
    Form,
    Plan,
    PlanFile,
    Selection,
    Transfer,
    fold_repeats,
    synthesise,
)


@dataclass(frozen=True)
class DatasetCall:
    """One rank's transfer of one dataset, with what HDF5 said of that."""

    rank: int
    start: float  # seconds; only its order counts
    file: str
    dataset: str
    element_bytes: int
    dims: tuple[int, ...]
    chunk: tuple[int, ...]
    deflate: bool
    write: bool
    collective: bool
    selection: Selection
    type_class: int = -1
    form: Form = PLAIN
    pause_ns: int = 0  # before it
    multi: int = 0  # of a call that moved several datasets: their number at the first, else -1
    reopens: bool = False  # since the rank's transfer of it before, the dataset was closed


@dataclass(frozen=True)
class FileOpen:
    """A rank's H5Fcreate or H5Fopen."""

    rank: int
    start: float
    file: str
    create: bool


@dataclass
class _Part:
    """A file between its open and the next one."""

    file: PlanFile
    numbers: dict[str, int] = field(default_factory=dict)  # dataset path -> number
    counts: dict[tuple[int, str, bool, bool], int] = field(default_factory=dict)
    transfers: dict[tuple[str, bool, bool, int], Transfer] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)  # datasets
    used_by: set[tuple[int, str]] = field(default_factory=set)  # rank and dataset
    # Of each rank's calls on several datasets, the transfers that they are.
    multi_calls: dict[int, list[list[Transfer]]] = field(default_factory=dict)

    def add(self, call: DatasetCall) -> None:
        number = self.numbers.get(call.dataset)
        if number is None:
            number = self.numbers[call.dataset] = len(self.file.datasets)
            self.file.datasets.append(
                Dataset(
                    call.dataset,
                    call.element_bytes,
                    call.dims,
                    call.chunk,
                    1 if call.deflate and call.chunk else None,
                    call.type_class,
                )
            )
        known = self.file.datasets[number]
        # H5Dset_extent may have let it grow since it was created or opened.
        reached = _reached(known.dims, call.selection)
        if reached != tuple(known.dims):
            self.file.datasets[number] = replace(known, dims=reached)
        # A rank's k-th transfer of a kind belongs to the others' k-th.
        counter = (call.rank, call.dataset, call.write, call.collective)
        k = self.counts[counter] = self.counts.get(counter, -1) + 1
        key = (call.dataset, call.write, call.collective, k)
        transfer = self.transfers.get(key)
        if transfer is None:
            transfer = Transfer(call.write, number, call.collective, {}, form=call.form)
            transfer.first = call.dataset not in self.used
            self.used.add(call.dataset)
            self.transfers[key] = transfer
        elif call.form.waits and not transfer.form.waits:
            transfer.form = replace(transfer.form, waits=True)
        transfer.selections[call.rank] = call.selection
        # Of a rank's first transfer in this part the file's own open is enough.
        who = (call.rank, call.dataset)
        transfer.reopens |= call.reopens and who in self.used_by
        self.used_by.add(who)
        if call.pause_ns > 0:
            transfer.pauses_ns[call.rank] = call.pause_ns
        calls = self.multi_calls.setdefault(call.rank, [])
        if call.multi > 1:
            calls.append([])
        if calls and (call.multi > 1 or call.multi < 0):
            calls[-1].append(transfer)

    def ordered(self) -> list[Transfer]:
        """The transfers, with those that one call makes marked where all ranks agree on them."""
        transfers = list(self.transfers.values())
        place = {id(one): at for at, one in enumerate(transfers)}
        calls: dict[int, list[Transfer]] = {}  # by the place of the first
        wrong: set[int] = set()
        for members in (one for of_rank in self.multi_calls.values() for one in of_rank):
            first = place[id(members[0])]
            known = calls.setdefault(first, members)
            row = [place[id(one)] for one in members]
            if row != list(range(first, first + len(row))) or [id(one) for one in known] != [
                id(one) for one in members
            ]:
                wrong.update(row)
        for first, members in calls.items():
            if wrong.isdisjoint(range(first, first + len(members))):
                members[0].multi = len(members)
                for one in members:
                    one.member = True
        return transfers


def _reached(dims: Sequence[int], selection: Selection) -> tuple[int, ...]:
    """The dimensions that hold the selection, `dims` at least."""
    n = len(dims)
    ends = list(dims)
    for item in selection.items:
        for d in range(n):
            end = item[d] + 1
            if selection.kind == "slab":
                end = item[d] + (item[2 * n + d] - 1) * item[n + d] + item[3 * n + d]
            ends[d] = max(ends[d], end)
    return tuple(ends)


def plan_of_calls(
    calls: Iterable[DatasetCall],
    opens: Iterable[FileOpen],
    ranks: int,
    only_files: Collection[str] = (),
) -> Plan:
    """The plan of a run: each file's parts in the order of their first open.

    `only_files` keeps these paths. Raises Error where nothing is left.
    """
    parts: list[_Part] = []
    current: dict[tuple[int, str], _Part] = {}  # of each rank and file
    number: dict[tuple[int, str], int] = {}
    shared: dict[tuple[str, int], _Part] = {}  # a rank's k-th open is the others' k-th
    events: list[FileOpen | DatasetCall] = [*opens, *calls]
    events.sort(key=lambda event: event.start)
    for event in events:
        if only_files and event.file not in only_files:
            continue
        who = (event.rank, event.file)
        if isinstance(event, FileOpen) or who not in current:
            k = number[who] = number.get(who, -1) + 1
            part = shared.get((event.file, k))
            if part is None:
                create = event.create if isinstance(event, FileOpen) else event.write
                part = shared[(event.file, k)] = _Part(PlanFile(event.file, create))
                parts.append(part)
            current[who] = part
        if isinstance(event, DatasetCall):
            current[who].add(event)
    plan = Plan(ranks)
    for part in parts:
        part.file.transfers = fold_repeats(part.ordered())
        if part.file.transfers:
            plan.files.append(part.file)
    if not plan.files:
        raise Error(
            "no HDF5 transfer to replay"
            + (f" on {', '.join(only_files)}" if only_files else "")
            + ": only what goes through H5Dread, H5Dwrite and their kind can be replayed"
        )
    return plan


def plan_bytes(plan: Plan) -> int:
    """An upper bound of the bytes that the plan's files will take."""
    total = 0
    for file in plan.files:
        for dataset in file.datasets:
            size = dataset.element_bytes
            for extent in dataset.dims:
                size *= extent
            total += size
    return total


@dataclass(frozen=True)
class StoredPattern:
    """What the database keeps of a pattern: enough to do its like again."""

    write: bool
    distributions: tuple[str, ...]
    counts: tuple[int, ...]
    grid: tuple[int, ...]
    dims: tuple[int, ...]
    element_bytes: int
    ranks: int
    collective: bool
    chunk: tuple[int, ...] = ()
    filters: int = 0


def plan_of_pattern(pattern: StoredPattern, datasets: int = 1) -> Plan:
    """A plan that shows the pattern on `datasets` datasets, each in one transfer.

    How many calls the program made of it is not stored, so a pattern that was written row by
    row is replayed in one piece. Raises Error for an irregular pattern.
    """
    grid: Sequence[int] = pattern.grid or (1,) * len(pattern.dims)
    if not pattern.dims:
        raise Error("the pattern's dataset dimensions are not stored: it cannot be synthesised")
    selections: dict[int, Selection] = {}
    try:
        for rank in range(pattern.ranks):
            share = synthesise(pattern.distributions, pattern.dims, pattern.counts, grid, rank)
            selections[rank] = share or Selection("none")
    except ValueError as problem:
        raise Error(f"{problem}: only its trace could be replayed, and that is gone") from None
    file = PlanFile("pattern.h5", create=pattern.write)
    for number in range(datasets):
        file.datasets.append(
            Dataset(
                f"/d{number}",
                pattern.element_bytes,
                pattern.dims,
                pattern.chunk,
                1 if pattern.filters and pattern.chunk else None,
            )
        )
        file.transfers.append(Transfer(pattern.write, number, pattern.collective, dict(selections)))
    return Plan(pattern.ranks, [file])
