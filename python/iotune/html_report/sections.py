"""The sections of the report: which blocks each has for one run. What has nothing to say is absent.

Blocks are Figure and Table (svg.py) and those below; templates/blocks.html draws each by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import Any

from iotune.findings import Finding
from iotune.html_report.access_figure import access_figure, rank_figures
from iotune.html_report.bar_figure import (
    LAYER_NAMES,
    alignment_figure,
    rank_time_figure,
    size_figures,
    stripe_figure,
    time_figure,
)
from iotune.html_report.facts import RunFacts
from iotune.html_report.heat_figure import heat_figures
from iotune.html_report.share_figure import share_figure
from iotune.html_report.shares import shares_of
from iotune.html_report.svg import WIDTH, Figure, Table, counted, short_path
from iotune.reports.actual_io import done_text, sum_of, told_settings
from iotune.reports.alike import folded
from iotune.reports.explained import (
    brought_lines,
    is_explained,
    matched_lines,
    prefetched_lines,
    recognised_text,
)
from iotune.reports.tables import rate_text, seconds_text, size_text
from iotune.traces.summary import DatasetPattern, FilePattern

_SHOWN_FILES = 40
_SHOWN_DATASETS = 200
_DRAWN_DATASETS = 12
_DRAWN_OF_A_FILE = 4
_EXPLAINED = 40


@dataclass(frozen=True)
class Fact:
    """A tile: a value with what it is."""

    label: str
    value: str
    more: str = ""


@dataclass(frozen=True)
class Facts:
    """Tiles in a row."""

    facts: list[Fact]


@dataclass(frozen=True)
class Heading:
    """A part of a section, of one file mostly."""

    text: str
    lines: list[tuple[str, str]] = field(default_factory=list)  # label, sentence


@dataclass(frozen=True)
class FindingBlock:
    """A finding (iotune.findings)."""

    finding: Finding


@dataclass
class Section:
    """Blocks under a title."""

    id: str
    title: str
    intro: str
    blocks: list[Any]


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
        ("heat", "Ranks over time", "When each rank moved how many bytes.", _heat),
        ("files", "Files and datasets", "", _files),
        (
            "decompositions",
            "Decompositions",
            "How datasets were divided over the ranks that moved them.",
            _decompositions,
        ),
        (
            "maps",
            "Access maps",
            "Where in a file bytes were moved. Patterns are drawn, not single calls: zoom in to "
            "see the accesses of a loop.",
            _maps,
        ),
        ("sizes", "Sizes and alignment", "", _sizes),
        ("slowest", "Slowest ranks and files", "", _slowest),
        (
            "tuning",
            "What iotune decided",
            "What was recognised, matched, applied, refused or without effect, and what it "
            "brought, as iotune explain tells it.",
            _tuning,
        ),
        ("prefetch", "Prefetching", "", _prefetch),
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
    written = sum(one.bytes_written for one in run.files)
    read = sum(one.bytes_read for one in run.files)
    hosts = ", ".join(facts.hosts[:3]) + (
        f" and {len(facts.hosts) - 3} more" if len(facts.hosts) > 3 else ""
    )
    share = min(1.0, run.io_seconds / run.elapsed_seconds) if run.elapsed_seconds > 0 else 0.0
    libraries = ", ".join(one for one in (run.mpi, run.hdf5 and f"HDF5 {run.hdf5}") if one)
    rows = [
        Fact("program", facts.program or "unknown", " ".join(run.argv)[:300]),
        Fact("started", _when(run.start_unix_seconds)),
        Fact("lasted", seconds_text(run.elapsed_seconds)),
        Fact("ranks", f"{run.ranks:,}", f"{counted(run.nodes, 'node')}: {hosts or 'unknown'}"),
        Fact("written", size_text(written)),
        Fact("read", size_text(read)),
        Fact(
            "time in I/O", f"{share:.0%}", f"{seconds_text(run.io_seconds)} of the slowest process"
        ),
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


def _heat(facts: RunFacts, wide: float) -> Iterator[Any]:
    yield from heat_figures(facts.gathered.bins, facts.rows, facts.axis_seconds, wide)


def _files(facts: RunFacts, wide: float) -> Iterator[Any]:
    if not facts.groups:
        return
    rows = []
    for group in facts.groups[:_SHOWN_FILES]:
        for file in [group.files[0]] if group.is_folded else group.files:
            files = group.files if group.is_folded else [file]
            seconds = max(one.io_seconds for one in files)
            moved = sum(one.bytes for one in files)
            rows.append(
                (
                    f"{group.name} ({len(files)} files)" if group.is_folded else file.path,
                    size_text(sum(one.bytes_written for one in files)),
                    size_text(sum(one.bytes_read for one in files)),
                    seconds_text(seconds),
                    rate_text(moved / len(files) / seconds if seconds > 0 else 0),
                )
            )
    yield Table(
        "Files that moved bytes; times are the slowest rank's, of several files the slowest one's",
        ("file", "written", "read", "time in calls", "bytes over time"),
        tuple(rows),
    )
    more = sum(len(one.files) for one in facts.groups[_SHOWN_FILES:])
    if more > 0:
        yield Heading("", [("", f"{counted(more, 'smaller file')}: iotune show has all of them.")])
    datasets = [
        _dataset_row(group.name if group.is_folded else file.path, same)
        for group in facts.groups
        for file in (group.files[:1] if group.is_folded else group.files)
        for same in _alike(file)
    ]
    if datasets:
        yield Table(
            "Datasets: who moved what, and in which pattern (docs/descriptors.md). Those that are "
            "alike are one row; bytes, calls and time are all of theirs",
            (
                *("dataset", "descriptor", "operation", "file"),
                *("ranks", "repeats", "calls", "bytes", "time", "bytes over time"),
            ),
            tuple(datasets[:_SHOWN_DATASETS]),
            text_columns=4,
            whole=(1, 2),
        )
    more = len(datasets) - _SHOWN_DATASETS
    if more > 0:
        yield Heading("", [("", f"{counted(more, 'further row')}: iotune show has all of them.")])


def _alike(file: FilePattern) -> list[list[DatasetPattern]]:
    """A file's datasets, those together that differ in their names and times alone.

    Those of which most bytes were moved come first.
    """
    found: dict[Any, list[DatasetPattern]] = {}
    for one in file.datasets:
        key = (
            *(one.descriptor, one.write, one.mode, one.ranks, one.bytes, one.repeats),
            *(one.inferred, tuple(one.dataset_dims), tuple(one.chunk)),
        )
        found.setdefault(key, []).append(one)
    return sorted(found.values(), key=lambda same: -sum(one.bytes for one in same))


def _dataset_row(path: str, same: list[DatasetPattern]) -> tuple[str, ...]:
    one = same[0]
    seconds, moved = sum(each.seconds for each in same), sum(each.bytes for each in same)
    operation = "write" if one.write else "read"
    return (
        one.dataset + (f" and {len(same) - 1} more" if len(same) > 1 else ""),
        one.descriptor + (" (inferred)" if one.inferred else ""),
        operation if one.mode == "unknown" else f"{operation}, {one.mode}",
        path.rsplit("/", 1)[-1],
        f"{one.ranks:,}",
        f"{one.repeats:,}",
        f"{sum(each.calls for each in same):,}",
        size_text(moved),
        seconds_text(seconds),
        rate_text(moved / seconds if seconds > 0 else 0),
    )


def _decompositions(facts: RunFacts, wide: float) -> Iterator[Any]:
    """One drawing for datasets of one file that are divided alike, of the largest ones."""
    drawn = 0
    for group in facts.groups:
        for file in group.files[:1] if group.is_folded else group.files:
            figures: list[Figure] = []
            for same in _alike(file):
                if (
                    same[0].ranks < 2
                    or len(figures) == _DRAWN_OF_A_FILE
                    or drawn == _DRAWN_DATASETS
                ):
                    continue
                shares = shares_of(same[0], file.path, facts.selections)
                if shares is None:
                    continue
                drawn += 1
                figure = share_figure(same[0], shares)
                if len(same) > 1:
                    more = (
                        f" {counted(len(same) - 1, 'further dataset')} of the file "
                        f"{'is' if len(same) == 2 else 'are'} alike."
                    )
                    figure = replace(figure, says=figure.says + more)
                figures.append(figure)
            if figures:
                yield Heading(group.name if group.is_folded else file.path)
                yield from figures


def _maps(facts: RunFacts, wide: float) -> Iterator[Any]:
    maps = facts.gathered.maps
    for path in facts.mapped:
        one = maps[path]
        yield Heading(path)
        name = short_path(path.rsplit("/", 1)[-1])
        yield access_figure(name, one, facts.rows, facts.axis_seconds, wide)
        yield from rank_figures(name, one, facts.rows, wide)
    rest = len([one for one in facts.run.files if one.bytes > 0]) - len(maps)
    if maps and rest > 0:
        yield Heading(
            "", [("", f"Not drawn: {counted(rest, 'smaller file')}, or files of a series.")]
        )


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
    files = sorted((one for one in facts.run.files if one.io_seconds > 0),
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
        for one in facts.run.files
        if is_explained(one) and (one.settings or one.decision_source)
    ]
    for group in folded(files)[:_EXPLAINED]:
        for file in group.files[:1] if group.is_folded else group.files:
            lines = [("recognised", recognised_text(facts.run, file))]
            told = [one for one in file.datasets if one.actual_io]
            if told:
                lines.append(("actual I/O", done_text(*sum_of(told))))
            lines += [("matched", line) for line in matched_lines(file)]
            if file.path in facts.brought:
                lines += [("brought", one) for one in brought_lines(file, facts.brought[file.path])]
            yield Heading(
                f"{group.name} ({len(group.files)} files)" if group.is_folded else file.path, lines
            )
            if file.settings:
                yield Table(
                    f"Settings of {short_path(file.path)}",
                    ("setting", "verdict", "wanted", "got", "reason"),
                    tuple(
                        (one.parameter, one.verdict, one.wanted or "–", one.got or "–", one.reason)
                        for one in told_settings(file)
                    ),
                    text_columns=5,
                )


def _prefetch(facts: RunFacts, wide: float) -> Iterator[Any]:
    for file in facts.run.files:
        if file.prefetch is not None:
            yield Heading(file.path, [("", one) for one in prefetched_lines(file.prefetch)])


def _losses(facts: RunFacts, wide: float) -> Iterator[Any]:
    for line in facts.losses[:50]:
        yield Heading("", [("", line)])
    more = len(facts.losses) - 50
    if more > 0:
        yield Heading("", [("", f"and {more} more")])
