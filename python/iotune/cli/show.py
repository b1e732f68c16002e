"""Show what a run did: its totals, then its patterns per file and dataset; or the calls themselves.

Without TRACE: of the last run. Descriptors are those of docs/descriptors.md; a star marks the
largest datasets, whose pattern iotune takes for the file. Of files without HDF5 an array is
inferred from the bytes of all ranks, and a line at the end says what else they may be. Files that
differ by their numbers alone and have the same patterns are one entry with their count. Of a run
with very many files about a screen of entries is shown, folded by folder and name; folders and
files of which no byte was moved are left out. --all shows each. With --calls one line a call:
seconds since the epoch, call with arguments and result, duration in seconds; ~ before times that
were interpolated from the pattern's. With --json too, one object a line.
"""

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
from iotune.cli.output import errors_in_one_line, next_command
from iotune.reports.show_calls import show_calls
from iotune.reports.show_run import show_patterns
from iotune.traces.chosen_trace import chosen_trace, words_for


@errors_in_one_line
def command(
    trace: Annotated[
        Optional[Path], typer.Argument(metavar="TRACE", help="Default: the last run's trace.")
    ] = None,
    calls: Annotated[
        bool, typer.Option("--calls", help="Show the calls instead of patterns.")
    ] = False,
    everything: Annotated[
        bool,
        typer.Option("--all", help="Show each file separately, also those without a transfer."),
    ] = False,
    rank: RankOption = None,
    layer: LayerOption = None,
    file: FileOption = None,
    call: CallOption = None,
    start: FromOption = None,
    stop: ToOption = None,
    limit: LimitOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show it."""
    if not calls and any(one is not None for one in (rank, layer, call, start, stop, limit)):
        raise typer.BadParameter("--rank, --layer, --call, --from, --to and --limit need --calls")
    if calls and everything:
        raise typer.BadParameter("--calls has all files: without --all")
    wanted = chosen_calls(rank, layer, file, call, start, stop, limit)
    if calls:
        run = chosen_trace(trace)
        show_calls(run, wanted, limit, as_json)
        next_command("iotune", "show", *words_for(run, trace), why="the patterns")
        return
    show_patterns(trace, wanted.files, everything, as_json)
