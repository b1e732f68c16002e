"""Prints conflicts for people, and for programs as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from iotune.findings.facts import ranks_text
from iotune.reports.losses import say_losses
from iotune.reports.tables import Column, count_text, paragraph, size_text, table
from iotune.talk import data, say
from iotune.traces.trace import Trace
from iotune.verify.conflicts import KINDS, Conflicts, FileConflicts, Place, SiteConflicts

_FILES = [
    Column("pairs", number=True),
    *(Column(kind, number=True) for kind in KINDS),
    Column("by"),
    Column("file", spare=1),
]
_SITES_SHOWN = 8  # of a file


def conflicts_json(runs: Sequence[Trace], found: Conflicts) -> dict[str, Any]:
    """What `--json` prints: verify.schema.json holds it."""
    warnings = [text for run in runs for text in run.summary.warnings]
    return {"traces": [str(one.path) for one in runs], "warnings": warnings, **found.as_json()}


def show_conflicts(runs: Sequence[Trace], found: Conflicts) -> None:
    """A line a file, then what made its conflicts."""
    for run in runs:
        say_losses(run.summary.warnings)
    files = [one for one in found.files if one.pairs]
    if not files:
        data(_none(found))
    else:
        table(_FILES, [_row(one) for one in files])
        for file in files:
            _show_file(file, len(runs) > 1)
        say("the trace has no order: nothing is known of which access came first")
    for file in found.files:
        if file.without_place:
            number = count_text(file.without_place, "access")
            say(f"not seen: {number} of {file.path}, whose place is not in the trace")


def _none(found: Conflicts) -> str:
    shared = len(found.files)
    if not shared:
        return "no conflict: no file was read or written by two processes"
    return f"no conflict in {count_text(shared, 'file')} that two processes touched"


def _row(file: FileConflicts) -> list[str]:
    counts = [f"{file.pairs_of(kind):,}" if file.pairs_of(kind) else "–" for kind in KINDS]
    return [f"{file.pairs:,}", *counts, who_text(file), file.path]


def who_text(file: FileConflicts) -> str:
    """The processes that are in a conflict."""
    ranks = [one for one in file.ranks if one >= 0]
    if ranks == list(file.ranks):
        return ranks_text(ranks)
    return ", ".join(filter(None, [ranks_text(ranks), "processes without a rank"]))


def _show_file(file: FileConflicts, several: bool) -> None:
    data()
    data(file.path)
    if file.names:
        paragraph(f"also named {', '.join(file.names)}", indent=2)
    for one in file.sites[:_SITES_SHOWN]:
        _show_site(one, several)
    if len(file.sites) > _SITES_SHOWN:
        left = file.sites[_SITES_SHOWN:]
        pairs = sum(one.pairs for one in left)
        paragraph(f"and {count_text(len(left), 'further pair')} of calls, {pairs:,} pairs", 2)


def _show_site(one: SiteConflicts, several: bool) -> None:
    what = one.first if one.first == one.second else f"{one.first}  and  {one.second}"
    between = count_text(one.process_pairs, "pair")
    paragraph(f"{one.kind}: {one.pairs:,} between {between} of processes, by {what}", 2)
    first, end = one.bytes_of_example
    places = " and ".join(_place(each, several) for each in one.example)
    paragraph(f"such as {places}: {size_text(end - first)} at {first:,}", 4)


def _place(place: Place, several: bool) -> str:
    of_trace = f" of trace {place.trace + 1}" if several else ""
    return f"{place.who}{of_trace} {place.deed}"
