"""Prints a difference for people."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from iotune.comparing.changes import Change, DatasetChange, Difference, FileChange
from iotune.comparing.patterns import SIMILAR
from iotune.comparing.times import UNKNOWN, TimeChange
from iotune.reports.alike import masked
from iotune.reports.tables import (
    Column,
    count_text,
    paragraph,
    seconds_text,
    size_text,
    table,
)
from iotune.talk import data, printable, say

_TIMES = [
    Column("time of"),
    Column("A", number=True),
    Column("B", number=True),
    Column("A/B", number=True),
    Column("interval", spare=1),
    Column("B is", bare=True),
]
_SHOWN = 12  # datasets of a file
_FILES_SHOWN = 10
_BYTES = ("bytes written", "bytes read", "bytes")


def show_difference(found: Difference, everything: bool = False) -> None:
    """Print what changed; with `everything` also the files in which nothing did."""
    for text in found.warnings:
        say(text)
    _print_side("A", found.before)
    _print_side("B", found.after)
    data()
    _print_changes("run", found.run, "the same program, ranks, MPI and HDF5")
    _print_files(found.files, everything)
    _print_times(found.times)
    _print_findings(found)


def _print_side(name: str, traces: tuple[str, ...]) -> None:
    more = f" and {count_text(len(traces) - 1, 'further run')}" if len(traces) > 1 else ""
    print(f"{name}  {printable(traces[-1])}{more}")


def _print_changes(label: str, changes: Iterable[Change], none: str) -> None:
    texts = [_change(one) for one in changes]
    _say(label, texts or [none])


def _change(one: Change) -> str:
    return f"{one.what} {_value(one, one.before)} -> {_value(one, one.after)}"


def _value(one: Change, value: str | None) -> str:
    if value is None:
        return "none"
    return size_text(int(value)) if one.what in _BYTES else value


def _say(label: str, lines: Iterable[str]) -> None:
    for line in lines:
        paragraph(f"{label:<10}{line}", more=10)
        label = ""


def _print_files(files: tuple[FileChange, ...], everything: bool) -> None:
    same = [one for one in files if one.is_same]
    for group in _alike([one for one in files if everything or not one.is_same]):
        one = group[0]
        data()
        print(printable(one.after or one.before or ""))
        if len(group) > 1:
            _say("  alike", [f"{count_text(len(group) - 1, 'further file')} of this series"])
        if one.before != one.after and one.before and one.after:
            _say("  was", [one.before])
        if one.before is None or one.after is None:
            _say("  file", [f"only in {'B' if one.before is None else 'A'}"])
            continue
        if one.is_same:
            _say("  same", ["patterns, settings and bytes"])
        _print_datasets(one)
        if one.changes:
            _say("  moved", [_change(each) for each in one.changes])
        if one.settings:
            _say("  set", [_change(each) for each in one.settings])
    if same and not everything:
        data()
        paragraph(f"as before: {count_text(len(same), 'file')} (--all shows them)")


def _alike(files: list[FileChange]) -> list[list[FileChange]]:
    """Files of a series in which the same changed, together."""
    groups: dict[str, list[FileChange]] = {}
    for one in files:
        said = replace(one, before=one.before and "", after=one.after and "")
        path = masked(one.after or one.before or "")
        groups.setdefault(f"{path} {said}", []).append(one)
    return list(groups.values())


def _print_datasets(file: FileChange) -> None:
    for one in file.datasets[:_SHOWN]:
        way = "write" if one.write else "read"
        _say("  pattern", [f"{one.dataset} {way}: {one.state}", *_dataset_lines(one)])
    more = len(file.datasets) - _SHOWN
    if more > 0:
        _say("", [f"and {count_text(more, 'further dataset')} (--json has all)"])


def _dataset_lines(one: DatasetChange) -> list[str]:
    lines = [f"  {_change(each)}" for each in one.changes]
    if one.state != "changed":
        return lines
    if one.distance is None:
        return [*lines, f"  not to be compared: {one.why}"] if one.why else lines
    near = "settings of the one are tried on the other" if one.distance <= SIMILAR else (
        "too far to share settings"
    )  # fmt: skip
    return [*lines, f"  distance {one.distance:g}: {near}"] if one.distance else lines


def _print_times(times: tuple[TimeChange, ...]) -> None:
    if not times:
        return
    data()
    slowest = sorted(times[2:], key=lambda one: -max(one.before_seconds, one.after_seconds))
    shown = [*times[:2], *slowest[:_FILES_SHOWN]]
    table(_TIMES, [_time_row(one) for one in shown])
    if len(slowest) > _FILES_SHOWN:
        paragraph(f"and {count_text(len(slowest) - _FILES_SHOWN, 'quicker file')} (--json has all)")
    _print_unknown([one for one in shown if one.verdict == UNKNOWN])


def _print_unknown(times: list[TimeChange]) -> None:
    """Why they are not known, and which of them where the reasons differ."""
    reasons: dict[str, list[str]] = {}
    for one in times:
        reasons.setdefault(one.why, []).append(_name(one))
    for why, names in reasons.items():
        more = f" and {count_text(len(names) - 3, 'further file')}" if len(names) > 3 else ""
        of = f" of {', '.join(names[:3])}{more}" if len(reasons) > 1 else ""
        paragraph(f"not known{of}: {why}", more=2)


def _name(one: TimeChange) -> str:
    return one.what.rpartition("/")[2] if one.what.startswith("/") else one.what


def _time_row(one: TimeChange) -> list[str]:
    interval = "–" if one.low is None or one.high is None else f"{one.low:.2f} to {one.high:.2f}"
    return [
        _name(one),
        seconds_text(one.before_seconds),
        seconds_text(one.after_seconds),
        "–" if one.ratio is None else f"{one.ratio:.2f}",
        interval,
        one.verdict,
    ]


def _print_findings(found: Difference) -> None:
    lines = [
        f"{name}: {', '.join(ids)}"
        for name, ids in (
            ("gone", found.findings_gone),
            ("new", found.findings_new),
            ("still", found.findings_kept),
        )
        if ids
    ]
    data()
    _say("findings", lines or ["none on either side"])
