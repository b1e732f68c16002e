"""Workers and epochs of a run: a part of `iotune show`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from iotune import core
from iotune.reports.tables import Column, count_text, paragraph, seconds_text, size_text, table
from iotune.talk import data
from iotune.traces.summary import FilePattern, RunSummary

if TYPE_CHECKING:  # they need NumPy, which takes longer than all of a usual `iotune show`
    from iotune.analysis.epochs import Epoch
    from iotune.analysis.worker_processes import WorkerGroup

# Of a run of more calls `iotune show` does not look for epochs: it is to be quick.
MOST_CALLS = 5_000_000
_MOST_GROUPS, _FIRST_EPOCHS, _LAST_EPOCHS = 4, 10, 2
_COLUMNS = [
    Column("  epoch", number=True, bare=True),
    Column("reads", number=True, bare=True),
    Column("bytes", number=True, bare=True),
    Column("seconds", number=True, bare=True),
    Column("in reads", number=True, bare=True),
    Column("processes", number=True, spare=2, bare=True),
    Column("order", spare=1, bare=True),
]


def print_epochs(trace: Path, run: RunSummary) -> None:
    """Say which workers a run had, and its epochs; nothing where it has neither.

    Ranks of MPI are no workers. The calls are read for it: only where several processes read, or
    some file was read more than once.
    """
    if run.mpi or run.ranks > 1 or run.calls > MOST_CALLS or not _may_have_epochs(run):
        return
    from iotune.analysis.epochs import epochs_of, outermost_reads
    from iotune.analysis.worker_processes import worker_groups

    reads = outermost_reads(trace)
    if reads is None:
        return
    groups = worker_groups(core.processes(trace), reads) if run.processes > 1 else []
    epochs = epochs_of(reads)
    for group in groups[:_MOST_GROUPS]:
        paragraph(_workers_text(group))
    if len(groups) > _MOST_GROUPS:
        paragraph(f"{len(groups) - _MOST_GROUPS} further processes have workers that read")
    if epochs:
        data()
        paragraph(f"{len(epochs)} epochs: the same data is read again and again")
        _print_table(epochs)


def _may_have_epochs(run: RunSummary) -> bool:
    if not any(one.bytes_read for one in run.files):
        return False
    return run.processes > 1 or any(_is_read_again(one) for one in run.files)


def _is_read_again(file: FilePattern) -> bool:
    """Whether more was read of a file than it has, as far as its patterns say."""
    for one in file.datasets:
        whole = one.element_bytes
        for extent in one.dataset_dims:
            whole *= extent
        if not one.write and (one.repeats > 1 or one.bytes > 3 * whole // 2 > 0):
            return True
    return False


def _workers_text(group: WorkerGroup) -> str:
    text = f"{count_text(group.count, 'worker')} of process {group.parent}"
    if group.at_once < group.count:
        text += f", at most {group.at_once} at a time"
    return f"{text}: {size_text(group.bytes)} read"


def _print_table(epochs: Sequence[Epoch]) -> None:
    shown = epochs
    if len(epochs) > _FIRST_EPOCHS + _LAST_EPOCHS + 1:
        shown = [*epochs[:_FIRST_EPOCHS], *epochs[-_LAST_EPOCHS:]]
    table(_COLUMNS, [_row(one) for one in shown], indent=2)
    if len(shown) < len(epochs):
        paragraph(f"not shown: {len(epochs) - len(shown)} epochs before the last two", indent=4)


def _row(one: Epoch) -> list[str]:
    order = {None: "–", True: "as before", False: "another"}[one.repeats_order]
    return [
        str(one.number),
        str(one.reads),
        size_text(one.bytes),
        seconds_text(one.seconds),
        seconds_text(one.read_seconds),
        str(one.processes),
        order,
    ]
