"""Tables, prose and quantities for people.

Off a terminal a table is plain aligned text that is never cut. On one it fits the terminal's width:
columns of little weight go first; where that is not enough a row is a block of lines. A cell is
never broken, so that a descriptor or a name can be copied.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from iotune.talk import printable

_GAP = "  "
_LEAST_PROSE = 16  # a column of prose is not made narrower


@dataclass(frozen=True)
class Column:
    """A table's column; numbers stand to the right."""

    title: str
    number: bool = False
    spare: int = 0  # more goes first where a terminal is too narrow; 0 stays
    prose: bool = False  # may be broken between words
    bare: bool = False  # in a block its cell says by itself what it is


def table(columns: Sequence[Column], rows: Iterable[Sequence[str]], indent: int = 0) -> None:
    """Print a table: as it fits on a terminal, plain aligned text (never cut) elsewhere."""
    cells = [[printable(cell) for cell in row] for row in rows]
    if sys.stdout.isatty():
        _fitted(list(columns), cells, indent, terminal_width())
        return
    widths = _widths(columns, cells)
    for row in [[column.title for column in columns], *cells]:
        print(" " * indent + _line(columns, row, widths))


def terminal_width() -> int:
    """How many cells a line of the terminal has."""
    import shutil

    return max(40, shutil.get_terminal_size((80, 24)).columns)


def paragraph(text: str, indent: int = 0, more: int = 4) -> None:
    """A line of prose; on a terminal broken between words, `more` cells in from the first line."""
    line = " " * indent + printable(text)
    if not sys.stdout.isatty():
        print(line)
        return
    begin = len(line) - len(line.lstrip(" "))
    for one in _broken(line, terminal_width(), begin + more):
        print(one)


def _broken(line: str, width: int, hanging: int) -> list[str]:
    import textwrap

    # Blanks at the beginning are the indentation, and none within are joined.
    return textwrap.wrap(
        line,
        width,
        subsequent_indent=" " * hanging,
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
    ) or [""]


def _line(columns: Sequence[Column], row: Sequence[str], widths: Sequence[int]) -> str:
    return _GAP.join(
        text.rjust(width) if column.number else text.ljust(width)
        for text, width, column in zip(row, widths, columns)
    ).rstrip()


def _widths(
    columns: Sequence[Column],
    cells: Sequence[Sequence[str]],
    measure: Callable[[str], int] = len,
) -> list[int]:
    return [
        max(measure(text) for text in [column.title, *(row[at] for row in cells)])
        for at, column in enumerate(columns)
    ]


def _fitted(columns: list[Column], cells: list[list[str]], indent: int, width: int) -> None:
    # What is alike in all rows and says nothing goes before anything else.
    chosen = list(range(len(columns)))
    while _needed(columns, cells, chosen) + indent > width:
        spare = max(chosen, key=lambda at: columns[at].spare)
        if columns[spare].spare == 0:
            _blocks(columns, cells, indent, width)
            return
        chosen.remove(spare)
    _drawn(columns, cells, chosen, indent, width)


def _needed(columns: list[Column], cells: list[list[str]], chosen: list[int]) -> int:
    from rich.cells import cell_len  # some characters take two cells

    widths = _widths(columns, cells, cell_len)
    least = [min(widths[at], _LEAST_PROSE) if columns[at].prose else widths[at] for at in chosen]
    return sum(least) + len(_GAP) * (len(least) - 1)


def _drawn(
    columns: list[Column], cells: list[list[str]], chosen: list[int], indent: int, width: int
) -> None:
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, pad_edge=False, padding=(0, len(_GAP), 0, 0))
    for at in chosen:
        column = columns[at]
        drawn.add_column(
            Text(column.title),
            justify="right" if column.number else "left",
            no_wrap=not column.prose,
            overflow="fold",
            header_style="bold",
        )
    for row in cells:
        drawn.add_row(*(Text(row[at]) for at in chosen))
    # With a width alone Rich takes 80 columns where TERM is dumb.
    console = Console(width=width, height=1, highlight=False)
    with console.capture() as kept:
        console.print(Padding(drawn, (0, 0, 0, indent)))
    for line in kept.get().splitlines():
        print(line.rstrip())


