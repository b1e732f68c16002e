"""Bars: time by layer, sizes, alignment, stripes, slowest ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from iotune.html_report.rank_rows import RankRows
from iotune.html_report.size_counts import LAYERS, SizeCounts, StripeCounts, grouped_sizes
from iotune.html_report.svg import (
    RIGHT,
    WIDTH,
    Figure,
    Frame,
    Table,
    count_short,
    count_ticks,
    counted,
    drawing,
    number,
    text_of,
)
from iotune.reports.tables import rate_text, seconds_text, size_text

LAYER_NAMES = {"hdf5": "HDF5", "mpiio": "MPI-IO", "stdio": "stdio", "posix": "POSIX"}
_RANKS_SHOWN = 10
_ALIGNMENTS = (9, 12, 16, 20)  # powers of two


@dataclass(frozen=True)
class Part:
    """A piece of a stacked bar."""

    word: str
    value: float
    text: str
    colour: str  # a class of report.css


def stacked_bars(
    bars: Sequence[tuple[str, Sequence[Part]]], whole: float, label: str, wide: float = WIDTH
) -> str:
    """Horizontal bars of parts, as long as `whole` at most; what is missing is bare ground."""
    height, left = 30.0, 150.0
    frame = Frame(left, 6, wide - left - RIGHT, (height + 10) * len(bars), whole, 1)
    parts = []
    for at, (name, pieces) in enumerate(bars):
        y = frame.top + at * (height + 10) + 4
        parts.append(
            f'<text class="t strong" x="{number(left - 10)}" y="{number(y + height / 2 + 4)}" '
            f'text-anchor="end">{text_of(name)}</text>'
            f'<rect class="ground" x="{number(left)}" y="{number(y)}" '
            f'width="{number(frame.width)}" height="{number(height)}"/>'
        )
        begin = 0.0
        for piece in pieces:
            x, end = frame.x(min(begin, whole)), frame.x(min(begin + piece.value, whole))
            begin += piece.value
            parts.append(
                f'<rect class="{piece.colour} part" x="{number(x)}" y="{number(y)}" '
                f'width="{number(max(end - x, 0))}" height="{number(height)}"/>'
            )
            if end - x > 8 * len(piece.text) + 8:
                parts.append(
                    f'<text class="owner" x="{number((x + end) / 2)}" '
                    f'y="{number(y + height / 2 + 4)}" text-anchor="middle">'
                    f"{text_of(piece.text)}</text>"
                )
    ticks = [(whole * at / 4, f"{at * 25} %") for at in range(5)]
    parts.append(frame.x_axis(ticks, label))
    return drawing(wide, frame.top + frame.height + 46, "".join(parts))


def upright_bars(
    names: Sequence[str],
    groups: Sequence[tuple[str, Sequence[float]]],
    label: str,
    x_label: str,
    edges: Sequence[str] = (),
    wide: float = WIDTH,
) -> str:
    """Bars side by side: of each name one for each group (class of its colour, values).

    `edges`: what stands between the names in their place, one more than names.
    """
    most = max((max(values, default=0) for _, values in groups), default=0)
    frame = Frame(74, 18, wide - 74 - RIGHT, 150, len(names), most)
    parts = [frame.box(), frame.y_axis(count_ticks(most), label, grid=True)]
    room = frame.width / max(1, len(names))
    width = min(60.0, room * 0.8 / max(1, len(groups)))
    for at in range(len(names)):
        begin = frame.left + room * (at + 0.5) - width * len(groups) / 2
        for place, (colour, values) in enumerate(groups):
            value = values[at]
            if value <= 0:
                continue
            x, y = begin + place * width, frame.y(value)
            height = max(frame.top + frame.height - y, 1)
            parts.append(
                f'<rect class="{colour} part" x="{number(x)}" '
                f'y="{number(frame.top + frame.height - height)}" width="{number(width)}" '
                f'height="{number(height)}"/>'
                f'<text class="t" x="{number(x + width / 2)}" y="{number(y - 4)}" '
                f'text-anchor="middle">{count_short(value)}</text>'
            )
    ticks = [(at + 0.5, name) for at, name in enumerate(names)]
    if edges:
        ticks = [(float(at), name) for at, name in enumerate(edges)]
    parts.append(frame.x_axis(ticks, x_label))
    return drawing(wide, frame.top + frame.height + 46, "".join(parts))


def time_figure(
    own_seconds: Mapping[str, float],
    kinds: Sequence[float],
    processes: int,
    elapsed: float,
    wide: float = WIDTH,
) -> Figure | None:
    """Where all processes' time went: by layer, and by what the outermost calls did."""
    whole = processes * elapsed
    in_io = sum(kinds)
    if whole <= 0 or in_io <= 0:
        return None
    by_layer = [
        Part(LAYER_NAMES[name], seconds, LAYER_NAMES[name], f"l-{name}")
        for name, seconds in own_seconds.items()
        if seconds > 0
    ]
    words = (("reads", "read"), ("writes", "write"), ("opens, closes, metadata", "other"))
    by_kind = [
        Part(word, seconds, word, colour)
        for (word, colour), seconds in zip(words, kinds)
        if seconds
    ]
    rows = [
        (group, part.word, seconds_text(part.value), f"{part.value / whole:.1%}")
        for group, parts in (("by layer", by_layer), ("by operation", by_kind))
        for part in parts
    ]
    rest = max(0.0, whole - in_io)
    rows.append(("", "outside of I/O", seconds_text(rest), f"{rest / whole:.1%}"))
    largest = max(by_layer, key=lambda one: one.value, default=None)
    says = f"{in_io / whole:.0%} of the processes' time passed in calls on files"
    if largest is not None:
        says += f", most of it in {largest.word} itself"
    return Figure(
        title="Share of time in I/O, by layer and by operation",
        svg=stacked_bars(
            [("by layer", by_layer), ("by operation", by_kind)],
            whole,
            f"of {counted(processes, 'process', 'processes')} × {seconds_text(elapsed)}",
            wide,
        ),
        says=f"{says}. A layer's time is its own: that of the layers below it is not in it.",
        table=Table(
            "Time in I/O, all processes together",
            ("", "what", "time", "of the processes' time"),
            tuple(rows),
            text_columns=2,
        ),
        note="" if in_io <= whole else "Threads that were in I/O at the same time count twice.",
        keys=tuple((part.colour, part.word) for part in (*by_layer, *by_kind)),
    )


