"""Advise: what of a run's I/O is slow by its shape, where that shows, and what to do.

Without TRACE of the last run. Each finding names its files and ranks, what to change in the
program, what iotune may set by itself, and what it may be worth at most. A run without any has
none of the known faults.

  iotune advise --explain small-writes
"""

from pathlib import Path
from typing import Annotated, Optional

import typer

from iotune.cli.output import document, errors_in_one_line, next_command
from iotune.errors import Error


@errors_in_one_line
def command(
    trace: Annotated[
        Optional[Path], typer.Argument(metavar="TRACE", help="Default: the last run's.")
    ] = None,
    explain: Annotated[
        Optional[str],
        typer.Option("--explain", metavar="ID", help="What a finding means; `all` for all."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="More files and datasets of each finding.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
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
    show_findings(run, found, as_json, everything)
    if any(each.state == "may be set" for one in found.findings for each in one.settings):
        next_command("iotune", "train", why="measures what iotune may set")
    elif found.findings:
        next_command("iotune", "advise", "--explain", found.findings[0].id)
    else:
        next_command("iotune", "show", *words_for(run, trace), why="the patterns")


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
