"""Prints findings: for people in 80 columns, on a terminal and off it, for programs as JSON."""

from __future__ import annotations

import shlex
import sys
import textwrap
from collections import Counter
from collections.abc import Sequence
from typing import Any

from iotune.findings.finding import SEVERITIES, Evidence, Finding, Findings
from iotune.findings.snippets.languages import language_of
from iotune.reports.losses import say_losses
from iotune.reports.offered import Offered
from iotune.reports.tables import (
    count_text,
    ranks_text,
    seconds_text,
    share_text,
    size_text,
    terminal_width,
)
from iotune.talk import print_json, printable
from iotune.traces.trace import Trace

_WIDTH = 80
_LABEL = 10
_SHOWN = 4  # files or datasets of a finding


def show_findings(
    trace: Trace,
    found: Findings,
    offers: Sequence[Offered],
    as_json: bool,
    everything: bool = False,
) -> None:
    """Print all findings of a trace; with `everything` all evidence that was kept."""
    if as_json:
        print_json("advise", findings_json(trace, found, offers))
        return
    say_losses(trace.summary.warnings)
    _print(_headline(trace, found), 0, 2)
    language = language_of(trace.summary)
    for one in found.findings:
        _print_finding(one, len(one.evidence) if everything else _SHOWN, language)
    for offered in offers:
        _print_offer(offered)
    for text in found.limits:
        _print(f"not seen: {text}", 0, 10)


def findings_json(trace: Trace, found: Findings, offers: Sequence[Offered]) -> dict[str, Any]:
    """What `--json` prints: advise.schema.json holds it."""
    run = trace.summary
    return {
        "trace": str(trace.path),
        "program": run.program_name or run.program,
        "ranks": run.ranks,
        "nodes": run.nodes,
        "elapsed_seconds": run.elapsed_seconds,
        "warnings": run.warnings,
        **found.as_json(),
        "offers": [one.as_json() for one in offers],
    }


def _headline(trace: Trace, found: Findings) -> str:
    run = trace.summary
    counts = Counter(one.severity for one in found.findings)
    what = "no finding"
    if found.findings:
        grades = ", ".join(f"{counts[grade]} {grade}" for grade in SEVERITIES if counts[grade])
        what = f"{count_text(len(found.findings), 'finding')} ({grades})"
    name = run.program_name or run.program or "?"
    time = f", {seconds_text(run.elapsed_seconds)}" if run.elapsed_seconds > 0 else ""
    return f"{name}, {count_text(*run.members)}{time}: {what}"


def _print_finding(one: Finding, shown: int, language: str) -> None:
    print()
    _print(f"{one.severity.upper()}  {one.id}: {one.title}", 0, 2)
    _print(f"{one.summary[0].upper()}{one.summary[1:]}.", 2, 0)
    for each in one.evidence[:shown]:
        _print_evidence(each)
    more = one.more_evidence + len(one.evidence) - len(one.evidence[:shown])
    if more:
        _say("", f"and {count_text(more, 'more place')} (--all, --json)")
    _say("do", one.advice)
    for snippet in one.snippets[:1]:
        if snippet.language not in (language, "shell"):
            print(f"      in {snippet.language.capitalize()}:")
        for line in snippet.code.splitlines():
            print(printable(f"      {line}", lines=True))
    for text in _of_iotune(one):
        _say("iotune", text)
    if one.estimate is not None:
        share = (
            "" if one.estimate.share is None else f" ({share_text(one.estimate.share)} of the run)"
        )
        worth = f"at most {seconds_text(one.estimate.seconds)}{share}: {one.estimate.how}"
        _say("worth", worth)


def _print_offer(one: Offered) -> None:
    print()
    _print("OFFERED  by training; no run takes it by itself", 0, 2)
    more = len(one.files) - 1
    print(printable(f"  {'where':<{_LABEL - 2}}{one.files[0]}"))
    if more:
        _say("", f"and {count_text(more, 'more file')} of that folder")
    _say("iotune", one.offer.text)
    if one.warning:
        _say("do", one.warning)
    if one.offer.is_worth_it:
        # What is typed stays on one line, however long.
        print(printable(f"      {shlex.join(one.command)}"))


def _print_evidence(one: Evidence) -> None:
    place = " ".join(part for part in (one.file, one.dataset) if part)
    # A path is copied: it stays on one line, however long.
    print(printable(f"  {'where':<{_LABEL - 2}}{place or 'the whole run'}"))
    numbers = [f"{one.calls:,} {'call' if one.calls == 1 else 'calls'}"] if one.calls else []
    numbers += [size_text(one.bytes)] if one.bytes else []
    numbers += [seconds_text(one.seconds)] if one.seconds else []
    numbers += [ranks_text(one.ranks)] if one.ranks else []
    _say("", one.text)
    if numbers:
        _say("", ", ".join(numbers))


def _of_iotune(one: Finding) -> list[str]:
    by_state: dict[str, list[str]] = {}
    for each in one.settings:
        by_state.setdefault(each.state, []).append(each.parameter)
    lines = []
    for state, names in by_state.items():
        text = f"{', '.join(names)}: {state}"
        lines.append(text + (", once training has measured that it helps"
                             if state == "may be set" else ""))  # fmt: skip
    return lines


def _say(label: str, text: str) -> None:
    _print(f"{label:<{_LABEL - 2}}{text}", 2, _LABEL - 2)


def _print(text: str, indent: int, more: int) -> None:
    """Prose within the terminal's width, or 80 cells off one; paths and names are not broken."""
    width = terminal_width() if sys.stdout.isatty() else _WIDTH
    begin, follow = " " * indent, " " * (indent + more)
    for line in textwrap.wrap(
        printable(text),
        width,
        initial_indent=begin,
        subsequent_indent=follow,
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
        drop_whitespace=True,
    ):
        print(line)
