"""The figures of PDSW'15 from our own samples, as SVG: its numbers 1 to 6."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence

import numpy as np
from iotune.models.latency.families import Array
from iotune.models.latency.fitting import LatencyFit
from iotune.models.latency.samples import Kind
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# A figure of more points says no more and cannot be scrolled.
_MOST_POINTS = 4000
_WIDTH_INCHES, _HEIGHT_INCHES = 9.0, 3.2
_BINS = 80
_COLOURS = {"head": "#3b6fb6", "tail": "#c8553d", "sample": "#555555"}


def svg(figure: Figure, name: str) -> str:
    """The figure as the text of an <svg> element. `name`: no other figure of its page has it."""
    text = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(text, format="svg", bbox_inches="tight", metadata={"Date": None})
    said = text.getvalue()
    return said[said.index("<svg") :]


def _row(count: int, height: float = _HEIGHT_INCHES) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(_WIDTH_INCHES, height), layout="constrained")
    return figure, list(np.atleast_1d(figure.subplots(1, max(count, 1))).ravel())


def _thinned(count: int) -> Array:
    return np.unique(np.linspace(0, count - 1, min(count, _MOST_POINTS)).astype(int))


def time_series(samples: Mapping[Kind, tuple[Array, Array]]) -> Figure:
    """Figure 1: response times against the time of the sample (Unix, ns), a panel a kind."""
    figure, axes = _row(len(samples))
    for axis, (kind, (when_ns, seconds)) in zip(axes, samples.items()):
        shown = _thinned(len(seconds))
        hours = (when_ns - when_ns.min()) / 3.6e12
        axis.plot(hours[shown], seconds[shown], ".", markersize=2, color=_COLOURS["sample"])
        axis.set_yscale("log")
        axis.set_xlabel("hours since the first sample")
        axis.set_title(kind.text(), fontsize=8)
    axes[0].set_ylabel("response time (s)")
    return figure


def _edges(x: Array) -> Array:
    low, high = float(x.min()), float(x.max())
    if high / low > 30:
        return np.geomspace(low, high, _BINS + 1)
    return np.linspace(low, high, _BINS + 1)


def histograms(samples: Mapping[Kind, tuple[Array, Array]]) -> Figure:
    """Figure 2: densities of response times, a panel a kind."""
    figure, axes = _row(len(samples))
    for axis, (kind, (_, seconds)) in zip(axes, samples.items()):
        edges = _edges(seconds)
        axis.hist(seconds, bins=list(edges), density=True, color=_COLOURS["sample"])
        if edges[-1] / edges[0] > 30:
            axis.set_xscale("log")
        axis.set_xlabel("response time (s)")
        axis.set_title(kind.text(), fontsize=8)
    axes[0].set_ylabel("density")
    return figure


def skewness_and_kurtosis(fits: Mapping[Kind, LatencyFit]) -> Figure:
    """Figure 3: every sample's skewness and kurtosis, with those of two families beside them."""
    figure, (axis,) = _row(1, 4.0)
    for cache, marker in (("cold", "o"), ("warm", "s")):
        for operation, colour in (("read", _COLOURS["head"]), ("write", _COLOURS["tail"])):
            points = [
                (fit.skewness, fit.kurtosis)
                for kind, fit in fits.items()
                if (kind.cache, kind.operation) == (cache, operation)
            ]
            if points:
                axis.plot(
                    [one[0] for one in points], [one[1] for one in points],
                    marker, color=colour, markersize=5, label=f"{operation}, {cache}",
                )  # fmt: skip
    axis.plot([0], [3], "^", color="black", label="normal")
    axis.plot([0], [1.8], "+", color="black", markersize=9, label="uniform")
    axis.set_xscale("symlog")
    axis.set_yscale("log")
    axis.set_xlabel("skewness")
    axis.set_ylabel("kurtosis")
    axis.legend(fontsize=8)
    return figure


