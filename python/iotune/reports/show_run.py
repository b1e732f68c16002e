"""A run in patterns, for people: what `iotune show` prints."""

from __future__ import annotations

import fnmatch
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from iotune.reports.actual_io import done_text, taken_apart
from iotune.reports.alike import Alike, count_of, moved_of, screenful
from iotune.reports.losses import say_losses
from iotune.reports.show_epochs import print_epochs
from iotune.reports.show_regions import print_regions
from iotune.reports.tables import (
    Column,
    count_text,
    paragraph,
    plural,
    rate_text,
    seconds_text,
    share_text,
    size_text,
    table,
    terminal_width,
)
from iotune.reports.totals_text import heat_lines, totals_lines
from iotune.talk import data, next_command, print_json, printable
from iotune.traces.chosen_trace import chosen_trace, words_for
from iotune.traces.run_epochs import run_epochs
from iotune.traces.summary import DatasetPattern, FilePattern, RunSummary

_COLUMNS = [
    Column("  dataset"),
    Column("descriptor"),
    Column("operation", bare=True),
    Column("mode", spare=2, bare=True),
    Column("ranks", number=True, spare=1),
    Column("grid", spare=6),
    Column("calls", number=True, spare=4),
    Column("repeats", number=True, spare=7),
    Column("bytes", number=True, bare=True),
    Column("seconds", number=True, spare=5),
    Column("bandwidth", number=True, spare=3, bare=True),
]
# Python's tempfile asks so whether it may write to a folder, with these bytes.
_MOST_DATASETS = 24  # of a file, without --all
_LABEL = 9  # cells of what a line of totals is about
_FOLDER_TEST = re.compile(r"/[a-z0-9_]{8}$")
_FOLDER_TEST_BYTES = len(b"blat")
_LOCK_TEST = re.compile(r"\.locktest\.\d+$")  # Open MPI asks so whether a folder has locks


def show_patterns(
    given: Path | None, files: Sequence[str] = (), everything: bool = False, as_json: bool = False
) -> None:
    """Do what `iotune show` does without --calls; of the last run where none is given."""
    run = chosen_trace(given)
    if as_json:
        found = run_epochs(run.path, run.summary)
        print_json("show", {**run.raw_summary, **found.as_json()})
    else:
        whole = files or everything
        print_run(run.summary if whole else run.folded_summary, files, everything, run.path)
    next_command("iotune", "explain", *words_for(run, given))


def print_run(
    run: RunSummary,
    wanted: Sequence[str] = (),
    everything: bool = False,
    trace: Path | None = None,
) -> None:
    """Print the run's totals, then its files: those that are `wanted`, else those that moved data.

    Where its `trace` is given its workers and epochs are shown, too.
    With `everything` files of a series one by one, folders, and files of which no byte was moved.
    """
    say_losses(run.warnings)
    paragraph(_headline(run))
    paragraph(_totals(run))
    if run.log and run.log["heatmap"] and not wanted:
        _print_lines(heat_lines(run.log["heatmap"]))
    if trace is not None and not wanted:
        print_epochs(trace, run)
    for note in [] if wanted else run.notes:
        paragraph(note)
    if wanted:
        shown = [one for one in run.files if is_file(one.path, wanted)]
        if not shown:
            paragraph(f"the run touched no {', '.join(wanted)}")
    else:
        # Of files outside the sample the warning tells.
        shown = [one for one in run.data_files if not one.sampled_out]
        if not shown:
            paragraph("no file")
    idle: list[FilePattern] = []
    if not wanted and not everything:
        idle = [one for one in shown if _is_idle(one)]
        shown = [one for one in shown if not _is_idle(one)]
    groups, left_out = (
        ([Alike([one]) for one in shown], []) if wanted or everything else screenful(shown)
    )
    most = None if wanted or everything else _MOST_DATASETS
    for group in groups:
        if group.is_folded:
            _print_alike(group, run, most)
        else:
            _print_file(group.files[0], run, most)
    _print_inferred(one for group in groups for one in group.files)
    if run.regions and not wanted:
        print_regions(run.regions, everything)
    if left_out:
        data()
        size = size_text(sum(moved_of(left_out)))
        paragraph(
            f"not shown: {count_text(count_of(left_out), 'smaller file')}, {size} in all (--all, "
            "or --file NAME)"
        )
    said = [one for one in run.files if one.is_stdout and (one.bytes or everything)]
    if said and not wanted:
        data()
        for one in said:
            _headed(one.path, f"stdout, no data file: {_moved(one.bytes_written, one.bytes_read)}")
    if idle:
        data()
        count = count_of(idle)
        noun = "file or folder" if count == 1 else "files and folders"
        paragraph(f"not shown: {count} {noun} of which no byte was moved (--all shows all)")


