"""What became of answers, their effect, and what a site's runs got of them."""

import datetime
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from iotune.cli.db import (
    DatabaseOption,
    JsonOption,
    app,
    cell_text,
    gain_text,
    opened,
)
from iotune.cli.output import (
    Column,
    count_text,
    errors_in_one_line,
    next_command,
    paragraph,
    print_json,
    say,
    table,
)
from iotune.cli.pattern_argument import PatternArgument, pattern_id
from iotune.reports.applied_log import (
    OUTCOMES,
    AppliedRun,
    folder_of_site,
    read_applied_log,
)
from iotune.reports.tables import hours_text


@app.command()
@errors_in_one_line
def history(
    pattern: PatternArgument,
    db: DatabaseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show every move of a pattern's answers with its evidence, and the tests under way."""
    database = opened(db, reads=True)
    identity = pattern_id(database, pattern)
    answer = database.history(identity)
    if as_json:
        print_json("db-history", answer)
    else:
        paragraph(
            f"{answer['descriptor']} {answer['op']} {answer['mode']}, "
            f"{count_text(answer['ranks'], 'rank')}"
        )
        table(
            [Column("when"), Column("row", number=True), Column("platform"), Column("what"),
             Column("evidence", prose=True)],
            [_move(move) for move in answer["moves"]], indent=2,
        )  # fmt: skip
        for trial in answer["trials"]:
            paragraph(
                f"  row {trial['row']} in {trial['program']} {trial['file']}: "
                f"{trial['tuned_runs']} runs with the settings ({trial['effective_runs']} where "
                f"they took effect), {trial['default_runs']} left at the default; "
                f"evidence {trial['evidence']:.3g}, taken back at {trial['reverts_at']:g}"
            )
    next_command("iotune", "db", "show", str(identity))


def _when(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds)) if seconds > 0 else "–"


def _move(move: Mapping[str, Any]) -> list[str]:
    when, platform = _when(move["at"]), cell_text(move.get("platform"))
    if move["kind"] == "answer":
        what = move["state"] + (f": {move['settings_text']}" if move["settings_text"] else "")
        if move["replaces"] is not None:
            what += f" (was row {move['replaces']})"
        source = move["source"]
        why = [move["evidence"] or (source if source.startswith("by ") else f"by {source}")]
        if move["gain"] is not None:
            why.append(f"gain {gain_text(move)}")
        if move["rounds"]:
            why.append(f"{move['rounds']} rounds")
        return [when, str(move["id"]), platform, what, ", ".join(why)]
    who = f"{move['program']} {move['file']}"
    if move["kind"] == "drift":
        return [when, "–", platform, "drift", f"{who}: {move['before']}, then {move['after']}"]
    return [when, "–", platform, "first seen", f"{who}, in {move['runs']} runs until now"]


@app.command()
@errors_in_one_line
def ledger(db: DatabaseOption = None, as_json: JsonOption = False) -> None:
    """Show the hours that settings saved and lost over all observed runs, and answers taken back.

    A file's seconds against what its bytes took at the default: the median rate of the same
    workload, pattern and size on the same platform. The runs are of different times, so they are
    not paired.
    """
    answer = opened(db, reads=True).ledger()
    if as_json:
        print_json("db-ledger", answer)
    else:
        paragraph(f"saved       {hours_text(answer['hours_saved'])} of I/O in "
             f"{answer['files']} files: "
             f"{hours_text(answer['hours_saved_by_faster'])} saved, "
             f"{hours_text(answer['hours_lost_by_slower'])} lost")  # fmt: skip
        paragraph(
            f"slower      {answer['slower_files']} files took longer than the default's median"
        )
        paragraph(
            f"unknown     {answer['uncompared_files']} files have no run at the default beside them"
        )
        paragraph(f"comparing   {hours_text(answer['hours_spent_on_comparing'])} in "
             f"{answer['files_left_at_default']} files that were left at the default")  # fmt: skip
        paragraph(f"taken back  {answer['reverts']} answers; {answer['refusals']} had no effect; "
             f"{answer['drifts']} workloads changed")  # fmt: skip
        if answer["platforms"]:
            table(
                [Column("platform"), Column("files", number=True), Column("saved", True),
                 Column("slower", number=True)],
                [[cell_text(one["platform"]), str(one["files"]), hours_text(one['hours_saved']),
                  str(one["slower_files"])] for one in answer["platforms"]],
                indent=2,
            )  # fmt: skip
    next_command("iotune", "db", "list")


