"""The sections of the report about files and datasets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from iotune.html_report.access_figure import access_figure, rank_figures
from iotune.html_report.blocks import Heading
from iotune.html_report.facts import RunFacts
from iotune.html_report.share_figure import share_figure
from iotune.html_report.shares import shares_of
from iotune.html_report.svg import Figure, Table, counted, short_path
from iotune.reports.tables import plural, rate_text, seconds_text, size_text
from iotune.reports.totals_text import totals_lines
from iotune.traces.summary import DatasetPattern, FilePattern

_SHOWN_FILES = 40
_SHOWN_DATASETS = 200
_DRAWN_DATASETS = 12
_DRAWN_OF_A_FILE = 4


def files_blocks(facts: RunFacts, wide: float) -> Iterator[Any]:
    """Tables of the files and of their datasets."""
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
                *(
                    plural(facts.run.members[1]),
                    "repeats",
                    "calls",
                    "bytes",
                    "time",
                    "bytes over time",
                ),
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
    calls = sum(each.calls for each in same)
    operation = "write" if one.write else "read"
    return (
        one.dataset + (f" and {len(same) - 1} more" if len(same) > 1 else ""),
        one.descriptor + (" (inferred)" if one.inferred else ""),
        operation if one.mode == "unknown" else f"{operation}, {one.mode}",
        path.rsplit("/", 1)[-1],
        f"{one.ranks:,}",
        f"{one.repeats:,}",
        f"{calls:,}" if calls else "–",
        size_text(moved),
        seconds_text(seconds) if seconds > 0 else "–",
        rate_text(moved / seconds if seconds > 0 else 0),
    )


def decompositions_blocks(facts: RunFacts, wide: float) -> Iterator[Any]:
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


def maps_blocks(facts: RunFacts, wide: float) -> Iterator[Any]:
    """Access maps of the largest files."""
    maps = facts.gathered.maps
    for path in facts.mapped:
        one = maps[path]
        yield Heading(path)
        name = short_path(path.rsplit("/", 1)[-1])
        yield access_figure(name, one, facts.rows, facts.axis_seconds, wide)
        yield from rank_figures(name, one, facts.rows, wide)
    rest = len([one for one in facts.run.data_files if one.bytes > 0]) - len(maps)
    if maps and rest > 0:
        yield Heading(
            "", [("", f"Not drawn: {counted(rest, 'smaller file')}, or files of a series.")]
        )


def totals_blocks(facts: RunFacts, wide: float) -> Iterator[Any]:
    """A table of the largest files, a row for each line that `iotune show` has of them."""
    counts = [one for one in facts.run.files if one.totals and (one.bytes or one.stdio_beside)]
    counts.sort(key=lambda one: -one.bytes)
    rows = [
        (file.path if at == 0 else "", label, text)
        for file in counts[:_SHOWN_FILES]
        if file.totals is not None
        for at, (label, text) in enumerate(totals_lines(file.totals, facts.run.ranks))
    ]
    if not rows:
        return
    yield Table("Files by what the log counted of them", ("file", "", "counted"), tuple(rows), 3)
    if len(counts) > _SHOWN_FILES:
        more = counted(len(counts) - _SHOWN_FILES, "smaller file")
        yield Heading("", [("", f"{more}: iotune show --all has all of them.")])
