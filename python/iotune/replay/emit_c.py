"""A stand-alone C kernel out of a plan: Record-and-Replay (PDSW'14), without iotune at run time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from iotune.errors import Error
from iotune.replay.plan import Dataset, Plan, PlanFile, Selection, Transfer

_START = "emitted_start.c"
_CLASSES = {0: "H5T_INTEGER", 1: "H5T_FLOAT", 3: "H5T_STRING"}


def c_source(plan: Plan, origin: str, notes: Sequence[str] = ()) -> str:
    """The program's text. `origin` names the trace. Raises Error without iotune's own sources."""
    start = Path(__file__).parents[1] / "kernels_src" / _START
    if not start.is_file():
        raise Error(f"{start.name} is missing from {start.parent}; reinstall iotune")
    names = _file_names(plan)
    waits = any(one.pauses_ns for file in plan.files for one in file.transfers)
    reopens = any(one.reopens for file in plan.files for one in file.transfers)
    tables = _Tables(plan.ranks, waits, reopens)
    files = [
        line
        for number, file in enumerate(plan.files)
        for line in _file_function(number, file, names[file.path], tables)
    ]
    prepared = _prepared(plan)
    fillers = [line for number, files_of in prepared.items() for line in _filler(number, files_of)]
    return "\n".join(
        [
            *_comment(plan, origin, notes),
            start.read_text(),
            f"enum {{ RANKS = {plan.ranks} }};",
            "",
            *tables.lines,
            *files,
            *fillers,
            *_main(plan, names, prepared),
            "",
        ]
    )


def _comment(plan: Plan, origin: str, notes: Sequence[str]) -> list[str]:
    lines = [
        f"The HDF5 transfers of {origin}, by {plan.ranks} rank(s).",
        *(f"- {note}" for note in notes),
        "Build: h5pcc -O2 THIS.c, or mpicc -O2 THIS.c $(pkg-config --cflags --libs hdf5-mpich)",
        f"Run:   mpirun -n {plan.ranks} ./a.out [--overwrite] [DIRECTORY]",
    ]
    safe = [line.replace("*/", "* /").replace("\n", " ") for line in lines]
    return ["/* " + "\n * ".join(safe), " */"]


def _file_names(plan: Plan) -> dict[str, str]:
    """Each path's name in the kernel's directory; equal last parts get a number."""
    names: dict[str, str] = {}
    for file in plan.files:
        if file.path not in names:
            name = Path(file.path).name or "file"
            names[file.path] = name if name not in names.values() else f"{len(names)}-{name}"
    return names


def _text(text: str) -> str:
    """A C string literal. What is not plain is octal: it ends after three digits, hex does not."""
    encoded = text.encode(errors="surrogateescape")
    return '"' + "".join(
        chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}"
        for byte in encoded
    ) + '"'  # fmt: skip


def _numbers(values: Iterable[int]) -> str:
    return "{" + ", ".join(f"{value}u" if value >> 31 else str(value) for value in values) + "}"


@dataclass
class _Tables:
    """Selections and pauses of all ranks, each kept once however many datasets have it."""

    ranks: int
    waits: bool  # whether there are pauses at all
    reopens: bool  # whether a dataset is opened anew at all
    lines: list[str] = field(default_factory=list)
    _named: dict[tuple[Selection | None, ...], str] = field(default_factory=dict)
    _pauses: dict[tuple[int, ...], str] = field(default_factory=dict)

    def name_of(self, transfer: Transfer) -> str:
        key = tuple(transfer.selections.get(rank) for rank in range(self.ranks))
        name = self._named.get(key)
        if name is None:
            name = self._named[key] = f"selection_{len(self._named)}"
            self._add(name, key)
        return name

    def pause_before(self, transfer: Transfer) -> str:
        """The statement that sets the pause of a transfer's calls; nothing where none has one."""
        if not self.waits:
            return ""
        key = tuple(transfer.pauses_ns.get(rank, 0) for rank in range(self.ranks))
        # A rank that makes no call has none, and does not keep the others from being alike.
        calling = {key[rank] for rank in transfer.selections if rank < self.ranks}
        if len(calling) == 1:
            return f"pause_ns = {calling.pop()};"
        name = self._pauses.get(key)
        if name is None:
            name = self._pauses[key] = f"pauses_{len(self._pauses)}"
            self.lines += [
                f"static const long long {name}[RANKS] = {{{', '.join(map(str, key))}}};",
                "",
            ]
        return f"pause_ns = {name}[rank];"

    def opening_before(self, transfer: Transfer) -> str:
        """The statement that says how the dataset is opened; nothing where all are kept open."""
        if not self.reopens:
            return ""
        if not transfer.reopens:
            return "opening = KEPT;"
        return f"opening = {'ANEW_AFTER_FIRST' if transfer.first else 'ANEW'};"

    def statements_before(self, transfer: Transfer) -> list[str]:
        """What is set before the call of a transfer."""
        statements = (self.opening_before(transfer), self.pause_before(transfer))
        return [one for one in statements if one]

    def _add(self, name: str, selections: Sequence[Selection | None]) -> None:
        rows = []
        for rank, one in enumerate(selections):
            if one is None:
                rows.append("{NOTHING, 1, NULL}")  # no call of this rank where it is independent
            elif one.kind in ("none", "all"):
                rows.append(f"{{{'ALL' if one.kind == 'all' else 'NOTHING'}, 0, NULL}}")
            else:
                place = [number for item in one.items for number in item]
                if not place:
                    rows.append("{NOTHING, 0, NULL}")
                    continue
                self.lines.append(f"static const hsize_t {name}_{rank}[] = {_numbers(place)};")
                kind = "SLABS" if one.kind == "slab" else "POINTS"
                rows.append(f"{{{kind}, {len(one.items)}, {name}_{rank}}}")
        self.lines.append(f"static const struct selection {name}[RANKS] = {{")
        self.lines += [f"    {row}," for row in rows]
        self.lines += ["};", ""]


