"""How every command speaks: data on stdout, talk on stderr, errors in one line."""

from __future__ import annotations

import functools
import json
import shlex
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, TypeVar

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from iotune.errors import Error

F = TypeVar("F", bound=Callable[..., Any])


# Names of programs and files, and words of a database, are anybody's: a terminal obeys some.
_ORDERS = {number: f"\\x{number:02x}" for number in (*range(32), *range(127, 160))}
_ORDERS_BUT_LINES = {number: text for number, text in _ORDERS.items() if chr(number) not in "\t\n"}


def printable(text: str, lines: bool = False) -> str:
    """Control characters as text; with `lines` all but tabs and ends of lines."""
    return text.translate(_ORDERS_BUT_LINES if lines else _ORDERS)


def say(text: str) -> None:
    """Talk: one line on stderr."""
    print(f"iotune: {printable(text, lines=True)}", file=sys.stderr, flush=True)


def next_command(*words: str, why: str = "") -> None:
    """Name the command to type next; `why` in a few words."""
    say("next: " + shlex.join(words) + (f"   ({why})" if why else ""))


def data(text: str = "") -> None:
    """A line of the command's result, on stdout; a document is what it is, but for a terminal."""
    print(printable(text, lines=True) if sys.stdout.isatty() else text)


def print_json(value: Any) -> None:
    """A result for programs, on stdout."""
    print(json.dumps(value, indent=2))


def errors_in_one_line(command: F) -> F:
    """Turn iotune.Error into one line on stderr and exit status 1."""

    @functools.wraps(command)
    def wrapped(*arguments: Any, **options: Any) -> Any:
        try:
            return command(*arguments, **options)
        except Error as problem:
            say(str(problem))
            raise typer.Exit(1) from None
        except BrokenPipeError:
            # `iotune show | head`: the reader has enough. Keep Python from a second try at exit.
            sys.stdout = open("/dev/null", "w")  # noqa: SIM115
            raise typer.Exit(0) from None

    return wrapped  # type: ignore[return-value]


@dataclass(frozen=True)
class Column:
    """A table's column; numbers stand to the right."""

    title: str
    number: bool = False


def table(columns: Sequence[Column], rows: Iterable[Sequence[str]], indent: int = 0) -> None:
    """Print a table: drawn on a terminal, plain aligned text (never cut) elsewhere."""
    cells = [[printable(cell) for cell in row] for row in rows]
    if sys.stdout.isatty():
        drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for column in columns:
            drawn.add_column(
                column.title, justify="right" if column.number else "left", overflow="fold"
            )
        for row in cells:
            drawn.add_row(*(Text(cell) for cell in row))
        Console().print(drawn)
        return
    widths = [
        max(len(text) for text in [column.title, *(row[at] for row in cells)])
        for at, column in enumerate(columns)
    ]
    for row in [[column.title for column in columns], *cells]:
        line = "  ".join(
            text.rjust(width) if column.number else text.ljust(width)
            for text, width, column in zip(row, widths, columns)
        )
        data(" " * indent + line.rstrip())


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


def seconds_text(seconds: float) -> str:
    """A duration with three meaningful digits and its unit."""
    if seconds <= 0:
        return "0 s"
    if seconds < 1e-3:
        return f"{seconds * 1e6:.3g} µs"
    if seconds < 1:
        return f"{seconds * 1e3:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 100 else f"{seconds:.0f} s"


def count_text(number: int, noun: str) -> str:
    """'1 rank', '4 ranks'."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def path_text(path: str | Path) -> str:
    """A path as the user would type it here."""
    return shlex.quote(str(path))
