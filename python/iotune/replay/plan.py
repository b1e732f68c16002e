"""Plan files for the replayer: files, datasets and what each rank selects.

kernels/replay/PLAN.md is their format.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import quote

Numbers = tuple[int, ...]


@dataclass(frozen=True)
class Selection:
    """What one rank selects in one transfer, in elements of the dataset.

    kind is 'none', 'all', 'slab' (each item start, stride, count, block, one after the other)
    or 'points' (each item one point).
    """

    kind: str
    items: tuple[Numbers, ...] = ()

    def moved(self, shift: Sequence[int]) -> Selection:
        """The same shape, `shift` elements further."""
        n = len(shift)
        return Selection(
            self.kind,
            tuple(tuple(a + b for a, b in zip(item[:n], shift)) + item[n:] for item in self.items),
        )


@dataclass(frozen=True)
class Form:
    """By which call a transfer is made: H5Dwrite or H5Dread unless it says otherwise."""

    asynchronous: bool = False
    waits: bool = False  # afterwards, for all that was begun
    chunks: bool = False  # as they lie in the file; then:
    filters: int = 0  # that were left out, a bit each
    stored_bytes: int = 0  # of a chunk; 0: as many as its elements have


PLAIN = Form()


@dataclass
class Transfer:
    """One H5Dwrite or H5Dread of all ranks that take part, `repeat` times over."""

    write: bool
    dataset: int  # of the file's datasets
    collective: bool
    selections: dict[int, Selection]  # by rank
    repeat: int = 1
    shift: Numbers = ()  # from one repetition to the next
    form: Form = PLAIN
    multi: int = 0  # so many from this one on are one call; 0: none of several
    member: bool = False  # of a call of several
    pauses_ns: dict[int, int] = field(default_factory=dict)  # by rank, before each call
    reopens: bool = False  # the dataset is closed and opened anew before each call
    first: bool = False  # of its dataset in its file: before its first call nothing is closed

    def last(self) -> dict[int, Selection]:
        """The selections of the last repetition."""
        if self.repeat == 1:
            return self.selections
        total = tuple(step * (self.repeat - 1) for step in self.shift)
        return {rank: one.moved(total) for rank, one in self.selections.items()}


@dataclass
class Dataset:
    """A dataset of elements of a size, not of a type: nothing is converted in a replay."""

    path: str
    element_bytes: int
    dims: Numbers
    chunk: Numbers = ()
    deflate: int | None = None
    type_class: int = -1  # H5T_class_t; -1: not known


@dataclass
class PlanFile:
    """A file from its open to its close."""

    path: str
    create: bool
    datasets: list[Dataset] = field(default_factory=list)
    transfers: list[Transfer] = field(default_factory=list)
    page_bytes: int = 0  # of HDF5's paged file space, by which the replayer makes it; 0: none


@dataclass
class Plan:
    """What a replay does."""

    ranks: int
    files: list[PlanFile] = field(default_factory=list)

    @property
    def prepares(self) -> bool:
        """Whether a file is read that the plan does not write: the replayer makes it first."""
        created: set[str] = set()
        for file in self.files:
            if not file.create and file.path not in created:
                return True
            created.add(file.path)
        return False

    @property
    def keeps_no_dataset_open(self) -> bool:
        """Whether datasets are opened anew for each of several calls: no chunk cache outlives one.

        In one call HDF5 goes through each chunk once.
        """
        calls: Counter[tuple[str, str]] = Counter()
        for file in self.files:
            used: set[int] = set()
            for one in file.transfers:
                if not one.reopens and (one.repeat > 1 or one.dataset in used):
                    return False
                used.add(one.dataset)
                calls[file.path, file.datasets[one.dataset].path] += one.repeat
        return max(calls.values(), default=0) > 1

    def on_ranks(self, ranks: int) -> Plan:
        """The same on another number: rank r's selections are made by rank r modulo `ranks`.

        What several ranks selected in one transfer is united in it.
        """
        if ranks == self.ranks:
            return self
        files = [
            replace(file, transfers=[_on_ranks(one, ranks) for one in file.transfers])
            for file in self.files
        ]
        return Plan(ranks, files)


def _on_ranks(transfer: Transfer, ranks: int) -> Transfer:
    selections: dict[int, Selection] = {}
    for rank in sorted(transfer.selections):
        one, other = transfer.selections[rank], selections.get(rank % ranks)
        selections[rank % ranks] = one if other is None else _united(other, one)
    pauses: dict[int, int] = {}
    for rank, pause in transfer.pauses_ns.items():
        pauses[rank % ranks] = max(pause, pauses.get(rank % ranks, 0))
    return replace(transfer, selections=selections, pauses_ns=pauses)


def _form_words(form: Form, reopens: bool) -> str:
    words = " async" * form.asynchronous + " wait" * form.waits + " reopen" * reopens
    return words + (f" chunk {form.filters} {form.stored_bytes}" if form.chunks else "")


def _united(one: Selection, other: Selection) -> Selection:
    if "all" in (one.kind, other.kind):
        return Selection("all")
    if "none" in (one.kind, other.kind):
        return other if one.kind == "none" else one
    if one.kind != other.kind:
        one, other = _as_slabs(one), _as_slabs(other)
    # Which elements a union has does not depend on the order, and HDF5 1.10 does: of slabs against
    # it elements are lost (it takes them for a regular selection). A point twice, which two ranks
    # have in their halos, is refused by MPI-IO in a collective transfer.
    return Selection(one.kind, tuple(sorted({*one.items, *other.items})))


def _as_slabs(selection: Selection) -> Selection:
    if selection.kind == "slab":
        return selection
    return Selection(
        "slab",
        tuple(point + (1,) * (3 * len(point)) for point in selection.items),
    )


def _words(numbers: Iterable[int]) -> str:
    return " ".join(str(number) for number in numbers)


def _path(text: str) -> str:
    return quote(text, safe="/!\"$&'()*+,-.:;<=>?@[]^_`{|}~", errors="surrogateescape")


def _selection_lines(rank: int, selection: Selection) -> list[str]:
    if selection.kind in ("none", "all"):
        return [f"{selection.kind} {rank}"]
    if selection.kind == "points":
        return [f"points {rank}  " + "  ".join(_words(point) for point in selection.items)]
    return [f"slab {rank}  {_words(slab)}" for slab in selection.items]


_CLASSES = {0: "integer", 1: "float", 3: "string"}  # by H5T_class_t


def _dataset_line(number: int, dataset: Dataset, with_classes: bool) -> str:
    words = [
        f"dataset {number} {_path(dataset.path)} {dataset.element_bytes} {len(dataset.dims)}",
        _words(dataset.dims),
    ]
    if dataset.chunk:
        words.append(f"chunk {_words(dataset.chunk)}")
        if dataset.deflate is not None:
            words.append(f"deflate {dataset.deflate}")
    if with_classes and dataset.type_class in _CLASSES:
        words.append(f"class {_CLASSES[dataset.type_class]}")
    return " ".join(word for word in words if word)


def plan_text(plan: Plan, with_classes: bool = False) -> str:
    """The plan file's content, in the oldest version of the format that can say it.

    `with_classes`: with the classes of elements, which change no access.
    """
    reopens = any(one.reopens for file in plan.files for one in file.transfers)
    lines = [f"iotune-plan {3 if with_classes else 2 if reopens else 1}", f"ranks {plan.ranks}"]
    for file in plan.files:
        paged = f" paged {file.page_bytes}" if file.page_bytes else ""
        lines.append(f"file {_path(file.path)} {'create' if file.create else 'open'}{paged}")
        opened = set()
        for transfer in file.transfers:
            # A dataset is made where it is first used, as most programs do.
            if transfer.multi:
                lines.append(f"multi {transfer.multi}")
            if transfer.dataset not in opened:
                opened.add(transfer.dataset)
                lines.append(
                    _dataset_line(transfer.dataset, file.datasets[transfer.dataset], with_classes)
                )
            line = (
                f"transfer {'write' if transfer.write else 'read'} {transfer.dataset} "
                f"{'collective' if transfer.collective else 'independent'}"
            )
            line += _form_words(transfer.form, transfer.reopens)
            if transfer.repeat > 1:
                line += f" repeat {transfer.repeat} {_words(transfer.shift)}"
            lines.append(line)
            pauses = sorted(transfer.pauses_ns.items())
            lines += [f"pause {rank} {pause}" for rank, pause in pauses if pause > 0]
            for rank in sorted(transfer.selections):
                lines += _selection_lines(rank, transfer.selections[rank])
        lines.append("close")
    return "\n".join(lines) + "\n"


def fold_repeats(transfers: Iterable[Transfer]) -> list[Transfer]:
    """Join transfers that are each other's image, moved by the same step on every rank.

    A program that writes 30,000 rows one by one becomes one statement.
    """
    folded: list[Transfer] = []
    for transfer in transfers:
        if folded and transfer.repeat == 1:
            before = folded[-1]
            step = _step(before, transfer)
            if step is not None and (before.repeat == 1 or before.shift == step):
                before.reopens = transfer.reopens
                before.repeat += 1
                before.shift = step
                continue
        folded.append(replace(transfer))
    return folded


def _step(before: Transfer, after: Transfer) -> Numbers | None:
    """How far `after` lies from the last repetition of `before`; None where shapes differ."""
    if (before.write, before.dataset, before.collective, before.form) != (
        after.write,
        after.dataset,
        after.collective,
        after.form,
    ) or before.selections.keys() != after.selections.keys():
        return None
    if before.member or after.member or before.pauses_ns != after.pauses_ns:
        return None
    # Whether a dataset is opened before its first transfer is no question: only its next can tell.
    if before.reopens != after.reopens and not (before.first and before.repeat == 1):
        return None
    step: Numbers | None = None
    for rank, old in before.last().items():
        new = after.selections[rank]
        if old.kind != new.kind or len(old.items) != len(new.items):
            return None
        if old.kind in ("none", "all"):
            continue
        n = len(old.items[0]) // 4 if old.kind == "slab" else len(old.items[0])
        moved = tuple(b - a for a, b in zip(old.items[0][:n], new.items[0][:n]))
        if step is None:
            step = moved
        if moved != step or old.moved(moved) != new:
            return None
    # All ranks select everything or nothing: a repetition in place has no step to speak of.
    return step


def synthesise(
    descriptor_distributions: Sequence[str],
    dims: Sequence[int],
    counts: Sequence[int],
    grid: Sequence[int],
    rank: int,
) -> Selection | None:
    """What `rank` holds in a dataset of this pattern; None where it holds nothing of it.

    Ranks are dealt to the grid row by row, as MPI_Cart_create does. Raises ValueError for a
    distribution that has no formula (IRREGULAR).
    """
    pieces: list[list[Numbers]] = []  # per dimension: (start, stride, count, block)
    places = _place_in(grid, rank)
    for name, extent, count, parts, place in zip(
        descriptor_distributions, dims, counts, grid, places
    ):
        axis = _axis(name, extent, count, parts, place)
        if not axis:
            return None
        pieces.append(axis)
    slabs: list[tuple[Numbers, ...]] = [()]
    for axis in pieces:
        slabs = [(*slab, piece) for slab in slabs for piece in axis]
    return Selection(
        "slab", tuple(tuple(piece[at] for at in range(4) for piece in slab) for slab in slabs)
    )


def _place_in(grid: Sequence[int], rank: int) -> list[int]:
    places = []
    for parts in reversed(grid):
        places.append(rank % parts)
        rank //= parts
    return places[::-1]


def _axis(name: str, extent: int, count: int, parts: int, place: int) -> list[Numbers]:
    if name == "*":
        return [(0, 1, min(count, extent) or extent, 1)]
    if name == "BLOCK":
        start = place * count
        length = min(count, extent - start)
        return [(start, 1, length, 1)] if length > 0 else []
    if not name.startswith("CYCLIC"):
        raise ValueError(f"no formula for {name}")
    run = int(name[7:-1]) if name.endswith(")") else 1
    start, stride = place * run, parts * run
    if start >= extent:
        return []
    whole = (extent - start) // stride
    rest = min(run, extent - start - whole * stride)
    if rest == run:
        return [(start, stride, whole + 1, run)]
    axis: list[Numbers] = [(start, stride, whole, run)] if whole else []
    if rest > 0:
        axis.append((start + whole * stride, 1, rest, 1))
    return axis
