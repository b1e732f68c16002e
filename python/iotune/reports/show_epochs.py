"""Workers and epochs of a run: a part of `iotune show`, and their texts for the report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from iotune.reports.tables import Column, count_text, paragraph, seconds_text, size_text, table
from iotune.talk import data
from iotune.traces.run_epochs import run_epochs
from iotune.traces.summary import RunSummary

if TYPE_CHECKING:  # they need NumPy, which takes longer than all of a usual `iotune show`
    from iotune.analysis.epochs import Epoch
    from iotune.analysis.worker_processes import WorkerGroup

MOST_GROUPS = 4
_FIRST_EPOCHS, _LAST_EPOCHS = 10, 2
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
    """Say which workers a run had, and its epochs; nothing where it has neither."""
    found = run_epochs(trace, run)
    for line in workers_lines(found.workers):
        paragraph(line)
    if found.epochs:
        data()
        paragraph(f"{len(found.epochs)} epochs: the same data is read again and again")
        _print_table(found.epochs)


def workers_lines(groups: Sequence[WorkerGroup]) -> list[str]:
    """A sentence for each of the largest groups, and one for the others."""
    lines = [_workers_text(group) for group in groups[:MOST_GROUPS]]
    if len(groups) > MOST_GROUPS:
        lines.append(f"{len(groups) - MOST_GROUPS} further processes have workers that read")
    return lines


def order_text(one: Epoch) -> str:
    """Whether its order was that of the epoch before."""
    return {None: "–", True: "as before", False: "another"}[one.repeats_order]


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
    return [
        str(one.number),
        str(one.reads),
        size_text(one.bytes),
        seconds_text(one.seconds),
        seconds_text(one.read_seconds),
        str(one.processes),
        order_text(one),
    ]