def size_figures(sizes: SizeCounts, wide: float = WIDTH) -> list[Figure]:
    """A histogram of transfer sizes for each layer that moved anything."""
    found = []
    for at, layer in enumerate(LAYERS):
        read, write = sizes.sizes[at]
        both = [int(one) for one in read + write]
        groups = grouped_sizes(both)
        if not groups:
            continue
        names = [_from_below(low, high) for low, high, _ in groups]
        edges = [_short_size(low) for low, _, _ in groups] + [_short_size(groups[-1][1])]
        values = [
            [float(line[_power(low) : _power(high)].sum()) for low, high, _ in groups]
            for line in (read, write)
        ]
        shown = [
            (colour, one) for colour, one in (("write", values[1]), ("read", values[0])) if any(one)
        ]
        total = sum(both)
        moved = float(sizes.bytes[at].sum())
        found.append(
            Figure(
                title=f"Sizes of transfers: {LAYER_NAMES[layer]}",
                svg=upright_bars(
                    names, shown, "transfers", "bytes moved by one transfer", edges, wide
                ),
                says=f"{counted(total, 'transfer')}, {size_text(moved / total)} on average.",
                table=Table(
                    f"Transfers of {LAYER_NAMES[layer]} by size",
                    ("size", "reads", "writes"),
                    tuple(
                        (name, f"{int(r):,}", f"{int(w):,}") for name, r, w in zip(names, *values)
                    ),
                ),
                keys=tuple((colour, f"{colour}s") for colour, _ in shown),
            )
        )
    return found


def _power(size: int) -> int:
    return size.bit_length() - 1


def _short_size(size: int) -> str:
    return size_text(size).replace(".0 ", " ")


def _from_below(low: int, high: int) -> str:
    return f"{_short_size(low)} to below {_short_size(high)}"


