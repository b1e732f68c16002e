"""Several runs beside each other: what differs in amounts, times and settings."""

from __future__ import annotations

from collections.abc import Sequence

from iotune.html_report.facts import RunFacts
from iotune.html_report.svg import Table
from iotune.reports.evidence import effective_settings
from iotune.reports.tables import rate_text, seconds_text, size_text

_FILES = 20


def beside_tables(runs: Sequence[RunFacts]) -> list[Table]:
    """Tables with a column for each run; of two also the second over the first."""
    names = tuple(f"run {number + 1}" for number in range(len(runs)))
    tables = [_totals(runs, names), _files(runs, names)]
    settings = _settings(runs, names)
    return [*(one for one in tables if one.rows), *([settings] if settings.rows else [])]


def _totals(runs: Sequence[RunFacts], names: Sequence[str]) -> Table:
    lines = [
        ("lasted", [one.run.elapsed_seconds for one in runs], seconds_text),
        ("time in I/O, slowest process", [one.run.io_seconds for one in runs], seconds_text),
        (
            "written",
            [float(sum(f.bytes_written for f in one.run.data_files)) for one in runs],
            size_text,
        ),
        ("read", [float(sum(f.bytes_read for f in one.run.data_files)) for one in runs], size_text),
        ("ranks", [float(one.run.ranks) for one in runs], "{:,.0f}".format),
        ("calls", [float(one.run.calls) for one in runs], "{:,.0f}".format),
    ]
    rows = [
        (label, *(text(value) for value in values), *_ratio(values))
        for label, values, text in lines
        if any(values)
    ]
    return Table("The runs beside each other", ("", *names, *_ratio_head(runs)), tuple(rows))


def _files(runs: Sequence[RunFacts], names: Sequence[str]) -> Table:
    """Files of one name, numbers masked; of several with one name their sums and slowest."""
    found: dict[str, list[tuple[float, float]]] = {}
    for at, one in enumerate(runs):
        for file in one.run.data_files:
            if file.bytes == 0:
                continue
            name = file.masked_name or file.path.rsplit("/", 1)[-1]
            row = found.setdefault(name, [(0.0, 0.0)] * len(runs))
            moved, seconds = row[at]
            row[at] = (moved + file.bytes, seconds + file.io_seconds)
    rows = []
    for name, values in found.items():
        times = [one[1] for one in values]
        rates = [rate_text(a / b if b > 0 else 0) for a, b in values]
        cells = [f"{seconds_text(b)} ({rate})" for (_, b), rate in zip(values, rates)]
        rows.append((name, *cells, *_ratio(times)))
    rows.sort(key=lambda one: one[0])
    return Table(
        "Time in calls on each file, and bytes over that; numbers in names are masked",
        ("file", *names, *_ratio_head(runs)),
        tuple(rows[:_FILES]),
    )


def _settings(runs: Sequence[RunFacts], names: Sequence[str]) -> Table:
    found: dict[tuple[str, str], list[str]] = {}
    for at, one in enumerate(runs):
        for file in one.run.data_files:
            for name, value in effective_settings(file).items():
                key = (file.masked_name, name)
                found.setdefault(key, ["–"] * len(runs))[at] = value
    rows = [(*key, *values) for key, values in sorted(found.items()) if len(set(values)) > 1]
    return Table(
        "Settings in effect that differ",
        ("file", "setting", *names),
        tuple(rows),
        text_columns=2 + len(names),
    )


def _ratio(values: Sequence[float]) -> tuple[str, ...]:
    if len(values) != 2:
        return ()
    return (f"{values[1] / values[0]:.2f}×" if values[0] > 0 and values[1] > 0 else "–",)


def _ratio_head(runs: Sequence[RunFacts]) -> tuple[str, ...]:
    return ("run 2 over run 1",) if len(runs) == 2 else ()
