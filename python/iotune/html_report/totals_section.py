"""The section about what a log counted of files, without their calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from iotune.html_report.blocks import Heading
from iotune.html_report.facts import RunFacts
from iotune.html_report.svg import Table, counted
from iotune.reports.totals_text import totals_lines

_SHOWN = 40


def totals_blocks(facts: RunFacts, wide: float) -> Iterator[Any]:
    """A table of the largest files, a row for each line that `iotune show` has of them."""
    counts = [one for one in facts.run.files if one.totals and (one.bytes or one.stdio_beside)]
    counts.sort(key=lambda one: -one.bytes)
    rows = [
        (file.path if at == 0 else "", label, text)
        for file in counts[:_SHOWN]
        if file.totals is not None
        for at, (label, text) in enumerate(totals_lines(file.totals, facts.run.ranks))
    ]
    if not rows:
        return
    yield Table("Files by what the log counted of them", ("file", "", "counted"), tuple(rows), 3)
    if len(counts) > _SHOWN:
        more = counted(len(counts) - _SHOWN, "smaller file")
        yield Heading("", [("", f"{more}: iotune show --all has all of them.")])