def alignment_figure(sizes: SizeCounts, wide: float = WIDTH) -> Figure | None:
    """How many accesses of POSIX and stdio begin at multiples of common block sizes."""
    all_read, all_write = sizes.multiples_of(0)
    if all_read + all_write == 0:
        return None
    lines: list[tuple[str, int, int]] = []
    for power in _ALIGNMENTS:
        read, write = sizes.multiples_of(power)
        lines.append((_short_size(1 << power), read, write))
    names = [f"multiple of {name}" for name, _, _ in lines]
    shown = [
        (colour, [100 * count / total for count in counts])
        for colour, counts, total in (
            ("write", [line[2] for line in lines], all_write),
            ("read", [line[1] for line in lines], all_read),
        )
        if total
    ]
    page = (lines[1][1] + lines[1][2]) / (all_read + all_write)
    return Figure(
        title="Alignment of offsets",
        svg=upright_bars(
            names, shown, "% of accesses", "where accesses begin in their file", (), wide
        ),
        says=f"{page:.0%} of the accesses of POSIX and stdio begin at a multiple of 4 KiB.",
        table=Table(
            "Accesses that begin at a multiple of a size",
            ("multiple of", "reads", "writes"),
            (
                *((name, f"{r:,}", f"{w:,}") for name, r, w in lines),
                ("any offset", f"{all_read:,}", f"{all_write:,}"),
            ),
        ),
        keys=tuple((colour, f"{colour}s") for colour, _ in shown),
    )


def stripe_figure(path: str, stripes: StripeCounts, wide: float = WIDTH) -> Figure:
    """How many stripes an access touched."""
    counts = stripes.touched.tolist()
    names = [*(str(one) for one in range(1, len(counts))), f"{len(counts)} or more"]
    total = max(1, sum(counts))
    rows = [(name, f"{count:,}", f"{count / total:.1%}") for name, count in zip(names, counts)]
    says = f"Stripes of {size_text(stripes.stripe_bytes)}: {counts[0] / total:.0%} of the accesses "
    says += "stay within one."
    targets = stripes.target_bytes
    if targets.size and targets.sum() > 0:
        most = float(targets.max() / targets.mean())
        says += f" The busiest of {targets.size} targets got {most:.2f} times the average."
    return Figure(
        title=f"Stripes touched by one access: {path}",
        svg=upright_bars(
            names, [("write", [float(one) for one in counts])], "accesses", "stripes", (), wide
        ),
        says=says,
        table=Table(f"Stripes touched, {path}", ("stripes", "accesses", "share"), tuple(rows)),
    )


def rank_time_figure(
    rows: RankRows,
    seconds: Sequence[Sequence[float]],
    moved: Sequence[Sequence[float]],
    wide: float = WIDTH,
) -> Figure | None:
    """The slowest ranks: how long each was in I/O, and in what."""
    totals = [sum(one) for one in seconds]
    if len(totals) < 2 or max(totals) <= 0:
        return None
    order = sorted(range(len(totals)), key=lambda at: (-totals[at], at))[:_RANKS_SHOWN]
    colours = ("read", "write", "other")
    bars = [
        (
            rows.name_of_process[at],
            [
                Part(colour, value, seconds_text(value), colour)
                for colour, value in zip(colours, seconds[at])
                if value > 0
            ],
        )
        for at in order
    ]
    most = max(totals)
    active = sorted(total for total in totals if total > 0)
    middle = active[len(active) // 2]
    says = (
        f"The slowest, {rows.name_of_process[order[0]]}, spent {seconds_text(most)} in I/O, "
        f"{most / middle:.2g} times the median ({seconds_text(middle)})."
    )
    return Figure(
        title="Slowest ranks",
        svg=stacked_bars(bars, most, f"of the slowest rank's {seconds_text(most)}", wide),
        says=says,
        table=Table(
            "The slowest ranks",
            ("who", "in I/O", "reading", "writing", "other", "bytes read", "bytes written", "rate"),
            tuple(
                (
                    rows.name_of_process[at],
                    seconds_text(totals[at]),
                    *(seconds_text(one) for one in seconds[at]),
                    *(size_text(float(one)) for one in moved[at]),
                    rate_text(sum(moved[at]) / totals[at] if totals[at] else 0),
                )
                for at in order
            ),
        ),
        keys=(("read", "reads"), ("write", "writes"), ("other", "opens, closes, metadata")),
    )
