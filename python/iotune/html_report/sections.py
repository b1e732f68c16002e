"""The sections of the report: which blocks each has for one run. What has nothing to say is absent.

Blocks are Figure and Table (svg.py) and those of blocks.py.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from typing import Any

from iotune.errors import Error
from iotune.html_report.bar_figure import (
    LAYER_NAMES,
    alignment_figure,
    rank_time_figure,
    size_figures,
    stripe_figure,
    time_figure,
)
from iotune.html_report.blocks import Fact, Facts, FindingBlock, Heading, Section
from iotune.html_report.epoch_section import epochs_blocks
from iotune.html_report.facts import RunFacts
from iotune.html_report.file_sections import (
    decompositions_blocks,
    files_blocks,
    maps_blocks,
    totals_blocks,
)
from iotune.html_report.heat_figure import heat_figures
from iotune.html_report.order_section import order_blocks
from iotune.html_report.region_figure import region_figure, region_table
from iotune.html_report.svg import WIDTH, Table, counted, short_path
from iotune.logstore import LogContainer, is_container
from iotune.models.settings.prospects import prospect_of_file
from iotune.reports.actual_io import done_text, reported_settings, sum_of
from iotune.reports.alike import folded
from iotune.reports.explained import (
    effect_lines,
    is_explained,
    matched_lines,
    needs_training,
    prefetched_lines,
    recognised_text,
    training_line,
)
from iotune.reports.tables import plural, seconds_text, share_text, size_text
from iotune.traces.regions import each_region
from iotune.traces.run_epochs import prefetched_together

_EXPLAINED = 40
_SHOWN_LOGS = 20


def sections_of(facts: RunFacts, wide: float = WIDTH) -> list[Section]:
    """All sections that have something to say of the run, in the order of the report.

    `wide`: of drawings, WIDTH or NARROW.
    """
    makers: tuple[tuple[str, str, str, Callable[[RunFacts, float], Iterator[Any]]], ...] = (
        ("glance", "The run at a glance", "", _glance),
        (
            "findings",
            "Findings",
            "What of this run's I/O is slow by its shape, the gravest first, and what to do.",
            _findings,
        ),
        ("time", "Where the time went", "", _time),
        (
            "regions",
            "Regions of the program",
            "What the program marked by names, and what it read and wrote meanwhile.",
            _regions,
        ),
        (
            "epochs",
            "Workers and epochs",
            "Processes that another one has started, and passes over the same data, as a training "
            "program makes them.",
            lambda facts, wide: epochs_blocks(facts.epochs, facts.run),
        ),
        ("heat", "Ranks over time", "When each rank moved how many bytes.", _heat),
        ("files", "Files and datasets", "", files_blocks),
        ("totals", "What the log counted", "", totals_blocks),
        (
            "decompositions",
            "Decompositions",
            "How datasets were divided over the ranks that moved them.",
            decompositions_blocks,
        ),
        (
            "maps",
            "Access maps",
            "Where in a file bytes were moved. Patterns are drawn, not single calls: zoom in to "
            "see the accesses of a loop.",
            maps_blocks,
        ),
        (
            "order",
            "The same bytes",
            "Accesses of two processes to the same bytes, at least one of which writes, and "
            "whether the run orders them as each model of consistency asks.",
            lambda facts, wide: order_blocks(facts.verdicts, wide),
        ),
        ("sizes", "Sizes and alignment", "", _sizes),
        ("slowest", "Slowest ranks and files", "", _slowest),
        (
            "tuning",
            "What iotune decided",
            "What was recognised, matched, applied, refused or without effect, and the "
            "measured effect, as iotune explain shows it.",
            _tuning,
        ),
        ("prefetch", "Prefetching", "", _prefetch),
        (
            "logs",
            "Log store",
            "Files that are kept as logs, as they are on this machine now; the run's own writes "
            "may not be the last ones.",
            _logs,
        ),
        ("losses", "What is missing", "What of the trace could not be read or recorded.", _losses),
    )
    found = []
    for name, title, intro, make in makers:
        blocks = list(make(facts, wide))
        if blocks:
            found.append(Section(name, title, intro, blocks))
    return found


def _glance(facts: RunFacts, wide: float) -> Iterator[Any]:
    run = facts.run
    written = sum(one.bytes_written for one in run.data_files)
    read = sum(one.bytes_read for one in run.data_files)
    hosts = ", ".join(facts.hosts[:3]) + (
        f" and {len(facts.hosts) - 3} more" if len(facts.hosts) > 3 else ""
    )
    share = run.io_seconds / run.elapsed_seconds if run.elapsed_seconds > 0 else 0.0
    whose = f"{seconds_text(run.io_seconds)} of the slowest process"
    libraries = ", ".join(one for one in (run.mpi, run.hdf5 and f"HDF5 {run.hdf5}") if one)
    rows = [
        Fact("program", facts.program or "unknown", " ".join(run.argv)[:300]),
        Fact("started", _when(run.start_unix_seconds)),
        Fact("lasted", seconds_text(run.elapsed_seconds)),
        Fact(
            plural(run.members[1]),
            f"{run.members[0]:,}",
            f"{counted(run.nodes, 'node')}: {hosts or 'unknown'}",
        ),
        Fact("written", size_text(written)),
        Fact("read", size_text(read)),
        Fact("time in I/O", share_text(share), whose),
        Fact("calls recorded", f"{run.calls:,}", libraries),
    ]
    yield Facts([one for one in rows if one.value])


def _when(seconds: float) -> str:
    if seconds <= 0:
        return ""
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")


def _findings(facts: RunFacts, wide: float) -> Iterator[Any]:
    found = facts.findings
    for one in found.findings:
        yield FindingBlock(one)
    if not found.findings and found.checked:
        yield Heading("", [("", f"Nothing was found. Looked for: {', '.join(found.checked)}.")])
    if found.limits:
        yield Heading("What was not seen", [("", one) for one in found.limits])


def _time(facts: RunFacts, wide: float) -> Iterator[Any]:
    gathered = facts.gathered
    kinds = [float(one) for one in gathered.seconds.sum(axis=0)]
    active = int((gathered.calls.sum(axis=1) > 0).sum())
    figure = time_figure(gathered.own_seconds(), kinds, active, facts.run.elapsed_seconds, wide)
    if figure is None:
        return
    yield figure
    rows = [
        (
            LAYER_NAMES[name],
            *(f"{int(one):,}" for one in gathered.layer_calls[at]),
            *(size_text(float(one)) for one in gathered.sizes.bytes[at]),
            seconds_text(float(gathered.layer_seconds[at])),
        )
        for at, name in enumerate(LAYER_NAMES)
        if gathered.layer_calls[at].any()
    ]
    yield Table(
        "Calls on files by layer; a call that a library made for another one counts in both",
        ("layer", "reads", "writes", "other", "bytes read", "bytes written", "time, all included"),
        tuple(rows),
    )


def _regions(facts: RunFacts, wide: float) -> Iterator[Any]:
    regions = facts.run.regions
    if not regions:
        return
    figure = region_figure(regions, each_region(facts.trace.path), facts.axis_seconds, wide)
    if figure is not None:
        yield figure
    yield region_table(regions)


def _heat(facts: RunFacts, wide: float) -> Iterator[Any]:
    yield from heat_figures(facts.gathered.bins, facts.rows, facts.axis_seconds, wide)


def _sizes(facts: RunFacts, wide: float) -> Iterator[Any]:
    yield from size_figures(facts.gathered.sizes, wide)
    alignment = alignment_figure(facts.gathered.sizes, wide)
    if alignment is not None:
        yield alignment
    for path, one in facts.gathered.maps.items():
        if one.stripes is not None and one.stripes.touched.any():
            yield stripe_figure(short_path(path), one.stripes, wide)


def _slowest(facts: RunFacts, wide: float) -> Iterator[Any]:
    gathered = facts.gathered
    figure = rank_time_figure(facts.rows, gathered.seconds.tolist(), gathered.moved.tolist(), wide)
    if figure is not None:
        yield figure
    files = sorted((one for one in facts.run.data_files if one.io_seconds > 0),
                   key=lambda one: -one.io_seconds)[:10]  # fmt: skip
    if len(files) > 1:
        yield Table(
            "The slowest files, by the time that their slowest rank spent in calls on them",
            ("file", "time in calls", "written", "read", "from opening to the last call"),
            tuple(
                (
                    one.path,
                    seconds_text(one.io_seconds),
                    size_text(one.bytes_written),
                    size_text(one.bytes_read),
                    seconds_text(one.elapsed_seconds),
                )
                for one in files
            ),
        )


def _tuning(facts: RunFacts, wide: float) -> Iterator[Any]:
    files = [
        one
        for one in facts.run.data_files
        if is_explained(one) and (one.settings or one.decision_source)
    ]
    for group in folded(files)[:_EXPLAINED]:
        for file in group.files[:1] if group.is_folded else group.files:
            lines = [("recognised", recognised_text(facts.run, file))]
            reported = [one for one in file.datasets if one.actual_io]
            if reported:
                lines.append(("actual I/O", done_text(*sum_of(reported))))
            lines += [("matched", line) for line in matched_lines(file)]
            if needs_training(file):
                training = training_line(file, prospect_of_file(facts.trace, file))
                lines.append(("training", training))
            if file.path in facts.effects:
                effect = facts.effects[file.path]
                lines += [("effect", one) for one in effect_lines(file, effect)]
                if effect.offered is not None:
                    lines += [("offered", one) for one in effect.offered.lines()]
            yield Heading(
                f"{group.name} ({len(group.files)} files)" if group.is_folded else file.path, lines
            )
            if file.settings:
                yield Table(
                    f"Settings of {short_path(file.path)}",
                    ("setting", "verdict", "wanted", "got", "reason"),
                    tuple(
                        (one.parameter, one.verdict, one.wanted or "–", one.got or "–", one.reason)
                        for one in reported_settings(file)
                    ),
                    text_columns=5,
                )


def _prefetch(facts: RunFacts, wide: float) -> Iterator[Any]:
    groups = folded([one for one in facts.run.data_files if one.prefetch is not None])
    for group in groups[:_EXPLAINED]:
        parts = [group.files] if group.is_folded else [[one] for one in group.files]
        for files in parts:
            name = f"{group.name} ({len(files)} files)" if group.is_folded else files[0].path
            done = prefetched_together(files)
            if done is not None:
                yield Heading(name, [("", one) for one in prefetched_lines(done)])
    if len(groups) > _EXPLAINED:
        more = sum(len(group.files) for group in groups[_EXPLAINED:])
        yield Heading("", [("", f"and {counted(more, 'further file')}")])


def _logs(facts: RunFacts, wide: float) -> Iterator[Any]:
    rows: list[tuple[str, ...]] = []
    for file in facts.run.data_files:
        try:
            if len(rows) == _SHOWN_LOGS or not (
                os.path.isdir(file.path) and is_container(file.path)
            ):
                continue
            one = LogContainer(file.path)
            live = size_text(one.live_bytes())
        except (Error, OSError, ValueError):  # of a newer version, or somebody writes it anew
            continue
        rows.append(
            (
                file.path,
                size_text(one.size),
                f"{len(one.writers):,}",
                f"{sum(writer.entries for writer in one.writers):,}",
                size_text(sum(writer.log_bytes for writer in one.writers)),
                f"{live} at most",
                size_text(one.index_bytes),
                f"{one.generation:,}",
                "yes" if one.is_whole() else "no: iotune log verify tells",
            )
        )
    if rows:
        yield Table(
            "Logs of files (docs/logstore.md)",
            (
                *("file", "size", "writers", "writes", "logs", "of these needed"),
                *("index", "compactions", "all synced is there"),
            ),
            tuple(rows),
        )


def _losses(facts: RunFacts, wide: float) -> Iterator[Any]:
    for line in facts.losses[:50]:
        yield Heading("", [("", line)])
    more = len(facts.losses) - 50
    if more > 0:
        yield Heading("", [("", f"and {more} more")])
