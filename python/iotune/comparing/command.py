"""Compare two runs: what of the pattern, the settings, the findings and the time changed.

  iotune diff                          the last run and the one before it of that program
  iotune diff before.iotrace after.iotrace
  iotune diff old/ new/ --all

A side may be a folder, whose traces are runs of one program, or have more runs by --before and
--after. Patterns and settings are those of the newest run of a side. Times are judged only where
there are several runs: one run a side cannot tell a cause from chance.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Optional

import typer

from iotune.cli.output import errors_in_one_line, next_command
from iotune.errors import Error


@errors_in_one_line
def command(
    a: Annotated[
        Optional[Path], typer.Argument(metavar="A", help="A trace, or a folder of traces.")
    ] = None,
    b: Annotated[
        Optional[Path], typer.Argument(metavar="B", help="The trace or folder to compare it with.")
    ] = None,
    before: Annotated[
        Optional[list[Path]],
        typer.Option("--before", metavar="TRACE", help="One more run of A; may be repeated."),
    ] = None,
    after: Annotated[
        Optional[list[Path]],
        typer.Option("--after", metavar="TRACE", help="One more run of B; may be repeated."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Show also files in which nothing changed.")
    ] = False,
    db: Annotated[
        Optional[Path], typer.Option("--db", metavar="FILE", help="Use this database instead.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print the difference."""
    from iotune.cli.output import print_json
    from iotune.comparing.changes import difference
    from iotune.comparing.earlier import Earlier
    from iotune.comparing.show import show_difference
    from iotune.traces.chosen_trace import chosen_trace, run_before
    from iotune.traces.trace import open_trace

    named = a is not None
    if a is None:
        last = chosen_trace(None)
        a, b = run_before(last).path, last.path
    elif b is None:
        raise typer.BadParameter(
            "it is missing: name two runs, or none for the last two", param_hint="B"
        )
    first, second = _side([*(before or ()), a]), _side([*(after or ()), b])
    found = difference(
        [open_trace(path) for path in first],
        [open_trace(path) for path in second],
        Earlier(db).usual_spread,
    )
    if as_json:
        print_json("diff", found.as_json())
    else:
        show_difference(found, everything)
    of_second = [str(second[-1])] if named else []
    if found.findings_new or found.findings_kept:
        next_command("iotune", "advise", *of_second, why="the findings of B")
    else:
        next_command("iotune", "explain", *of_second)


def _side(given: Sequence[Path]) -> list[Path]:
    """The traces of a side, the oldest first where they are a folder's."""
    found: list[Path] = []
    for path in given:
        if path.is_dir():
            inside = sorted(path.glob("*.iotrace"), key=lambda one: one.stat().st_mtime_ns)
            if not inside:
                raise Error(f"{path}: no trace (*.iotrace) in that folder")
            found += inside
        else:
            found.append(path)
    return found
