"""Prints conflicts and verdicts for people, and for programs as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from iotune.reports.losses import say_losses
from iotune.reports.tables import Column, count_text, paragraph, size_text, table
from iotune.talk import data, say
from iotune.traces.trace import Trace
from iotune.verify.conflicts import KINDS, Conflicts, FileConflicts, SiteConflicts
from iotune.verify.verdicts import (
    KEPT_BY,
    MODELS,
    FileVerdict,
    Verdicts,
    why_broken,
)
from iotune.verify.words import (
    Series,
    calls_text,
    in_series,
    kind_text,
    places_text,
    sites_in_order,
    violation_groups,
    who_text,
)

_KINDS = [Column(kind, number=True) for kind in KINDS]
_MODELS = [Column(model, number=True) for model in MODELS.values()]
_BY_FILE = [Column("by"), Column("file", spare=1)]
_FILES_SHOWN, _SITES_SHOWN = 12, 8  # one by one; of a file


def verdicts_json(runs: Sequence[Trace], found: Verdicts) -> dict[str, Any]:
    """What `--json` prints: verify.schema.json holds it."""
    warnings = [text for run in runs for text in run.summary.warnings]
    return {"traces": [str(one.path) for one in runs], "warnings": warnings, **found.as_json()}


def show_verdicts(runs: Sequence[Trace], found: Verdicts) -> None:
    """A line a file, then what made its conflicts, or what breaks a model."""
    for run in runs:
        say_losses(run.summary.warnings)
    series = in_series((one for one in found.conflicts.files if one.pairs), found)
    files = [one.first for one in series]
    several = len(runs) > 1
    cells = _verdict_cells if found.order_recorded else _kind_cells
    if not files:
        data(_none(found.conflicts))
    else:
        table([*_pairs_columns(files), *(_MODELS if found.order_recorded else _KINDS), *_BY_FILE],
              [[*_pairs_cells(one.first, files), *cells(one.first, found), who_text(one.first),
                one.name] for one in series])  # fmt: skip
    detailed = [one for one in series if not found.order_recorded or _is_wrong(one, found)]
    for one in detailed[:_FILES_SHOWN]:
        said = found.of_file(one.first.path)
        if said is None:
            _show_file(one, several)
        else:
            _show_violations(one, said, several)
    if len(detailed) > _FILES_SHOWN:
        data()
        data(f"and {count_text(len(detailed) - _FILES_SHOWN, 'further file')}: --json has them")
    if files and not found.order_recorded:
        say("the trace has no order: nothing is known of which access came first")
    for unknown in found.unknown:
        say(f"unknown, and no order: {unknown.reason} ({count_text(unknown.times, 'time')})")
    for one in in_series((file for file in found.conflicts.files if file.without_place), found):
        number = count_text(sum(file.without_place for file in one.files), "access")
        say(f"not seen: {number} of {one.name}, whose place is not in the trace")


def _is_wrong(one: Series, found: Verdicts) -> bool:
    said = found.of_file(one.first.path)
    return said is not None and bool(said.sites)


def show_answer(service: str, found: Verdicts) -> None:
    """Whether what the service keeps is enough for the run, in a line."""
    model = KEPT_BY[service]
    kept = f"{service} keeps {MODELS[model]} consistency"
    if not found.conflicts.has_pairs:
        data(f"yes: no two processes touch the same bytes of a file; {kept}")
    elif not found.order_recorded:
        data(f"unknown: the trace has no order; {kept}")
    elif broken := found.needing_more_than(service):
        data(f"no: {kept}, and {why_broken(broken[0], model)}")
    elif found.broken(model):
        data(f"yes: {kept}, and all conflicts of files that it concerns are properly synchronised "
             "under it")  # fmt: skip
    else:
        data(f"yes: {kept}, and all conflicts are properly synchronised under it")


def _none(found: Conflicts) -> str:
    shared = len(found.files)
    if not shared:
        return "no conflict: no file was read or written by two processes"
    return f"no conflict in {count_text(shared, 'file')} that two processes touched"


def _pairs_columns(files: Sequence[FileConflicts]) -> list[Column]:
    """Those that HDF5 makes for itself have a column where there are some."""
    names = ["pairs", "HDF5's own"] if any(one.metadata_pairs for one in files) else ["pairs"]
    return [Column(name, number=True) for name in names]


def _pairs_cells(file: FileConflicts, files: Sequence[FileConflicts]) -> list[str]:
    counts = [file.pairs, file.metadata_pairs][: len(_pairs_columns(files))]
    return [f"{one:,}" for one in counts]


def _verdict_cells(file: FileConflicts, found: Verdicts) -> list[str]:
    said = found.of_file(file.path)
    counts = said.violations if said is not None else dict.fromkeys(MODELS, 0)
    return [f"{counts[model]:,} not" if counts[model] else "right" for model in MODELS]


def _kind_cells(file: FileConflicts, found: Verdicts) -> list[str]:
    return [f"{file.pairs_of(kind):,}" if file.pairs_of(kind) else "–" for kind in KINDS]


def _show_heading(one: Series) -> None:
    data()
    data(one.name)
    if one.first.names:
        paragraph(f"also named {', '.join(one.first.names)}", indent=2)


def _show_file(series: Series, several: bool) -> None:
    _show_heading(series)
    sites = sites_in_order(series.first)
    for one in sites[:_SITES_SHOWN]:
        _show_site(one, several)
    if len(sites) > _SITES_SHOWN:
        left = sites[_SITES_SHOWN:]
        pairs = sum(one.pairs for one in left)
        paragraph(f"and {count_text(len(left), 'further pair')} of calls, {pairs:,} pairs", 2)


def _show_site(one: SiteConflicts, several: bool) -> None:
    between = count_text(one.process_pairs, "pair")
    calls = calls_text(one.first, one.second)
    paragraph(f"{kind_text(one)}: {one.pairs:,} between {between} of processes, by {calls}", 2)
    first, end = one.bytes_of_example
    places = places_text(one.example, several, " and ")
    paragraph(f"such as {places}: {size_text(end - first)} at {first:,}", 4)


def _show_violations(series: Series, said: FileVerdict, several: bool) -> None:
    _show_heading(series)
    groups = violation_groups(said)
    for group in groups[:_SITES_SHOWN]:
        paragraph(group.headline, 2)
        for line in filter(None, [group.example(several), *group.missing]):
            paragraph(line, 4)
    if len(groups) > _SITES_SHOWN:
        paragraph(f"and {count_text(len(groups) - _SITES_SHOWN, 'further pair')} of calls", 2)