def partition(kind: Kind, seconds: Array, fit: LatencyFit) -> Figure:
    """Figure 4: a sample, its head below the pivot and its tail above."""
    figure, axes = _row(3)
    mixture = fit.mixture
    assert mixture is not None
    parts = [
        ("whole sample", seconds, _COLOURS["sample"]),
        (f"head: {mixture.head.name}", seconds[seconds < mixture.pivot_seconds], _COLOURS["head"]),
        (f"tail: {mixture.tail.name}", seconds[seconds >= mixture.pivot_seconds], _COLOURS["tail"]),
    ]
    for axis, (title, part, colour) in zip(axes, parts):
        edges = _edges(part)
        axis.hist(part, bins=list(edges), density=True, color=colour)
        if edges[-1] / edges[0] > 30:
            axis.set_xscale("log")
        axis.set_title(title, fontsize=8)
        axis.set_xlabel("response time (s)")
    axes[0].axvline(mixture.pivot_seconds, color="black", linewidth=0.8)
    axes[0].set_ylabel(f"density of {kind.text()}", fontsize=8)
    return figure


def shares(fits: Mapping[Kind, LatencyFit]) -> Figure:
    """Figure 5: the percentage of response times in head and tail, a bar a kind."""
    known = {kind: fit for kind, fit in fits.items() if fit.mixture is not None}
    figure, (axis,) = _row(1, 0.9 + 0.22 * len(known))
    for at, fit in enumerate(known.values()):
        assert fit.mixture is not None
        tail = 100 * fit.mixture.tail_share
        axis.barh(at, tail, color=_COLOURS["tail"])
        axis.barh(at, 100 - tail, left=tail, color=_COLOURS["head"])
        axis.text(tail + 1, at, f"{tail:.1f}", va="center", fontsize=7, color="white")
    axis.set_yticks(range(len(known)), [kind.text() for kind in known], fontsize=7)
    axis.invert_yaxis()
    axis.set_xlim(0, 100)
    axis.set_xlabel("% of response times: tail, head")
    return figure


def distributions(seconds: Array, fit: LatencyFit) -> Figure:
    """Figure 6: cumulative distributions of head and tail, with every family fitted to them."""
    figure, axes = _row(2, 3.6)
    mixture = fit.mixture
    assert mixture is not None
    x = np.sort(seconds)
    groups = [
        ("head", x[x < mixture.pivot_seconds], fit.head),
        ("tail", x[x >= mixture.pivot_seconds], fit.tail),
    ]
    for axis, (name, part, ranked) in zip(axes, groups):
        shown = _thinned(len(part))
        at = part[shown]
        axis.plot(at, (shown + 0.5) / len(part), color="black", linewidth=2, label="sample")
        for one in ranked:
            style = "-" if one is ranked[0] else "--"
            axis.plot(at, one.fitted.below(at), style, linewidth=1, label=one.name)
        if name == "tail" and part[-1] / part[0] > 10:
            axis.set_xscale("log")
        axis.set_xlabel("response time (s)")
        axis.set_title(name, fontsize=8)
        axis.legend(fontsize=7)
    axes[0].set_ylabel("fraction below")
    return figure


def slowest(tables: Mapping[str, Sequence[tuple[int, float, float, float]]]) -> Figure:
    """T_R against the number of servers: mean, p95 and p99 of each table's rows."""
    figure, axes = _row(len(tables), 3.4)
    for axis, (title, rows) in zip(axes, tables.items()):
        counts = [row[0] for row in rows]
        for at, name in ((1, "mean"), (2, "p95"), (3, "p99")):
            values = [row[at] if math.isfinite(row[at]) else math.nan for row in rows]
            axis.plot(counts, values, "o-", markersize=3, label=name)
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        axis.set_xlabel("servers, a request of this size each")
        axis.set_title(title, fontsize=8)
        axis.legend(fontsize=7)
    axes[0].set_ylabel("T_R (s)")
    return figure
