"""The page of a site: `iotune report --site`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from typing import Any

from iotune.html_report.blocks import Fact, Facts, Heading, Section
from iotune.html_report.page import rendered
from iotune.html_report.site import Site, SiteRun, SiteWorkload
from iotune.html_report.svg import (
    RIGHT,
    WIDTH,
    Figure,
    Frame,
    Table,
    counted,
    drawing,
    number,
    time_ticks,
)
from iotune.reports.tables import rate_text, seconds_text, size_text

LAST_RUNS = 30
_SHOWN = 100  # workloads in the table
_DRAWN = 20
_LEFT = 92.0


def site_page(site: Site) -> str:
    """The HTML of the page."""
    sections = list(_sections(site))
    return rendered(
        "site.html",
        title="I/O of a site",
        names=[],
        links=[(one.id, one.title) for one in sections],
        sections=sections,
    )


def _sections(site: Site) -> Iterator[Section]:
    yield Section("glance", "The site at a glance", "", [_glance(site)])
    yield Section(
        "workloads",
        "Workloads by time in I/O",
        "A workload is a program on a number of ranks and nodes. Users are numbers, by their time "
        "in I/O: whose they are, is not in this file.",
        [_table(site)],
    )
    repeated = [one for one in site.workloads if len(one.runs) > 1]
    drawn = [block for one in repeated[:_DRAWN] for block in _last_runs(one)]
    if drawn:
        yield Section(
            "runs",
            f"The last {LAST_RUNS} runs",
            f"Of workloads with several runs, the {_DRAWN} at most that spent most time in I/O.",
            drawn,
        )
    if site.left_out:
        lines = [("", one) for one in site.left_out]
        yield Section("losses", "What is missing", "", [Heading("", lines)])


def _glance(site: Site) -> Facts:
    runs = site.runs
    tuned = sum(one.tuned for one in runs)
    facts = [
        Fact("runs", f"{len(runs):,}", f"of {counted(site.users, 'user')}"),
        Fact("workloads", f"{len(site.workloads):,}"),
        Fact("time in I/O", _long(sum(one.io_seconds for one in runs)), "of the slowest processes"),
        Fact("written", size_text(sum(one.bytes_written for one in runs))),
        Fact("read", size_text(sum(one.bytes_read for one in runs))),
        Fact("runs with settings", f"{tuned:,}", "iotune set something that took effect"),
    ]
    started = [one.start_unix_seconds for one in runs if one.start_unix_seconds > 0]
    if started:
        facts.append(Fact("from", _day(min(started)), f"to {_day(max(started))}"))
    return Facts(facts)


def _table(site: Site) -> Table:
    whole = sum(one.io_seconds for one in site.workloads)
    rows = []
    for one in site.workloads[:_SHOWN]:
        moved = sum(run.bytes for run in one.runs)
        rows.append(
            (
                one.program,
                f"{one.ranks:,}",
                f"{one.nodes:,}",
                _users(one.runs),
                f"{len(one.runs):,}",
                _long(one.io_seconds),
                f"{one.io_seconds / whole:.0%}" if whole > 0 else "–",
                seconds_text(one.median_seconds),
                size_text(moved),
                rate_text(moved / one.io_seconds if one.io_seconds > 0 else 0),
                f"{sum(run.tuned for run in one.runs):,}",
            )
        )
    more = len(site.workloads) - len(rows)
    return Table(
        "Time in I/O is that of each run's slowest process"
        + (f"; {counted(more, 'further workload')} spent less" if more else ""),
        (
            *("program", "ranks", "nodes", "users", "runs", "time in I/O", "of all"),
            *("median of a run", "bytes", "bytes over time", "with settings"),
        ),
        tuple(rows),
    )


def _users(runs: Sequence[SiteRun]) -> str:
    found = sorted({one.user for one in runs})
    shown = ", ".join(str(one) for one in found[:4])
    return shown + (f" and {len(found) - 4} more" if len(found) > 4 else "")


def _last_runs(one: SiteWorkload) -> list[Any]:
    runs = one.runs[-LAST_RUNS:]
    most = max(run.io_seconds for run in runs)
    if most <= 0 or len(runs) < 2:
        return []
    frame = Frame(_LEFT, 10, WIDTH - _LEFT - RIGHT, 130, len(runs), most)
    parts = [frame.box(), frame.y_axis(time_ticks(most, 4), "in I/O", grid=True)]
    room = frame.width / len(runs)
    width = min(room * 0.8, 40)
    for at, run in enumerate(runs):
        height = max(frame.height * run.io_seconds / most, 1)
        parts.append(
            f'<rect class="{"tuned" if run.tuned else "untuned"} part" '
            f'x="{number(frame.left + (at + 0.5) * room - width / 2)}" '
            f'y="{number(frame.top + frame.height - height)}" '
            f'width="{number(width)}" height="{number(height)}"/>'
        )
    ends = [(0.5, _day(runs[0].start_unix_seconds))]
    if len(runs) > 2:
        ends.append((len(runs) - 0.5, _day(runs[-1].start_unix_seconds)))
    parts.append(frame.x_axis(ends, "runs, the oldest first"))
    name = f"{one.program}, {counted(one.ranks, 'rank')} on {counted(one.nodes, 'node')}"
    times = [run.io_seconds for run in runs]
    keys = [("tuned", "with settings"), ("untuned", "without")]
    return [
        Figure(
            title=name,
            svg=drawing(WIDTH, frame.top + frame.height + 46, "".join(parts)),
            says=(
                f"{counted(len(runs), 'run')}, {seconds_text(min(times))} to {seconds_text(most)} "
                f"in I/O each, {seconds_text(one.median_seconds)} in the median of all."
            ),
            table=_runs_table(name, runs),
            keys=tuple(
                key for key in keys if any(run.tuned is (key[0] == "tuned") for run in runs)
            ),
        )
    ]


def _runs_table(name: str, runs: Sequence[SiteRun]) -> Table:
    return Table(
        f"The last runs of {name}",
        ("started", "user", "lasted", "in I/O", "written", "read", "bytes over time", "settings"),
        tuple(
            (
                _moment(run.start_unix_seconds),
                str(run.user),
                seconds_text(run.elapsed_seconds),
                seconds_text(run.io_seconds),
                size_text(run.bytes_written),
                size_text(run.bytes_read),
                rate_text(run.bytes / run.io_seconds if run.io_seconds > 0 else 0),
                "some" if run.tuned else "none",
            )
            for run in runs
        ),
    )


def _long(seconds: float) -> str:
    """A sum over many runs: hours where there are some."""
    return seconds_text(seconds) if seconds < 3600 else f"{seconds / 3600:,.1f} h"


def _day(seconds: float) -> str:
    return _moment(seconds)[:10]


def _moment(seconds: float) -> str:
    if seconds <= 0:
        return "unknown"
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M")
