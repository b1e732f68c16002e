"""Which processes touch the same bytes, and whether the run's order is enough under each model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from iotune.html_report.blocks import Heading
from iotune.html_report.svg import (
    RIGHT,
    Figure,
    Table,
    count_short,
    counted,
    drawing,
    number,
    short_path,
    text_of,
)
from iotune.verify.conflicts import FileConflicts, SiteConflicts
from iotune.verify.verdicts import MODELS, FileVerdict, Verdicts
from iotune.verify.words import (
    Series,
    ViolationGroup,
    calls_text,
    in_series,
    kind_text,
    places_text,
    sites_in_order,
    violation_groups,
    who_text,
)

_FILES_SHOWN, _SITES_SHOWN = 20, 8
_RIGHT, _WRONG, _UNKNOWN = "right", "wrong", "unknown"  # classes of report.css
_KEYS = {
    _RIGHT: "right: properly synchronised",
    _WRONG: "pairs that are not",
    _UNKNOWN: "unknown: the trace has no order",
}
_ROW, _HEAD = 34.0, 28.0


@dataclass(frozen=True)
class _Cell:
    """A file under a model."""

    colour: str
    text: str


def order_blocks(found: Verdicts | None, wide: float) -> Iterator[Any]:
    """Nothing where no two processes touch the same bytes, and no order was recorded."""
    if found is None or not (found.conflicts.has_pairs or found.order_recorded):
        return
    files = sorted((one for one in found.conflicts.files if one.pairs), key=lambda one: -one.pairs)
    series = in_series(files, found)
    if series:
        yield _figure(series, found, wide)
    else:
        yield Heading("", [("", "No two processes touch the same bytes of a file.")])
    for one in series[:_FILES_SHOWN]:
        said = found.of_file(one.first.path)
        lines = (
            _site_lines(sites_in_order(one.first))
            if said is None
            else _group_lines(violation_groups(said))
        )
        if lines:
            yield Heading(one.name, lines)
    unknown = [
        ("unknown", f"{one.reason} ({counted(one.times, 'time')}): it counts as no order")
        for one in found.unknown[:_SITES_SHOWN]
    ]
    if unknown:
        yield Heading("What was recorded and is not understood", unknown)


def _group_lines(groups: Sequence[ViolationGroup]) -> list[tuple[str, str]]:
    lines = []
    for group in groups[:_SITES_SHOWN]:
        lines.append(("not right", group.headline))
        if example := group.example():
            lines.append(("example", example))
        lines += [("missing", one) for one in group.missing]
    if len(groups) > _SITES_SHOWN:
        lines.append(("", f"and {counted(len(groups) - _SITES_SHOWN, 'further pair')} of calls"))
    return lines


def _site_lines(sites: Sequence[SiteConflicts]) -> list[tuple[str, str]]:
    lines = []
    for one in sites[:_SITES_SHOWN]:
        calls = calls_text(one.first, one.second)
        places = places_text(one.example, False, " and ")
        lines.append(
            (kind_text(one), f"{counted(one.pairs, 'pair')}, by {calls}, such as {places}")
        )
    if len(sites) > _SITES_SHOWN:
        lines.append(("", f"and {counted(len(sites) - _SITES_SHOWN, 'further pair')} of calls"))
    return lines


def _cell(file: FileConflicts, said: FileVerdict | None, model: str) -> _Cell:
    if said is None:
        return _Cell(_UNKNOWN, "unknown")
    wrong = said.violations[model]
    if wrong == 0:
        return _Cell(_RIGHT, "right")
    return _Cell(_WRONG, f"{count_short(wrong)} of {count_short(file.pairs)} not")


def _figure(series: Sequence[Series], found: Verdicts, wide: float) -> Figure:
    """A row a file, a column a model."""
    rows = [
        (one, [_cell(one.first, found.of_file(one.first.path), model) for model in MODELS])
        for one in series[:_FILES_SHOWN]
    ]
    left = wide * 0.38
    width = (wide - left - RIGHT) / len(MODELS)
    parts = [
        f'<text class="t strong" x="{number(left + width * (at + 0.5))}" y="18" '
        f'text-anchor="middle">{text_of(name)}</text>'
        for at, name in enumerate(MODELS.values())
    ]
    for row, (one, cells) in enumerate(rows):
        y = _HEAD + row * _ROW
        parts.append(
            f'<text class="t" x="{number(left - 10)}" y="{number(y + _ROW / 2 + 4)}" '
            f'text-anchor="end">{text_of(short_path(one.name, int((left - 10) / 7)))}</text>'
        )
        for at, cell in enumerate(cells):
            x = left + width * at
            parts.append(
                f'<rect class="{cell.colour} part" x="{number(x)}" y="{number(y + 2)}" '
                f'width="{number(width - 2)}" height="{number(_ROW - 4)}"/>'
                f'<text class="owner" x="{number(x + width / 2)}" '
                f'y="{number(y + _ROW / 2 + 4)}" text-anchor="middle">{text_of(cell.text)}</text>'
            )
    colours = {cell.colour for _, cells in rows for cell in cells}
    more = len(series) - len(rows)
    return Figure(
        title="Pairs of accesses that conflict, by file and model",
        svg=drawing(wide, _HEAD + _ROW * len(rows) + 4, "".join(parts)),
        says=_says(series, found),
        table=Table(
            "Conflicts by file; under each model the pairs that are not properly synchronised",
            ("file", "ranks", "pairs", *MODELS.values()),
            tuple(_row(one, found.of_file(one.first.path)) for one, _ in rows),
            text_columns=2,
        ),
        note=f"{counted(more, 'further file')} with fewer pairs." if more > 0 else "",
        keys=tuple((colour, word) for colour, word in _KEYS.items() if colour in colours),
        kind="order",
    )


def _row(one: Series, said: FileVerdict | None) -> tuple[str, ...]:
    file = one.first
    counts = ["unknown" if said is None else f"{said.violations[model]:,}" for model in MODELS]
    return (one.name, who_text(file), f"{file.pairs:,}", *counts)


def _says(series: Sequence[Series], found: Verdicts) -> str:
    files = [file for one in series for file in one.files]
    pairs = sum(one.pairs for one in files)
    begin = f"{counted(pairs, 'pair')} in {counted(len(files), 'file')}"
    if not found.order_recorded:
        return f"{begin}. Whether the program orders them, iotune run --order records."
    wrong = [name for model, name in MODELS.items() if found.broken(model)]
    if not wrong:
        return f"{begin}, properly synchronised under all models."
    return f"{begin}; not all are properly synchronised under {', '.join(wrong)}."