@dataclass(frozen=True)
class _Group:
    """All of a dataset's transfers, where they follow each other."""

    dataset: int
    # Statements before, functions, and their arguments behind the name.
    transfers: tuple[tuple[tuple[str, ...], str, str], ...]
    shape: str  # arguments of create_dataset() behind the name


def _shape(dataset: Dataset) -> str:
    element = _CLASSES.get(dataset.type_class, "H5T_OPAQUE")
    dims = f"(hsize_t[]){_numbers(dataset.dims)}" if dataset.dims else "NULL"
    chunk = f"(hsize_t[]){_numbers(dataset.chunk)}" if dataset.chunk else "NULL"
    deflate = -1 if dataset.deflate is None else dataset.deflate
    return (
        f"(struct element){{{element}, {dataset.element_bytes}}}, {len(dataset.dims)}, {dims}, "
        f"{chunk}, {deflate}"
    )


def _arguments(transfer: Transfer, dataset: Dataset, tables: _Tables) -> str:
    shift = "NULL"
    if transfer.repeat > 1 and transfer.shift:
        shift = "(hssize_t[]){" + ", ".join(map(str, transfer.shift)) + "}"
    if transfer.form.chunks:
        bytes_each = transfer.form.stored_bytes or _chunk_bytes(dataset)
        how = f"{transfer.form.filters}u, {bytes_each}u"
    else:
        how = _how(transfer)
    return (
        f"{'WRITE' if transfer.write else 'READ'}, {how}, "
        f"{tables.name_of(transfer)}, {transfer.repeat}, {shift}"
    )


def _chunk_bytes(dataset: Dataset) -> int:
    return dataset.element_bytes * math.prod(dataset.chunk)


def _how(transfer: Transfer) -> str:
    words = ["COLLECTIVE" if transfer.collective else "INDEPENDENT"]
    words += ["ASYNC"] * transfer.form.asynchronous + ["WAIT"] * transfer.form.waits
    return " | ".join(words)


