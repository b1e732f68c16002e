"""Workers and epochs of a run in the report: a panel, a line a group of workers, a row an epoch."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Any

from iotune.html_report.blocks import Fact, Facts, Heading
from iotune.html_report.svg import Table
from iotune.reports.explained import prefetched_lines
from iotune.reports.show_epochs import order_text, workers_lines
from iotune.reports.tables import seconds_text, size_text
from iotune.traces.run_epochs import RunEpochs, prefetched_in_all
from iotune.traces.summary import PrefetchOutcome, RunSummary

_ROWS = 200


def epochs_blocks(found: RunEpochs, run: RunSummary) -> Iterator[Any]:
    """Nothing where the run has neither workers nor epochs."""
    if not found:
        return
    prefetched = prefetched_in_all(run)
    yield Facts([*_workers(found), *_epochs(found), *_prefetched(prefetched)])
    if found.workers:
        yield Heading("Workers", [("", line) for line in workers_lines(found.workers)])
    if found.epochs:
        yield _table(found)
    lines = _prefetched_lines(prefetched, bool(found.epochs))
    if lines:
        yield Heading("Read ahead, of all files", [("", line) for line in lines])


def _prefetched_lines(done: PrefetchOutcome | None, has_epochs: bool) -> tuple[str, ...]:
    if done is not None:
        return prefetched_lines(done)
    return ("nothing: IOTUNE_PREFETCH was not set, or no read was foreseen",) if has_epochs else ()


def _workers(found: RunEpochs) -> Iterator[Fact]:
    if not found.workers:
        return
    count = sum(one.count for one in found.workers)
    at_once = max(one.at_once for one in found.workers)
    yield Fact("workers", f"{count:,}", f"at most {at_once:,} of a process at a time")


def _epochs(found: RunEpochs) -> Iterator[Fact]:
    if not found.epochs:
        return
    yield Fact("epochs", f"{len(found.epochs):,}", "passes over the same data")
    # The last one may have been cut short, and the first one has the start of the workers.
    usual = median(one.seconds for one in found.epochs)
    size = median(one.bytes for one in found.epochs)
    inside = sum(one.read_seconds for one in found.epochs)
    able = sum(one.seconds * one.processes for one in found.epochs)
    yield Fact("bytes an epoch", size_text(size), "the median of all epochs")
    yield Fact("time an epoch", seconds_text(usual), "the median of all epochs")
    if able > 0:
        share = min(1.0, inside / able)
        yield Fact("in reads", f"{share:.0%}", "of the epochs' time, of all their processes")


def _prefetched(done: PrefetchOutcome | None) -> Iterator[Fact]:
    if done is not None and done.reads > 0:
        share = f"{done.hits:,} of {done.reads:,} reads"
        yield Fact("read ahead", f"{done.hits / done.reads:.0%}", share)


def _table(found: RunEpochs) -> Table:
    shown = found.epochs[:_ROWS]
    more = len(found.epochs) - len(shown)
    return Table(
        "Epochs: the same data is read again and again"
        + (f"; {more:,} more are not shown" if more else ""),
        ("epoch", "reads", "bytes", "time", "inside of reads", "processes", "order",
         "starts after"),
        tuple(
            (
                str(one.number),
                f"{one.reads:,}",
                size_text(one.bytes),
                seconds_text(one.seconds),
                seconds_text(one.read_seconds),
                f"{one.processes:,}",
                order_text(one),
                seconds_text(one.start_seconds),
            )
            for one in shown
        ),
    )  # fmt: skip
