"""Rows of a benchmark beside each other: a line a case, a column a measure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.results.tables import MarkdownTable, standard, verdict, with_interval

Row = dict[str, Any]


@dataclass(frozen=True)
class Pivot:
    """How rows become a table.

    `pattern` matches all of a row's `what`. Its group `measure` chooses the column, out of
    `columns` (what the benchmark says, what the page says); the other groups together name the
    line. Rows that do not match, or whose measure is none of the columns, are not in the table.
    """

    first: str
    pattern: str
    columns: Mapping[str, str]

    def table(self, rows: Sequence[Row], note: str) -> MarkdownTable:
        """Return the table; a line stands where its first row stood."""
        pattern = re.compile(self.pattern)
        titles = list(self.columns.values())
        lines: dict[str, dict[str, str]] = {}
        for row in rows:
            match = pattern.fullmatch(row["what"])
            if match is None or match["measure"] not in self.columns:
                continue
            name = ", ".join(
                text for group, text in match.groupdict().items() if group != "measure" and text
            )
            lines.setdefault(name, {})[self.columns[match["measure"]]] = cell(row)
        table = MarkdownTable([self.first, *titles], note=note)
        for name, cells in lines.items():
            table.rows.append([name, *(cells.get(title, "") for title in titles)])
        return table


def cell(row: Row) -> str:
    """Return a row's value, interval and goal in one cell."""
    goal = verdict(row)
    return with_interval(row) + (f"; {goal}" if goal else "")


def chosen(rows: Sequence[Row], pattern: str, note: str) -> MarkdownTable:
    """Return the standard table of the rows that the pattern is found in."""
    return standard([row for row in rows if re.search(pattern, row["what"])], note)


def pivots(
    made: Mapping[str, Pivot], content: dict[str, Any], note: str
) -> dict[str, MarkdownTable]:
    """Return the tables of a run by their names."""
    return {name: one.table(content["rows"], note) for name, one in made.items()}
