"""One page of what response times were sampled: the paper's figures and its table 2, with fits."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from iotune.models.latency import figures
from iotune.models.latency.families import Array
from iotune.models.latency.fitting import FEWEST_SAMPLES, LatencyFit, fit_latency
from iotune.models.latency.order_statistics import (
    Distribution,
    SlowestOf,
    measured_correlation,
    slowest_of,
    stripe_table,
)
from iotune.models.latency.samples import Kind, kinds_in
from jinja2 import Environment

from iotune.errors import Error
from iotune.output_file import write_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

STRIPE_COUNTS = (1, 2, 4, 8, 16, 32, 64, 128)


@dataclass(frozen=True)
class Chapter:
    """A figure with what it shows."""

    name: str  # of its file
    title: str
    text: str
    svg: str


def fits_of(
    table: pd.DataFrame, progress: Callable[[str], None] = lambda _: None
) -> tuple[dict[Kind, LatencyFit], dict[Kind, str]]:
    """Every kind's fit, and why there is none of the others."""
    fits: dict[Kind, LatencyFit] = {}
    without: dict[Kind, str] = {}
    for kind, group in kinds_in(table):
        progress(kind.text())
        try:
            fits[kind] = fit_latency(group["seconds"].to_numpy(dtype=float))
        except Error as problem:
            without[kind] = str(problem)
    return fits, without


def dependence_of(group: pd.DataFrame) -> float:
    """How much the servers of one kind are slow together, from rounds of several ranks."""
    rounds = group.pivot_table(
        index=["run", "round"], columns="rank", values="seconds", aggfunc="first"
    ).dropna()
    if rounds.shape[1] < 2 or rounds.shape[0] < 3:
        return 0.0
    return measured_correlation(rounds.to_numpy(dtype=float))


