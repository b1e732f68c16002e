"""Reissue a recorded HDF5 pattern natively: the same files, datasets and selections, by every
rank, without the program.

  iotune replay TRACE --plan-only > vpic.plan
  iotune replay vpic.plan --dir /scratch

A trace is turned into a plan first (kernels/PLAN.md). Files are written into a directory of
their own below --dir, never over the run's, and removed afterwards.
"""

import tempfile
from pathlib import Path
from typing import Annotated, Optional

import typer

from iotune.cli.output import (
    count_text,
    data,
    errors_in_one_line,
    next_command,
    print_json,
    rate_text,
    say,
    seconds_text,
    size_text,
)
from iotune.errors import Error
from iotune.mpi import find_mpi
from iotune.plan import plan_text
from iotune.plan_build import plan_bytes
from iotune.plan_trace import plan_of_trace
from iotune.replayer import find_replayer, run_plan, scratch_directory
from iotune.trace import open_trace

_VERSION_LINE = "iotune-plan 1"


@errors_in_one_line
def command(
    source: Annotated[Path, typer.Argument(metavar="TRACE|PLAN", help="What to reissue.")],
    ranks: Annotated[
        Optional[int], typer.Option("-n", "--ranks", min=1, help="Must be the plan's own number.")
    ] = None,
    directory: Annotated[
        Optional[Path], typer.Option("--dir", metavar="DIR", help="Storage to write on; default: .")
    ] = None,
    file: Annotated[
        Optional[str], typer.Option("--file", metavar="PATH", help="Only this file of the trace.")
    ] = None,
    repeat: Annotated[int, typer.Option(min=1, help="So many rounds.")] = 1,
    verify: Annotated[bool, typer.Option("--verify", help="Check every byte; not timed.")] = False,
    plan_only: Annotated[bool, typer.Option("--plan-only", help="Print the plan.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Replay it."""
    text, planned_ranks, needed, prepares = _plan(source, file)
    if ranks is not None and ranks != planned_ranks:
        raise typer.BadParameter(f"the plan is one of {planned_ranks} ranks", param_hint="-n")
    if plan_only:
        data(text.rstrip("\n"))
        next_command("iotune", "replay", str(source))
        return
    options = ["--repeat", str(repeat)]
    options += ["--prepare"] if prepares else []
    options += ["--verify"] if verify else []
    mpi = find_mpi()
    replayer = find_replayer(mpi)
    with scratch_directory((directory or Path.cwd()).absolute(), needed) as scratch:
        with tempfile.NamedTemporaryFile("w", suffix=".plan") as written:
            written.write(text)
            written.flush()
            result = run_plan(mpi, replayer, Path(written.name), planned_ranks, scratch, options)
    if as_json:
        print_json(vars(result) | {"ranks": planned_ranks})
    else:
        data(
            f"{size_text(result.bytes)} in {seconds_text(result.seconds)} "
            f"({rate_text(result.bytes / result.seconds if result.seconds > 0 else 0.0)}), "
            f"{count_text(result.files, 'file')}, {count_text(planned_ranks, 'rank')}, "
            f"{count_text(len(result.rounds), 'round')}" + (", verified" if verify else "")
        )
    next_command("iotune", "train", why="tries settings on such replays")


def _plan(source: Path, file: Optional[str]) -> tuple[str, int, int, bool]:
    """Text, ranks, bytes that the files will take (0: unknown) and whether files come first."""
    try:
        with source.open("rb") as opened:
            start = opened.read(len(_VERSION_LINE))
            if start == _VERSION_LINE.encode():
                text = (start + opened.read()).decode(errors="surrogateescape")
                return text, _ranks_of(source, text), 0, " open\n" in text
    except OSError as problem:
        raise Error(f"{source}: {problem.strerror}") from None
    plan, notes = plan_of_trace(open_trace(source), file)
    for note in notes:
        say(note)
    return plan_text(plan), plan.ranks, plan_bytes(plan), plan.prepares


def _ranks_of(source: Path, text: str) -> int:
    for line in text.splitlines()[1:]:
        words = line.split("#")[0].split()
        if words[:1] == ["ranks"] and len(words) == 2 and words[1].isdigit():
            return int(words[1])
        if words:
            break
    raise Error(f"{source}:2: 'ranks N' expected")