@app.command()
@errors_in_one_line
def applied(
    directory: Annotated[
        Optional[Path],
        typer.Argument(
            metavar="[DIR]", help="The directory of all users' logs. Default: the site's."
        ),
    ] = None,
    user: Annotated[
        Optional[str], typer.Option(help="Only runs of this user: a name or number.")
    ] = None,
    program: Annotated[
        Optional[str], typer.Option(help="Only runs of this program or script.")
    ] = None,
    run: Annotated[
        Optional[str], typer.Option(metavar="ID", help="Only runs whose ids begin so.")
    ] = None,
    since: Annotated[
        Optional[datetime.datetime],
        typer.Option(formats=["%Y-%m-%d"], metavar="DATE", help="Only runs from this day on."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show what settings a site's runs got: applied, without effect, refused.

    Reads the log that applied_log in /etc/iotune.conf asks for, a line a run, the newest first.
    """
    folder = folder_of_site() if directory is None else directory
    found = read_applied_log(folder, None if since is None else since.date())
    runs = [
        one
        for one in found.runs
        if (user is None or user in (str(one.user), one.user_name))
        and (program is None or program in (one.program, one.script))
        and (run is None or one.run.startswith(run))
    ]
    if as_json:
        print_json("db-applied", {"directory": str(folder), "faults": found.faults,
                                  "runs": [one.as_json() for one in runs]})  # fmt: skip
    elif run is not None:
        for one in runs:
            _print_applied_run(one)
    elif runs:
        table(
            [Column("when"), Column("user", bare=True), Column("program", bare=True),
             Column("ranks", number=True, spare=2), Column("run"),
             *(Column(outcome, number=True, spare=1) for outcome in OUTCOMES),
             Column("settings applied", prose=True)],
            [[_when(one.at), _user(one), one.script or one.program, str(one.ranks), one.run,
              *(str(len(one.settings_with(outcome))) for outcome in OUTCOMES),
              "; ".join(one.settings_with(OUTCOMES[0])) or "–"] for one in runs],
        )  # fmt: skip
    for fault in found.faults:
        say(f"left out: {fault}")
    if not runs:
        say(f"{folder}: no run that fits is in the log")
    elif run is None:
        next_command("iotune", "db", "applied", str(folder), "--run", runs[0].run)
    else:
        next_command("iotune", "report", "--site", str(folder), why="if traces lie there too")


def _user(run: AppliedRun) -> str:
    return run.user_name or str(run.user)


def _print_applied_run(run: AppliedRun) -> None:
    paragraph(f"{run.run}: {run.script or run.program} of {_user(run)}, {run.ranks} ranks, ended "
              f"{_when(run.at)} on {run.node}, iotune {run.iotune}")  # fmt: skip
    for kind in run.kinds:
        row = "" if kind.row is None else f", row {kind.row} of the user's database"
        paragraph(f"  {kind.name}: {kind.files} files, {kind.source or 'no source noted'}{row}")
        table(
            [Column("setting"), Column("value"), Column("outcome", bare=True),
             Column("times", number=True), Column("why", prose=True)],
            [[one.name, one.value, one.outcome, str(one.count), one.why or "–"]
             for one in kind.settings],
            indent=4,
        )  # fmt: skip
    if run.left_out:
        paragraph(f"  {run.left_out} more had no place in the line; the run's trace has them")