def write_report(
    table: pd.DataFrame,
    directory: Path,
    wanted_size: int | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Path:
    """Write every figure as SVG and index.html into the directory; the page's path.

    `wanted_size`: of the samples in figures 1, 2, 4 and 6; the most sampled size by default. Raises
    Error where no kind has enough samples, or nothing can be written there.
    """
    fits, without = fits_of(table, progress)
    if not fits:
        raise Error(
            f"no kind of request has {FEWEST_SAMPLES} samples that differ: sample longer "
            f"({next(iter(without.values()), 'the table is empty')})"
        )
    groups = dict(kinds_in(table))
    shown = _shown_kinds(fits, wanted_size)
    chapters = _chapters(groups, fits, shown)
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise Error(f"{directory}: {problem.strerror}") from None
    for chapter in chapters:
        write_text(directory / f"{chapter.name}.svg", chapter.svg)
    page = directory / "index.html"
    text = _ENVIRONMENT.from_string(_PAGE).render(
        chapters=chapters,
        summary=_summary(table),
        fits=[_fit_row(kind, fit) for kind, fit in fits.items()],
        without=[(kind.text(), why) for kind, why in without.items()],
        slowest=(
            ("The slowest of n servers, a request each", _slowest_rows(groups, fits, shown)),
            ("One request, shared by n servers", _shared_rows(groups, fits)),
        ),
        counts=STRIPE_COUNTS,
    )
    write_text(page, text)
    return page


def _shown_kinds(fits: Mapping[Kind, LatencyFit], wanted_size: int | None) -> list[Kind]:
    """One kind of each operation, cache and interface: of the wanted size, or the most sampled."""
    if wanted_size is not None and not any(kind.bytes == wanted_size for kind in fits):
        known = sorted({kind.bytes for kind in fits})
        raise Error(f"no size of {wanted_size} bytes has enough samples; these have: {known}")
    best: dict[tuple[str, str], Kind] = {}
    for kind, fit in fits.items():
        if wanted_size not in (None, kind.bytes):
            continue
        key = (kind.cache, kind.operation)
        if key not in best or fit.samples > fits[best[key]].samples:
            best[key] = kind
    return list(best.values())[:4]


def _chapters(
    groups: Mapping[Kind, pd.DataFrame], fits: Mapping[Kind, LatencyFit], shown: list[Kind]
) -> list[Chapter]:
    samples: dict[Kind, tuple[Array, Array]] = {
        kind: (
            groups[kind]["time_ns"].to_numpy(dtype=float),
            groups[kind]["seconds"].to_numpy(dtype=float),
        )
        for kind in shown
    }
    made: list[tuple[str, str, str, Figure]] = [
        ("figure1-time-series", "Response times over time",
         "Every dot is one request. What varies here is what a user meets.",
         figures.time_series(samples)),
        ("figure2-histograms", "Densities of response times",
         "One peak and a long decay to the right is what a heavy tail looks like.",
         figures.histograms(samples)),
        ("figure3-skewness-kurtosis", "Skewness against kurtosis",
         "Samples far from the two marks follow neither a normal nor a uniform distribution.",
         figures.skewness_and_kurtosis(fits)),
    ]  # fmt: skip
    split = [kind for kind in shown if fits[kind].mixture is not None]
    for number, kind in enumerate(split):
        letter = "abcd"[number]
        made.append(
            (f"figure4{letter}-partition", f"Head and tail: {kind.text()}",
             "The pivot is where head and tail, fitted separately, lie nearest to the sample.",
             figures.partition(kind, samples[kind][1], fits[kind])))  # fmt: skip
    if any(fit.mixture is not None for fit in fits.values()):
        made.append(
            ("figure5-shares", "Shares of head and tail",
             "A request of many parts meets the tail more often than one of these.",
             figures.shares(fits)))  # fmt: skip
    for number, kind in enumerate(split):
        made.append(
            (f"figure6{'abcd'[number]}-distributions", f"Fitted distributions: {kind.text()}",
             "The family that fits best is drawn as a whole line.",
             figures.distributions(samples[kind][1], fits[kind])))  # fmt: skip
    tables = {}
    for kind in shown[:2]:
        correlation = dependence_of(groups[kind])
        rows = [slowest_of(fits[kind].times, n, correlation) for n in STRIPE_COUNTS]
        tables[kind.text()] = [
            (one.servers, one.mean_seconds, one.p95_seconds, one.p99_seconds) for one in rows
        ]
    if tables:
        made.append(
            ("slowest-of-n", "The slowest of n servers",
             "What a request takes that waits for all its parts: T_R = max(t), without merging.",
             figures.slowest(tables)))  # fmt: skip
    return [Chapter(name, title, text, figures.svg(one, name)) for name, title, text, one in made]


def _summary(table: pd.DataFrame) -> list[tuple[str, int, int]]:
    """Table 2: jobs and observations, by operation and cache."""
    rows = []
    for (directory, cache), group in table.groupby(["directory", "cache"], sort=True):
        rows.append((f"{directory or 'samples'}, {cache}", group["run"].nunique(), len(group)))
    return rows


def _parameters(fit: LatencyFit, part: str) -> str:
    assert fit.mixture is not None
    fitted = fit.mixture.head if part == "head" else fit.mixture.tail
    values = ", ".join(
        f"{name.replace('_', ' ')} {value:.4g}"
        for name, value in zip(fitted.family.parameters, fitted.parameters)
    )
    tied = [one.name for one in (fit.head if part == "head" else fit.tail)[1:] if one.is_tied]
    return f"{fitted.name} ({values})" + (f"; as good: {', '.join(tied)}" if tied else "")


def _fit_row(kind: Kind, fit: LatencyFit) -> dict[str, str]:
    split = fit.mixture is not None
    return {
        "kind": kind.text(),
        "samples": str(fit.samples),
        "mean": f"{fit.mean_seconds:.4g}",
        "single": fit.single[0].name,
        "single_distance": f"{fit.single[0].distance:.3f}",
        "pivot": f"{fit.mixture.pivot_seconds:.4g}" if fit.mixture else "",
        "tail_share": f"{100 * fit.mixture.tail_share:.1f} %" if fit.mixture else "",
        "head": _parameters(fit, "head") if split else "",
        "tail": _parameters(fit, "tail") if split else "",
        "distance": f"{fit.distance:.3f}" if math.isfinite(fit.distance) else "",
        "verdict": fit.verdict,
        "reason": fit.reason,
        "times": fit.times.text(),
    }


def _slowest_rows(
    groups: Mapping[Kind, pd.DataFrame], fits: Mapping[Kind, LatencyFit], shown: list[Kind]
) -> list[dict[str, object]]:
    """Of n servers that serve a request of the kind's size each."""
    rows: list[dict[str, object]] = []
    for kind in shown:
        correlation = dependence_of(groups[kind])
        values = [slowest_of(fits[kind].times, count, correlation) for count in STRIPE_COUNTS]
        rows.append(_slowest_row(kind.text(), correlation, values))
    return rows


def _shared_rows(
    groups: Mapping[Kind, pd.DataFrame], fits: Mapping[Kind, LatencyFit]
) -> list[dict[str, object]]:
    """Of one request, the largest that was sampled, which n servers share.

    Each serves a part, for which smaller requests were sampled: with one size alone there is
    nothing to tell.
    """
    alike: dict[tuple[str, str, str], dict[int, Distribution]] = {}
    for kind, fit in fits.items():
        of_size = alike.setdefault((kind.operation, kind.cache, kind.interface), {})
        of_size[kind.bytes] = fit.times
    rows: list[dict[str, object]] = []
    for (operation, cache, interface), times_of in alike.items():
        if len(times_of) < 2:
            continue
        request = Kind(operation, cache, interface, max(times_of))
        correlation = dependence_of(groups[request])
        values = stripe_table(times_of, request.bytes, STRIPE_COUNTS, correlation)
        rows.append(_slowest_row(request.text(), correlation, values))
    return rows


def _slowest_row(name: str, correlation: float, values: Sequence[SlowestOf]) -> dict[str, object]:
    return {
        "kind": name,
        "correlation": f"{correlation:.2f}",
        "p99": [
            f"{one.p99_seconds:.3g}" + ("*" if one.p99_is_beyond_samples else "") for one in values
        ],
        "mean": [
            f"{one.mean_seconds:.3g}" if np.isfinite(one.mean_seconds) else "none" for one in values
        ],
    }


_ENVIRONMENT = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Response times</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em;
       color: #222; background: #fff; }
table { border-collapse: collapse; font-size: 0.85em; display: block; overflow-x: auto; }
td, th { border-bottom: 1px solid #ddd; padding: 0.3em 0.6em; text-align: left; }
td.n, th.n { text-align: right; }
svg { max-width: 100%; height: auto; }
</style>
<h1>Response times</h1>
<h2>Samples</h2>
<table>
<tr><th>where, cache</th><th class="n">jobs</th><th class="n">observations</th></tr>
{% for name, jobs, count in summary %}
<tr><td>{{ name }}</td><td class="n">{{ jobs }}</td><td class="n">{{ count }}</td></tr>
{% endfor %}
</table>
<h2>Distributions</h2>
<table>
<tr><th>kind</th><th class="n">samples</th><th class="n">mean (s)</th><th>best single family</th>
<th class="n">its distance</th><th class="n">pivot (s)</th><th class="n">tail</th><th>head</th>
<th>tail</th><th class="n">distance</th><th>verdict</th></tr>
{% for fit in fits %}
<tr><td>{{ fit.kind }}</td><td class="n">{{ fit.samples }}</td><td class="n">{{ fit.mean }}</td>
<td>{{ fit.single }}</td><td class="n">{{ fit.single_distance }}</td>
<td class="n">{{ fit.pivot }}</td>
<td class="n">{{ fit.tail_share }}</td><td>{{ fit.head }}</td><td>{{ fit.tail }}</td>
<td class="n">{{ fit.distance }}</td><td title="{{ fit.reason }}">{{ fit.verdict }}</td></tr>
{% endfor %}
</table>
<p>Distances are those of Kolmogorov and Smirnov. Families that the sample cannot tell apart from
the best one are named as being as good.</p>
<h2>The longest times</h2>
<p>Beyond a threshold of their own, which is chosen from the sample; the tables below rest on them.
In brackets: what holds nine of ten samples drawn from the fit.</p>
<ul>{% for fit in fits %}<li>{{ fit.kind }}: {{ fit.times }}</li>{% endfor %}</ul>
{% if without %}
<p>Without a fit:</p>
<ul>{% for name, why in without %}<li>{{ name }}: {{ why }}</li>{% endfor %}</ul>
{% endif %}
{% for title, rows in slowest if rows %}
<h2>{{ title }} (s)</h2>
<table>
<tr><th>kind</th><th>servers' correlation</th><th></th>
{% for count in counts %}<th class="n">{{ count }}</th>{% endfor %}</tr>
{% for row in rows %}
<tr><td>{{ row.kind }}</td><td>{{ row.correlation }}</td><td>mean</td>
{% for value in row.mean %}<td class="n">{{ value }}</td>{% endfor %}</tr>
<tr><td></td><td></td><td>p99</td>
{% for value in row.p99 %}<td class="n">{{ value }}</td>{% endfor %}</tr>
{% endfor %}
</table>
<p>*: one server alone was never sampled as slow as that; the fitted tail alone says it.</p>
{% endfor %}
{% for chapter in chapters %}
<h2>{{ chapter.title }}</h2>
<p>{{ chapter.text }}</p>
{{ chapter.svg | safe }}
{% endfor %}
</html>
"""