def _blocks(columns: list[Column], cells: list[list[str]], indent: int, width: int) -> None:
    """A row is its first cell, then the others as prose; what is empty is left out."""
    for row in cells:
        first, second, *_ = [*row, ""]
        head = f"{first.rstrip()}{_GAP}{second}".rstrip()
        if indent + len(head) <= width:
            print(" " * indent + head)
        else:
            print((" " * indent + first).rstrip())
            print(" " * (indent + 4) + second)
        rest = [
            text if column.bare else f"{column.title.strip()} {text}"
            for column, text in zip(columns[2:], row[2:])
            if text not in ("", "–")
        ]
        for line in _joined(rest, width - indent - 4):
            print(" " * (indent + 4) + line)


def _joined(parts: Sequence[str], width: int) -> list[str]:
    """Parts with commas between them on as many lines as it takes; none is broken."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + 2 + len(part) + 1 <= width:
            lines[-1] += f", {part}"
        else:
            if lines:
                lines[-1] += ","
            lines.append(part)
    return lines


def size_text(count: float) -> str:
    """Bytes for people: 512 B, 32.0 MiB. Sums in a trace end at 2^64-1: there may be more."""
    if isinstance(count, int) and count >= (1 << 64) - 1:
        return "16.0 EiB or more"
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"):
        if abs(value) < 1024 or unit == "EiB":
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    raise AssertionError("unreachable")


def rate_text(bytes_per_second: float) -> str:
    """A bandwidth, or a dash where it is not known."""
    return f"{size_text(bytes_per_second)}/s" if bytes_per_second > 0 else "–"


def share_text(share: float) -> str:
    """A part of a whole; what calls took that overlap may be more than the time they were in."""
    if 0 < share < 0.005:
        return "less than 1%"
    return "over 100%" if share >= 1.005 else f"{share:.0%}"


def seconds_text(seconds: float) -> str:
    """A duration with three meaningful digits and its unit."""
    if seconds <= 0:
        return "0 s"
    if seconds < 1e-3:
        return f"{seconds * 1e6:.3g} µs"
    if seconds < 1:
        return f"{seconds * 1e3:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 100 else f"{seconds:.0f} s"


def hours_text(hours: float) -> str:
    """A duration that may have any sign and length, in the unit that suits it."""
    seconds = abs(hours) * 3600
    sign = "-" if hours < 0 else ""
    if seconds < 100:
        return sign + seconds_text(seconds)
    return f"{sign}{seconds / 60:.3g} min" if seconds < 6000 else f"{hours:.4g} h"


def count_text(number: int, noun: str) -> str:
    """'1 rank', '4 ranks'."""
    return f"{number} {noun}" if number == 1 else f"{number} {plural(noun)}"


def plural(noun: str) -> str:
    """'ranks', 'processes'."""
    return noun + ("es" if noun.endswith("ss") else "s")


def path_text(path: str | Path) -> str:
    """A path as the user would type it here."""
    import shlex

    return shlex.quote(str(path))


def ranks_text(ranks: Sequence[int]) -> str:
    """As people write them: rank 3, ranks 0-3, ranks 0,2,4-7; "" for none."""
    if not ranks:
        return ""
    parts: list[str] = []
    first = last = ranks[0]
    for one in [*ranks[1:], None]:
        if one is not None and one == last + 1:
            last = one
            continue
        parts.append(str(first) if first == last else f"{first}-{last}")
        first = last = one if one is not None else last
    if len(parts) > 4:
        return f"{len(ranks)} ranks from {ranks[0]} to {ranks[-1]}"
    return ("rank " if len(ranks) == 1 else "ranks ") + ",".join(parts)