def _call(transfer: Transfer, variable: str, name: str, arguments: str) -> str:
    function = "transfer_chunks" if transfer.form.chunks else "transfer"
    return f"{function}(&{variable}, {name}, {arguments});"


def _groups(file: PlanFile, tables: _Tables) -> list[_Group] | None:
    """None where transfers of several datasets alternate, or are one call."""
    if any(one.member for one in file.transfers):
        return None
    found: list[_Group] = []
    seen: set[int] = set()
    for transfer in file.transfers:
        function = "transfer_chunks" if transfer.form.chunks else "transfer"
        arguments = (
            tuple(tables.statements_before(transfer)),
            function,
            _arguments(transfer, file.datasets[transfer.dataset], tables),
        )
        if found and found[-1].dataset == transfer.dataset:
            last = found[-1]
            found[-1] = _Group(last.dataset, (*last.transfers, arguments), last.shape)
            continue
        if transfer.dataset in seen:
            return None
        seen.add(transfer.dataset)
        found.append(
            _Group(transfer.dataset, (arguments,), _shape(file.datasets[transfer.dataset]))
        )
    return found


def _file_function(number: int, file: PlanFile, name: str, tables: _Tables) -> list[str]:
    writes = any(one.write for one in file.transfers)
    lines = [
        f"static void file_{number}(void) {{",
        f"  static const char name[] = {_text(name)};",
        f"  hid_t file = open_file(name, {int(file.create)}, {int(writes)});",
    ]
    groups = _groups(file, tables)
    lines += _alternating(file, tables) if groups is None else _in_loops(file, groups)
    return [*lines, "  close_file(file, name);", "}", ""]


def _in_loops(file: PlanFile, groups: Sequence[_Group]) -> list[str]:
    """Datasets that are treated alike become one loop over their names."""
    lines: list[str] = []
    at = 0
    while at < len(groups):
        one = groups[at]
        end = at + 1
        while end < len(groups) and (groups[end].transfers, groups[end].shape) == (
            one.transfers,
            one.shape,
        ):
            end += 1
        names = [file.datasets[group.dataset].path for group in groups[at:end]]
        lines.append(f"  static const char* const of_{at}[] = {{")
        lines += [f"      {_text(name)}," for name in names]
        lines += [
            "  };",
            f"  for (int i = 0; i < {len(names)}; i++) {{",
            f"    hid_t dataset = {_opening(file, f'of_{at}[i]', one.shape)};",
            *(
                line
                for before, call, text in one.transfers
                for line in (
                    *(f"    {statement}" for statement in before),
                    f"    {call}(&dataset, of_{at}[i], {text});",
                )
            ),
            f"    close_dataset(dataset, of_{at}[i]);",
            "  }",
        ]
        at = end
    return lines


def _opening(file: PlanFile, name: str, shape: str) -> str:
    return (
        f"create_dataset(file, {name}, {shape})" if file.create else f"open_dataset(file, {name})"
    )


def _alternating(file: PlanFile, tables: _Tables) -> list[str]:
    last = {one.dataset: at for at, one in enumerate(file.transfers)}
    lines: list[str] = []
    group: list[Transfer] = []  # that one call makes
    awaited = 0
    opened: set[int] = set()
    for at, one in enumerate(file.transfers):
        name = _text(file.datasets[one.dataset].path)
        if one.dataset not in opened:
            opened.add(one.dataset)
            shape = _shape(file.datasets[one.dataset])
            lines.append(f"  hid_t d{one.dataset} = {_opening(file, name, shape)};")
        if not one.member:
            text = _arguments(one, file.datasets[one.dataset], tables)
            lines += [f"  {statement}" for statement in tables.statements_before(one)]
            lines.append("  " + _call(one, f"d{one.dataset}", name, text))
            ended = [one.dataset] if last[one.dataset] == at else []
        else:
            group, ended = (group if not one.multi else []) + [one], []
            if one.multi:
                awaited = one.multi
            if len(group) == awaited:
                lines += _multi(file, group, tables)
                ended = [of.dataset for of in group if at - awaited < last[of.dataset] <= at]
        lines += [
            f"  close_dataset(d{number}, {_text(file.datasets[number].path)});"
            for number in dict.fromkeys(ended)
        ]
    return lines


