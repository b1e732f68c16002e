"""Pieces of figures: scales, ticks, axes, and colours by class names of templates/report.css."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from html import escape

from iotune.reports.tables import seconds_text, size_text
from iotune.talk import printable

WIDTH, NARROW = 900.0, 620.0  # of drawings: one in a line, two side by side
RIGHT = 30.0  # room right of a plot: half of its last tick's text


@dataclass(frozen=True)
class Table:
    """The numbers of a figure, for who cannot see it or wants to copy them."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    text_columns: int = 1  # the first so many are no numbers
    whole: tuple[int, ...] = ()  # columns whose cells are not broken


@dataclass(frozen=True)
class Figure:
    """A drawing with its title, what it says in words, and its table."""

    title: str
    svg: str
    says: str  # one or two sentences: what a reader sees in it
    table: Table | None = None
    note: str = ""  # what is approximate or left out
    keys: tuple[tuple[str, str], ...] = ()  # legend: class of the colour, word
    kind: str = ""  # what templates/report.js makes of it: "heat", "map"
    values: dict[str, object] = field(default_factory=dict)  # for report.js


def text_of(text: str) -> str:
    """Text for HTML and SVG; control characters are written as the commands write them."""
    return escape(printable(text))


def number(value: float) -> str:
    """A coordinate, as short as it can be."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def short_path(path: str, most: int = 60) -> str:
    """The end of a path."""
    return path if len(path) <= most else f"…{path[-most + 1 :]}"


def time_ticks(seconds: float, most: int = 6) -> list[tuple[float, str]]:
    """Round times from 0 to `seconds`."""
    if seconds <= 0:
        return [(0.0, "0 s")]
    step = _nice(seconds / most)
    return [(at * step, seconds_text(at * step)) for at in range(int(seconds / step + 1e-9) + 1)]


def byte_ticks(size: float, most: int = 5) -> list[tuple[float, str]]:
    """Round numbers of bytes from 0 to `size`."""
    if size <= 0:
        return [(0.0, "0")]
    unit = 1024 ** int(math.log(max(size, 1), 1024))
    step = max(1, _nice(size / unit / most) * unit)
    return [(at * step, _size(at * step)) for at in range(int(size / step + 1e-9) + 1)]


def count_ticks(count: float, most: int = 4) -> list[tuple[float, str]]:
    """Round counts from 0 to `count`."""
    step = max(1.0, _nice(count / most)) if count > 0 else 1.0
    return [
        (at * step, count_short(at * step)) for at in range(int(max(count, 0) / step + 1e-9) + 1)
    ]


def count_short(count: float) -> str:
    """1,234 or 1.2 million: a count that fits a tick or a bar."""
    for limit, word in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if count >= limit:
            divided = count / (1e3 if word == "k" else limit)
            return f"{divided:.3g}{word}"
    return f"{count:,.0f}"


def counted(count: int, noun: str, plural: str = "") -> str:
    """1 access, 1,234 accesses."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def _size(count: float) -> str:
    return "0" if count == 0 else size_text(count).replace(".0 ", " ")


def _nice(step: float) -> float:
    """1, 2 or 5 times a power of ten, no less than `step`."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(power * one for one in (1, 2, 5, 10) if power * one >= step * (1 - 1e-9))


@dataclass(frozen=True)
class Frame:
    """A plot's box in the drawing, and what its edges stand for."""

    left: float
    top: float
    width: float
    height: float
    x_end: float  # of the data, which begin at 0
    y_end: float

    def x(self, value: float) -> float:
        """Where a value lies from left to right."""
        return self.left + self.width * value / self.x_end if self.x_end else self.left

    def y(self, value: float) -> float:
        """Where a value lies; 0 is at the bottom."""
        bottom = self.top + self.height
        return bottom - self.height * value / self.y_end if self.y_end else bottom

    def box(self) -> str:
        """The plot's ground."""
        return (
            f'<rect class="ground" x="{number(self.left)}" y="{number(self.top)}" '
            f'width="{number(self.width)}" height="{number(self.height)}"/>'
        )

    def x_axis(self, ticks: list[tuple[float, str]], label: str) -> str:
        """Ticks below the box."""
        bottom = self.top + self.height
        parts = []
        for value, text in ticks:
            at = number(self.x(value))
            parts.append(f'<path class="tick" d="M{at} {number(bottom)}v5"/>')
            parts.append(
                f'<text class="t" x="{at}" y="{number(bottom + 19)}" text-anchor="middle">'
                f"{text_of(text)}</text>"
            )
        middle = number(self.left + self.width / 2)
        parts.append(
            f'<text class="label" x="{middle}" y="{number(bottom + 38)}" text-anchor="middle">'
            f"{text_of(label)}</text>"
        )
        return f'<g class="axis x-axis">{"".join(parts)}</g>'

    def y_axis(self, ticks: list[tuple[float, str]], label: str, grid: bool = False) -> str:
        """Ticks left of the box."""
        parts = []
        for value, text in ticks:
            at = self.y(value)
            line = f"M{number(self.left - 5)} {number(at)}h{number(5 + self.width * grid)}"
            parts.append(f'<path class="tick" d="{line}"/>')
            parts.append(
                f'<text class="t" x="{number(self.left - 9)}" y="{number(at + 4)}" '
                f'text-anchor="end">{text_of(text)}</text>'
            )
        middle = number(self.top + self.height / 2)
        parts.append(
            f'<text class="label" transform="translate(14 {middle}) rotate(-90)" '
            f'text-anchor="middle">{text_of(label)}</text>'
        )
        return f'<g class="axis y-axis">{"".join(parts)}</g>'


def drawing(width: float, height: float, body: str) -> str:
    """An SVG; its title is that of the figure around it, so that it is hidden from readers."""
    return (
        f'<svg viewBox="0 0 {number(width)} {number(height)}" aria-hidden="true" focusable="false" '
        f'style="min-width:{number(min(width, 560))}px;max-width:{number(width * 1.2)}px">'
        f"{body}</svg>"
    )
