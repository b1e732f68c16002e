"""Verify: which ranks touch the same bytes of a file, and by what calls.

  iotune verify                        the last run
  iotune verify run.iotrace
  iotune verify first.iotrace second.iotrace     two jobs, of which one reads what the other wrote

A conflict is two accesses of two processes to the same bytes of one file, at least one of which
writes. A trace without recorded order says nothing of which came first: the program may well order
them, by messages or barriers that were not recorded.
"""

from pathlib import Path
from typing import Annotated, Optional

import typer

from iotune.cli.output import errors_in_one_line, next_command, print_json


@errors_in_one_line
def command(
    traces: Annotated[
        Optional[list[Path]],
        typer.Argument(metavar="TRACE…", help="Default: the last run's trace."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print the conflicts, file by file."""
    from iotune.traces.chosen_trace import chosen_trace
    from iotune.verify.conflicts import conflicts_of
    from iotune.verify.show import conflicts_json, show_conflicts

    given: list[Optional[Path]] = [*traces] if traces else [None]
    runs = [chosen_trace(one) for one in given]
    found = conflicts_of([one.path for one in runs])
    if as_json:
        print_json("verify", conflicts_json(runs, found))
    else:
        show_conflicts(runs, found)
    named = [str(runs[0].path)] if traces else []
    next_command("iotune", "advise", *named, why="what the program itself may do")
