"""Tables of docs/results out of what a benchmark left: NAME.json.gz in docs/results/data.

There are two kinds of file. A run is what `paired.Table.write` wrote: rows with a value, an
interval and a goal, the machine, and the rounds. What is transcribed holds cells as a page had
them, of a run whose file was not kept, or as a source has them that its label names. Every table
that is made of it says so.
"""

from __future__ import annotations

import gzip
import json
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

STANDARD = ("what", "value", "95 % interval", "goal")
WIDTH = 100  # of a page's prose
GOAL = re.compile(r"^([<>])= (\S+)")


class NoSuchTable(ValueError):
    """A page asks for what the data do not have."""


@dataclass
class MarkdownTable:
    """Columns and rows of text. `note` is a line below the table: where it is from."""

    columns: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)
    note: str = ""

    def text(self) -> str:
        """Return it in markdown, the note below."""
        if not self.rows:
            return "Not measured in the last run."
        lines = [_line(self.columns), _line(["---"] * len(self.columns))]
        lines += [_line(row) for row in self.rows]
        note = textwrap.fill(f"*{self.note}*", WIDTH, break_on_hyphens=False)
        return "\n".join(lines) + (f"\n\n{note}" if self.note else "")

    def cell(self, row: str, column: str) -> str:
        """Return one cell. `row` is how the row's cells begin, joined by commas."""
        if column not in self.columns:
            raise NoSuchTable(f"no column {column!r} in {list(self.columns)}")
        place = list(self.columns).index(column)
        for cells in self.rows:
            if f"{', '.join(cells)}, ".startswith(f"{row}, "):
                return cells[place]
        raise NoSuchTable(f"no row {row!r}; there are {[cells[0] for cells in self.rows]}")


def _line(cells: Sequence[str]) -> str:
    return "|" + "".join(f" {cell} |" if cell else "  |" for cell in cells)


def short(number: object) -> str:
    """Return a number with four digits that count; thousands are set apart."""
    if isinstance(number, float) and not number.is_integer():
        text = f"{number:.4g}"
        return f"{float(text):,.0f}" if abs(number) >= 1000 else text
    return f"{int(number):,}" if isinstance(number, (int, float)) else str(number)


def with_interval(row: dict[str, Any]) -> str:
    """Return a row's value, the interval behind it in brackets."""
    text = short(row["value"])
    if row["low"] is None:
        return text
    return f"{text} ({short(row['low'])} to {short(row['high'])})"


def verdict(row: dict[str, Any]) -> str:
    """Return a row's goal and what the interval says of it: holds, missed or undecided."""
    goal = row["goal"]
    if not goal:
        return ""
    if row["holds"]:
        word = "holds"
    else:
        match = GOAL.match(goal)
        limit = float(match[2]) if match else float("nan")
        inside = row["low"] is not None and row["low"] <= limit <= row["high"]
        word = "undecided" if inside else "**missed**"
    return f"{_signs(goal)}: {word}"


def _signs(goal: str) -> str:
    return goal.replace("<=", "≤").replace(">=", "≥").removesuffix(" x")


def standard(rows: Sequence[dict[str, Any]], note: str) -> MarkdownTable:
    """Return the table as a benchmark prints it: a row, its value, its interval, its goal."""
    table = MarkdownTable(STANDARD, note=note)
    for row in rows:
        low = row["low"]
        interval = "" if low is None else f"{short(low)} to {short(row['high'])}"
        table.rows.append((row["what"], short(row["value"]), interval, verdict(row)))
    return table


def provenance(content: dict[str, Any]) -> str:
    """Say on what a run was made, and when."""
    machine, taken = content["machine"], content.get("taken") or {}
    parts = [f"Taken {taken['date']}"] if taken.get("date") else ["Taken"]
    if taken.get("commit"):
        parts.append(f"build of {taken['commit']}")
    parts.append(f"{machine['cores']} cores of {machine['cpu']}, Linux {machine['kernel']}")
    parts.append(f"load {machine['load']} at the start")
    if taken.get("note"):
        parts.append(taken["note"])
    return f"{parts[0]}: {', '.join(parts[1:])}."


def transcribed(content: dict[str, Any]) -> dict[str, MarkdownTable]:
    """Return the tables that a page had, each labelled."""
    source = content["transcribed"]
    label = source.get("label") or (
        f"Transcribed from the page of commit {source['commit']}; the run's file was not kept"
    )
    made = {}
    for name, table in content["tables"].items():
        taken = table.get("taken")
        note = f"{label}. {taken}" if taken else f"{label}."
        made[name] = MarkdownTable(table["columns"], table["rows"], note)
    return made


def load(path: Path) -> dict[str, Any]:
    """Read a NAME.json.gz."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        content: dict[str, Any] = json.load(file)
    return content


def store(path: Path, content: dict[str, Any]) -> None:
    """Write a NAME.json.gz: the same content gives the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n"
    path.write_bytes(gzip.compress(text.encode(), mtime=0))
