"""Advise: what of a run's I/O is slow by its shape, where that shows, and what to do.

Without TRACE: of the last run. Each finding names its files and ranks, what to change in the
program, what iotune may set by itself, and what it may be worth at most. A run without any has
none of the known faults. What training only offers (`iotune train --offer`) is said too.

  iotune advise --explain small-writes
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from iotune.cli.output import document, errors_in_one_line, next_command, say
from iotune.errors import Error

if TYPE_CHECKING:
    from iotune.reports.offered import Offered
    from iotune.traces.summary import RunSummary


@errors_in_one_line
def command(
    trace: Annotated[
        Optional[Path], typer.Argument(metavar="TRACE", help="Default: the last run's trace.")
    ] = None,
    explain: Annotated[
        Optional[str],
        typer.Option("--explain", metavar="ID", help="What a finding means; `all` for all."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Show more files and datasets of each finding.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print the findings."""
    if explain is not None:
        if trace is not None or as_json:
            raise typer.BadParameter("--explain is of no trace, and text")
        _explain(explain)
        return
    from iotune.findings import findings_of
    from iotune.reports.show_findings import show_findings
    from iotune.traces.chosen_trace import chosen_trace, words_for

    run = chosen_trace(trace)
    found = findings_of(run)
    offers = _offers(run.summary)
    show_findings(run, found, offers, as_json, everything)
    taken = next((one for one in offers if one.offer.is_worth_it), None)
    if taken is not None and not found.findings:
        next_command(*taken.command, why="takes what is offered")
    elif any(each.state == "may be set" for one in found.findings for each in one.settings):
        next_command("iotune", "train", why="measures what iotune may set")
    elif found.findings:
        next_command("iotune", "advise", "--explain", found.findings[0].id)
    else:
        next_command("iotune", "show", *words_for(run, trace), why="the patterns")


def _offers(run: "RunSummary") -> "list[Offered]":
    """What training offers for the run's files; the database is only read, and only for these."""
    from iotune import core
    from iotune.database.answers import Answers
    from iotune.reports.offered import all_offered, may_be_offered

    if os.environ.get("IOTUNE_DB") == "none" or not any(map(may_be_offered, run.files)):
        return []
    path = core.default_database()
    if not path.exists():
        return []
    try:
        return all_offered(Answers(core.Database(path, read_only=True)), run)
    except Error as problem:
        say(f"offers were not looked for: {problem}")
        return []


def _explain(wanted: str) -> None:
    from iotune.findings.page import page, section
    from iotune.findings.rules import RULES

    chosen = next((one for one in RULES if one.id == wanted), None)
    if wanted == "all":
        text = page()
    elif chosen is None:
        known = ", ".join(one.id for one in RULES)
        raise Error(f"there is no finding {wanted!r}; there are: {known}")
    else:
        text = section(chosen)
    document(text.rstrip("\n"))
    next_command("iotune", "advise", why="the findings of the last run")
