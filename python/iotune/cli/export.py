"""Write the calls of a trace for other programs: one row, or one slice, a call.

  iotune export TRACE --format parquet     pandas, Spark, DuckDB
  iotune export TRACE --format csv -o -    everything else
  iotune export TRACE --format perfetto    a time line: open it at ui.perfetto.dev
  iotune export TRACE --format bytes-by-time   a row for each file, direction and 64th of the time
  iotune export TRACE --format darshan     a log of Darshan 3.4, for PyDarshan and Drishti
  iotune export TRACE --regions -o -       what the program marked as regions, as csv

Without TRACE the last run's. docs/reading.md explains the columns and their units. Without -o
the file lies in the current folder and is called as the trace is; -o - is stdout.
"""

from enum import Enum
from pathlib import Path
from typing import Annotated, Optional

import typer

from iotune.cli.call_options import (
    CallOption,
    FileOption,
    FromOption,
    LayerOption,
    LimitOption,
    RankOption,
    ToOption,
    chosen_calls,
)
from iotune.cli.output import count_text, errors_in_one_line, next_command, path_text, say
from iotune.export import ENDINGS, export_calls
from iotune.reports.losses import say_losses
from iotune.reports.show_calls import say_nothing_matches
from iotune.traces.chosen_trace import chosen_trace, words_for


class Format(str, Enum):
    """What can be written."""

    parquet = "parquet"
    csv = "csv"
    perfetto = "perfetto"
    bytes_by_time = "bytes-by-time"
    darshan = "darshan"


@errors_in_one_line
def command(
    trace: Annotated[
        Optional[Path], typer.Argument(metavar="TRACE", help="Default: the last run's trace.")
    ] = None,
    kind: Annotated[
        Optional[Format],
        typer.Option("--format", help="Default: by the ending of -o's file, else csv."),
    ] = None,
    output: Annotated[
        Optional[str],
        typer.Option("-o", "--output", metavar="FILE", help="Write to FILE; - is stdout."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it is there.")] = False,
    regions: Annotated[
        bool,
        typer.Option(
            "--regions", help="Export the program's marked regions, not the calls; a row an entry."
        ),
    ] = False,
    rank: RankOption = None,
    layer: LayerOption = None,
    file: FileOption = None,
    call: CallOption = None,
    start: FromOption = None,
    stop: ToOption = None,
    limit: LimitOption = None,
) -> None:
    """Export it."""
    wanted = chosen_calls(rank, layer, file, call, start, stop, limit)
    if regions and any(one is not None for one in (layer, file, call, start, stop)):
        raise typer.BadParameter("--regions goes with --rank and --limit alone")
    chosen = kind.value if kind is not None else _format_of(output)
    if regions and chosen not in (Format.csv.value, Format.parquet.value):
        raise typer.BadParameter("--regions are csv or parquet; perfetto has them beside the calls")
    run = chosen_trace(trace)
    stem = run.path.stem + (".regions" if regions else "")
    target = output if output is not None else stem + ENDINGS[chosen]
    done = export_calls(run.path, chosen, target, wanted, limit, force, regions)
    say_losses(done.losses)
    if done.calls == 0 and limit != 0:
        if regions:
            say("the program marked no regions: docs/howto/mark-regions.md says how")
        else:
            say_nothing_matches(run, wanted)
    if target != "-":
        noun = "row" if regions else "call"
        say(f"{count_text(done.calls, noun)} written to {path_text(target)}")
    next_command("iotune", "show", *words_for(run, trace), why="the patterns")


def _format_of(output: Optional[str]) -> str:
    for kind, ending in ENDINGS.items():
        if output is not None and output.endswith(ending):
            return kind
    return Format.csv.value