def _multi(file: PlanFile, group: Sequence[Transfer], tables: _Tables) -> list[str]:
    """One call of several datasets."""
    waits = any(one.form.waits for one in group)
    first = replace(group[0], form=replace(group[0].form, waits=waits))
    pause = tables.pause_before(first)
    return [
        *([f"  {pause}"] if pause else []),
        f"  transfer_multi({'WRITE' if first.write else 'READ'}, {_how(first)}, {len(group)},",
        "                 (struct part[]){",
        *(
            f"                     {{&d{one.dataset}, {_text(file.datasets[one.dataset].path)}, "
            f"{tables.name_of(one)}, {int(one.reopens and not one.first)}}},"
            for one in group
        ),
        "                 });",
    ]


def _prepared(plan: Plan) -> dict[int, list[PlanFile]]:
    """By number of the first part: the parts of a file that is opened and not created before."""
    first: dict[str, int] = {}
    for number, file in enumerate(plan.files):
        first.setdefault(file.path, number)
    return {
        number: [file for file in plan.files if file.path == path]
        for path, number in first.items()
        if not plan.files[number].create
    }


def _filler(number: int, parts: Sequence[PlanFile]) -> list[str]:
    datasets = {one.path: one for part in parts for one in part.datasets}
    lines = [f"static void fill_{number}(hid_t file) {{", "  hid_t dataset;"]
    for one in datasets.values():
        name = _text(one.path)
        lines += [
            f"  dataset = create_dataset(file, {name}, {_shape(one)});",
            f"  fill_dataset(dataset, {name});",
            f"  close_dataset(dataset, {name});",
        ]
    return [*lines, "}", ""]


def _largest(plan: Plan) -> int:
    """Bytes of the largest transfer of a rank, or more where slabs overlap."""
    most = 0
    for file in plan.files:
        call_bytes: Counter[int] = Counter()  # by rank
        for transfer in file.transfers:
            dataset = file.datasets[transfer.dataset]
            n = len(dataset.dims)
            if not transfer.member or transfer.multi:
                call_bytes.clear()
            if transfer.form.chunks:
                room = max(transfer.form.stored_bytes, _chunk_bytes(dataset))
                most = max(most, room + room // 8 + 1024)  # what does not compress is longer
            for rank, one in transfer.selections.items():
                if one.kind == "all":
                    count = math.prod(dataset.dims)
                elif one.kind == "slab":
                    count = sum(math.prod(item[2 * n :]) for item in one.items)
                else:
                    count = len(one.items)
                call_bytes[rank] += count * dataset.element_bytes
                most = max(most, call_bytes[rank])
    return most


def _main(plan: Plan, names: dict[str, str], prepared: dict[int, list[PlanFile]]) -> list[str]:
    created = {file.path for number, file in enumerate(plan.files) if file.create}
    free = [names[path] for path in created if not any(
        path == plan.files[number].path for number in prepared)]  # fmt: skip
    return [
        "int main(int argc, char** argv) {",
        "  int overwrite = begin(argc, argv, RANKS);",
        "  (void)overwrite;",
        *(f"  demand_free({_text(name)}, overwrite);" for name in sorted(free)),
        f"  reserve({_largest(plan)}u);",
        *(
            f"  prepare_file({_text(names[plan.files[number].path])}, fill_{number});"
            for number in prepared
        ),
        "  MPI_Barrier(MPI_COMM_WORLD);",
        "  double started = MPI_Wtime();",
        *(f"  file_{number}();" for number in range(len(plan.files))),
        f"  return finish(started, {len(plan.files)});",
        "}",
    ]