def is_file(path: str, wanted: Iterable[str]) -> bool:
    """Whether one of the patterns names the file: /a/b/c.h5 is itself, b/c.h5, c.h5 and *.h5."""
    parts = path.split("/")
    ends = [path, *("/".join(parts[at:]) for at in range(1, len(parts)))]
    return any(
        end == pattern or fnmatch.fnmatchcase(end, pattern) for pattern in wanted for end in ends
    )


def _headline(run: RunSummary) -> str:
    parts = [
        run.program_name or run.program or "?",
        count_text(*run.members),
        # Logs of totals name no hosts.
        *([count_text(run.nodes, "node")] if run.has_calls else []),
        f"{run.elapsed_seconds:.2f} s",
        count_text(run.calls, "call") if run.has_calls else f"totals of {run.log_name}",
    ]
    return ", ".join(parts + [text for text in (run.mpi, run.hdf5 and f"HDF5 {run.hdf5}") if text])


def _totals(run: RunSummary) -> str:
    """What the run moved, and how much of its time went into that."""
    files = count_of(one for one in run.data_files if not _is_idle(one))
    text = (
        f"{_moved(*moved_of(run.data_files))} in {count_text(files, 'file')}"
        if files
        else "no bytes moved"
    )
    if run.elapsed_seconds > 0 and run.io_seconds > 0:
        share = share_text(run.io_seconds / run.elapsed_seconds)
        whose = "" if run.processes < 2 else ", of its slowest process"
        text += f"; {share} of its time in I/O ({seconds_text(run.io_seconds)}{whose})"
    return text


def _moved(written: int, read: int) -> str:
    moved = [
        f"{size_text(count)} {verb}"
        for count, verb in ((written, "written"), (read, "read"))
        if count
    ]
    return ", ".join(moved) or "no bytes moved"


def _is_idle(file: FilePattern) -> bool:
    """Whether there is nothing to say of it: a folder, a test, a file only looked at."""
    moved_nothing = file.bytes == 0 and not file.datasets and not file.stdio_beside
    unasked = not file.settings and not file.sampled_out and file.prefetch is None
    if unasked and _FOLDER_TEST.search(file.path) and not file.bytes_read:
        moved_nothing = moved_nothing or file.bytes_written == _FOLDER_TEST_BYTES
    return unasked and (moved_nothing or _LOCK_TEST.search(file.path) is not None)


def _print_file(file: FilePattern, run: RunSummary, most: int | None) -> None:
    data()
    if file.sampled_out:
        _headed(file.path, "not in the sample that was recorded of its series")
        return
    moved = _moved(file.bytes_written, file.bytes_read)
    if file.stdio_beside and not file.bytes:
        moved = "by stdio alone"
    elif file.io_seconds > 0:
        rate = rate_text(file.bytes / file.io_seconds)
        moved += f" in {seconds_text(file.io_seconds)} ({rate})"
    _headed(file.path, moved)
    _print_datasets(file, run, most)
    if file.totals is not None and (most is None or not file.datasets):
        _print_lines(totals_lines(file.totals, run.ranks))


