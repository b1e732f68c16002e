"""Find the patterns of traces and logs: nests, descriptors, sizes, next accesses.

  iotune analyze run.iotrace                      a trace
  iotune analyze job.darshan other.csv            logs of other tools, as `iotune import` reads them
  iotune analyze traces/ --json                   all traces in a directory
  iotune analyze run.iotrace --predict 4          and what each stream would access next
  mpirun -n 8 iotune analyze run.iotrace          its processes shared among ranks

For each file: its descriptors (docs/descriptors.md), then its streams, which are what a rank read
or wrote at a layer. Streams that differ only in where they begin are one line: 5×{4×{(0,8); +100};
+1000} is four accesses of 8 bytes, 100 bytes from one to the next, and that five times, 1000 bytes
further each time; behind it, where the ranks begin. docs/patterns.md explains both algorithms.
"""

from enum import Enum
from pathlib import Path
from typing import Annotated, Optional

import typer

from iotune.analysis import Abandoned, Options, analyze
from iotune.cli.analysis_text import print_analysis
from iotune.cli.output import errors_in_one_line, next_command, print_json, say
from iotune.cli.progress import watcher


class Algorithm(str, Enum):
    """How patterns are found."""

    ours = "ours"
    he2013 = "he2013"


class Predictor(str, Enum):
    """How next accesses are."""

    nest = "nest"
    unit = "unit"
    tree = "tree"
    markov = "markov"
    stride = "stride"
    readahead = "readahead"


class Layer(str, Enum):
    """Whose streams."""

    mpiio = "mpiio"
    stdio = "stdio"
    posix = "posix"


@errors_in_one_line
def command(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH…", help="Traces, logs, or directories of them.")
    ],
    algorithm: Annotated[
        Algorithm, typer.Option("--algorithm", help="ours, or that of the papers of 2012 or 2013.")
    ] = Algorithm.ours,
    layer: Annotated[
        Optional[list[Layer]],
        typer.Option("--layer", help="Only streams of this layer; may be repeated."),
    ] = None,
    ahead: Annotated[
        int,
        typer.Option(
            "--predict",
            metavar="K",
            min=0,
            max=1024,
            help="Predict the next K accesses of each stream.",
        ),
    ] = 0,
    predictor: Annotated[
        Optional[Predictor],
        typer.Option("--predictor", help="Default: nest; unit for he2013."),
    ] = None,
    shown: Annotated[
        int,
        typer.Option(
            "--groups", metavar="N", min=1, help="At most N lines for each file and layer."
        ),
    ] = 16,
    jobs: Annotated[
        Optional[int],
        typer.Option(
            "-j", "--jobs", metavar="N", min=1, help="Number of processes. Default: one a core."
        ),
    ] = None,
    exchange: Annotated[
        Optional[Path],
        typer.Option(
            "--exchange", metavar="DIR", help="Where ranks of mpirun exchange files. Default: here."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Analyse them."""
    options = Options(
        algorithm=algorithm.value,
        layers=tuple(one.value for one in layer) if layer else Options().layers,
        ahead=ahead,
        predictor=predictor.value if predictor else "",
        shown=shown,
    )
    try:
        result = analyze(paths, options, jobs, watcher(), exchange)
    except Abandoned:
        raise typer.Exit(1) from None
    if result is None:  # rank 0 says it
        return
    for loss in result["left_out"]:
        say(loss)
    failed = result.pop("failed")
    if as_json:
        print_json("analyze", result)
    else:
        print_analysis(result)
    traces = [one for one in result["traces"] if one["format"] == "iotune"]
    if traces:
        next_command("iotune", "show", "--calls", traces[0]["name"], why="the calls themselves")
    else:
        next_command("iotune", "import", result["traces"][0]["name"], why="to keep it as a trace")
    if failed:
        raise typer.Exit(1)
