"""Verify: which ranks touch the same bytes of a file, and whether the program orders them.

  iotune verify                        the last run
  iotune verify run.iotrace
  iotune verify first.iotrace second.iotrace     two jobs, of which one reads what the other wrote
  iotune verify --for logstore         exit status 0: the run needs no more than the log store keeps

A conflict is two accesses of two processes to the same bytes of one file, at least one of which
writes. Record the run with `iotune run --order` to learn which conflicts are properly synchronised
under POSIX, commit, session and MPI-IO consistency. Without recorded order nothing is said of which
access came first: the program may well order them.
"""

from enum import Enum
from pathlib import Path
from typing import Annotated, Optional

import typer

from iotune.cli.output import errors_in_one_line, next_command, print_json

_NOT_KEPT, _UNKNOWN = 1, 3


class Service(str, Enum):
    """What keeps less than POSIX."""

    logstore = "logstore"
    gather = "gather"
    cache = "cache"
    nfs = "nfs"


@errors_in_one_line
def command(
    traces: Annotated[
        Optional[list[Path]],
        typer.Argument(metavar="TRACE…", help="Default: the last run's trace."),
    ] = None,
    service: Annotated[
        Optional[Service],
        typer.Option(
            "--for",
            help="Ask for this alone. Exit status 0: it keeps all that the run needs; "
            "1: it does not; 3: the trace has no order.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print the conflicts, file by file, and what of them is properly synchronised."""
    from iotune.traces.chosen_trace import chosen_trace
    from iotune.traces.log_totals import demand_calls
    from iotune.verify.elements import with_elements
    from iotune.verify.remembered import remember
    from iotune.verify.show import show_answer, show_verdicts, verdicts_json
    from iotune.verify.verdicts import verdicts_of

    given: list[Optional[Path]] = [*traces] if traces else [None]
    runs = [chosen_trace(one) for one in given]
    paths = [one.path for one in runs]
    for path in paths:
        demand_calls(path, "verified")
    found = with_elements(paths, verdicts_of(paths))
    if len(runs) == 1 and found.order_recorded:
        remember(runs[0], found)
    if as_json:
        print_json("verify", verdicts_json(runs, found))
    elif service is not None:
        show_answer(service.value, found)
    else:
        show_verdicts(runs, found)
    named = [str(runs[0].path)] if traces else []
    if found.order_recorded:
        next_command("iotune", "advise", *named, why="what the program itself may do")
    else:
        next_command("iotune", "run", "--order", "--", "…", why="the order of its accesses")
    if service is not None and not found.order_recorded and found.conflicts.has_pairs:
        raise typer.Exit(_UNKNOWN)
    if service is not None and found.needing_more_than(service.value):
        raise typer.Exit(_NOT_KEPT)