def _print_lines(lines: Iterable[tuple[str, str]]) -> None:
    """What each is about, and the text beside it."""
    for label, text in lines:
        paragraph(f"{label:<{_LABEL - 1}} {text}", indent=2, more=_LABEL)


def _print_alike(group: Alike, run: RunSummary, most: int | None) -> None:
    files = group.files
    data()
    each_of = [one.together for one in files]
    shortest, longest = (
        min(one.least_seconds for one in each_of),
        max(one.most_seconds for one in each_of),
    )
    each = f"{seconds_text(shortest)} to {seconds_text(longest)} each"
    if group.is_mixed:
        smallest = size_text(min(one.least_bytes for one in each_of))
        each = f"{smallest} to {size_text(max(one.most_bytes for one in each_of))} and {each}"
    _headed(
        group.name,
        f"{group.count} files: {_moved(*moved_of(files))} in all, {each}; the "
        f"{'largest' if group.is_mixed or not run.has_calls else 'first'} one:",
    )
    shown = group.largest if group.is_mixed or not run.has_calls else files[0]
    _print_datasets(shown, run, most)
    if shown.totals is not None and not shown.datasets:
        _print_lines(totals_lines(shown.totals, run.ranks))


def _headed(path: str, text: str) -> None:
    """A file's line; on a terminal that is too narrow its numbers stand below its name."""
    name = printable(path)
    if sys.stdout.isatty() and len(name) + 3 + len(text) > terminal_width():
        print(name)
        paragraph(text, indent=2, more=2)
    else:
        print(f"{name}   {text}")


def _print_datasets(file: FilePattern, run: RunSummary, most: int | None) -> None:
    largest = sorted(file.datasets, key=lambda one: -one.bytes)[:most]
    rows = [_row(file, one) for one in file.datasets if any(one is each for each in largest)]
    if rows:
        members = plural(run.members[1])
        columns = [replace(one, title=members) if one.title == "ranks" else one for one in _COLUMNS]
        table(columns, rows, indent=2)
    if len(file.datasets) > len(rows):
        more = count_text(len(file.datasets) - len(rows), "smaller dataset")
        paragraph(f"and {more} (--all, or --file NAME)", indent=4)
    apart = Counter(
        done_text(one.actual_io, one.not_collective) for one in file.datasets if taken_apart(one)
    )
    for text, datasets in apart.items():
        more = f" (so of {datasets} datasets)" if datasets > 1 else ""
        paragraph(f"actual I/O: {text}{more}", indent=4)


def _print_inferred(files: Iterable[FilePattern]) -> None:
    """Once for all: what a dataset in brackets is."""
    inferred = [one for file in files for one in file.datasets if one.inferred]
    if not inferred:
        return
    data()
    # Each reason once, and not for each dataset.
    texts = dict.fromkeys(
        text for one in inferred if one.ambiguity for text in one.ambiguity.split("; ")
    )
    of = "what all processes moved" if texts else "the file views of MPI-IO"
    paragraph("; ".join([f"(bytes): no HDF5 dataset, but an array inferred from {of}", *texts]))


def _grid_text(one: DatasetPattern) -> str:
    """The process grid, 3x1; with a halo, 3+2x1: neighbours share 2 elements of the first."""
    halo = one.halo or [0] * len(one.process_grid)
    parts = [f"{n}+{shared}" if shared else str(n) for n, shared in zip(one.process_grid, halo)]
    return "x".join(parts) or "–"


def _row(file: FilePattern, one: DatasetPattern) -> list[str]:
    return [
        ("* " if file.is_dominant(one) else "  ") + one.dataset,
        one.descriptor,
        "write" if one.write else "read",
        one.mode,
        str(one.ranks),
        _grid_text(one),
        str(one.calls or "–"),
        str(one.repeats),
        size_text(one.bytes),
        seconds_text(one.seconds) if one.seconds > 0 else "–",
        rate_text(one.bandwidth),
    ]
