"""The page of one or more runs, and what all pages have."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from iotune import __version__
from iotune.html_report.beside import beside_tables
from iotune.html_report.facts import RunFacts
from iotune.html_report.raster import ramp_css
from iotune.html_report.sections import Section, sections_of
from iotune.html_report.svg import NARROW, WIDTH, Figure
from iotune.reports.tables import seconds_text
from iotune.talk import printable

_TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class _Column:
    """A section of one of the runs."""

    run: str  # its name; "" where there is one run
    number: int
    section: Section


def page_of(runs: Sequence[RunFacts], names: Sequence[str]) -> str:
    """The HTML of the report. `names` tell the runs apart where there are several."""
    parts: dict[str, list[_Column]] = {}
    order: list[str] = []
    if len(runs) == 2:
        longest = max(one.run.elapsed_seconds for one in runs)
        runs = [replace(one, axis_seconds=longest) for one in runs]
    for number, facts in enumerate(runs):
        found = sections_of(facts, NARROW if len(runs) == 2 else WIDTH)
        for section in found:
            column = _Column(names[number] if len(runs) > 1 else "", number, section)
            parts.setdefault(section.id, []).append(column)
        order = _merged(order, [one.id for one in found])
    links = [(one, parts[one][0].section.title) for one in order]
    beside = beside_tables(runs) if len(runs) > 1 else []
    return rendered(
        "page.html",
        title=_title(runs),
        names=list(names) if len(runs) > 1 else [],
        links=[*([("beside", "Beside each other")] if beside else []), *links],
        runs=len(runs),
        beside=beside,
        parts=[parts[one] for one in order],
    )


def rendered(template: str, **values: Any) -> str:
    """A page of the templates, which needs nothing else."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=_printable,
    )
    environment.globals.update(
        kind_of=lambda block: type(block).__name__,
        safe=Markup,
        as_json=_as_json,
        next_id=_counter(),
        seconds=seconds_text,
        css=Markup(ramp_css()),
        version=__version__,
        made=datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
    )
    html = environment.get_template(template).render(values)
    # Bytes of names that are no UTF-8 would make the file no UTF-8 either.
    return html.encode("utf-8", "backslashreplace").decode("utf-8")


def _merged(order: list[str], found: list[str]) -> list[str]:
    """Sections in the order in which sections_of has them, of several runs together."""
    known = [*order]
    for at, name in enumerate(found):
        if name not in known:
            before = [one for one in found[:at] if one in known]
            known.insert(known.index(before[-1]) + 1 if before else 0, name)
    return known


def _title(runs: Sequence[RunFacts]) -> str:
    programs = list(dict.fromkeys(one.program or "a program" for one in runs))
    return f"I/O of {' and '.join(programs)}"


def _printable(value: Any) -> Any:
    """What templates print: control characters of names as text, markup as it is."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return printable(value, lines=True)
    return value


def _counter() -> Callable[[], int]:
    count = 0

    def following() -> int:
        nonlocal count
        count += 1
        return count

    return following


def _as_json(figure: Figure) -> Markup:
    """Values for report.js; nothing in them ends the script."""
    text = json.dumps({"kind": figure.kind, **figure.values}, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c"))
