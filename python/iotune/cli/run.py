"""Run a program under iotune: record its I/O and, where its patterns are known, tune it.

  iotune run -- mpirun -n 4 ./vpic-io

Nothing of the program is changed, and its exit status is returned. The trace is found by
`iotune show` and `iotune explain` without an argument, unless -o names another place.
"""

import os
import time
from enum import Enum
from pathlib import Path
from typing import Annotated, Optional

import typer

from iotune import launch
from iotune.cli.output import errors_in_one_line, next_command, path_text, say, size_text
from iotune.errors import Error
from iotune.leftovers import Stamp, buffers_of, collect_run, stamp_of
from iotune.locations import (
    buffer_root,
    make_private,
    new_run_id,
    temporary_root,
    trace_name,
    traces_dir,
    trim_traces,
)
from iotune.output_file import demand_replaceable
from iotune.preload import preload_path
from iotune.trace import is_trace

CONTEXT = {"ignore_unknown_options": True, "allow_interspersed_args": False}
# How long ranks that outlive a killed launcher are waited for.
_PATIENCE_SECONDS = 3.0


class Mode(str, Enum):
    """What the preload does."""

    tune = "tune"
    record = "record"
    off = "off"


class Timing(str, Enum):
    """Which times are kept."""

    pattern = "pattern"
    call = "call"
    exact = "exact"


@errors_in_one_line
def command(
    words: Annotated[list[str], typer.Argument(metavar="COMMAND", help="What to run, after --.")],
    mode: Annotated[
        Mode, typer.Option(help="tune: record and tune; record: change nothing; off: do nothing.")
    ] = Mode.tune,
    output: Annotated[
        Optional[Path], typer.Option("-o", "--output", metavar="FILE", help="Where the trace goes.")
    ] = None,
    timing: Annotated[
        Timing, typer.Option(help="Keep times per pattern, or of every call (larger traces).")
    ] = Timing.pattern,
    db: Annotated[
        Optional[str],
        typer.Option(metavar="FILE", help="Pattern database; 'none' for no database at all."),
    ] = None,
    config: Annotated[
        Optional[Path], typer.Option(metavar="XML", help="Settings to apply, in H5Tuner's XML.")
    ] = None,
) -> None:
    """Run the command."""
    library = preload_path()
    if config is not None and not config.is_file():
        raise typer.BadParameter(f"{config} is no file", param_hint="--config")
    programs = launch.programs(words)
    run_id = new_run_id()
    trace = _place(output, programs[0] if programs else words[0], run_id)
    settings = {
        "IOTUNE_MODE": mode.value,
        "IOTUNE_TIMING": timing.value,
        "IOTUNE_RUN_ID": run_id,
        "IOTUNE_RUN_OWNER": str(os.getpid()),
        "IOTUNE_TRACE": str(trace),
    }
    if db is not None:
        settings["IOTUNE_DB"] = db if db == "none" else os.path.abspath(db)
    if config is not None:
        settings["IOTUNE_CONFIG"] = str(config.absolute())
    environment = _environment(library, settings, programs)
    before = stamp_of(trace)
    try:
        status = launch.run_forwarding_signals(words, environment)
    except FileNotFoundError:
        say(f"{words[0]}: no such program")
        raise typer.Exit(127) from None
    except OSError as problem:
        say(f"{words[0]}: {problem.strerror}")
        raise typer.Exit(126) from None
    if mode is not Mode.off:
        observe = settings.get("IOTUNE_DB", os.environ.get("IOTUNE_DB")) != "none"
        _finish(trace, before, run_id, in_default_place=output is None, observe=observe)
    else:
        next_command("iotune", "run", "--", *words, why="this run was not watched: --mode off")
    raise typer.Exit(status)


def _place(output: Optional[Path], program: str, run_id: str) -> Path:
    if output is not None:
        target = output.absolute()
        try:
            demand_replaceable(target)
            if target.exists() and target.stat().st_size > 0 and not is_trace(target):
                raise Error(f"{target} is left alone: it is no trace")
        except Error as problem:
            raise typer.BadParameter(str(problem), param_hint="-o") from None
        return target
    name = trace_name(program, run_id, time.time())
    try:
        return make_private(traces_dir()) / name
    except Error as problem:
        # A read-only home: the program runs all the same, and the trace is not lost.
        elsewhere = make_private(temporary_root() / "traces")
        say(f"{problem}; the trace goes to {elsewhere}")
        return elsewhere / name


def _environment(library: str, settings: dict[str, str], programs: list[str]) -> dict[str, str]:
    """The program's environment; without the preload where it would not start with it."""
    for program in programs:
        reason = launch.why_refused(program)
        if reason:
            say(f"{program} {reason}: it runs without iotune")
            return dict(os.environ)
        reason = launch.why_blind(program)
        if reason:
            say(f"{program} {reason}")
    return launch.preload_environment(os.environ, library, settings)


def _finish(
    trace: Path, before: Optional[Stamp], run_id: str, in_default_place: bool, observe: bool,
) -> None:  # fmt: skip
    directory = buffer_root() / run_id
    try:
        collect_run(directory, trace, _PATIENCE_SECONDS, observe, before)
    except (Error, OSError) as problem:
        say(f"what the run left in {directory} could not be joined: {problem}")
    alive = sum(one.alive for one in buffers_of(directory))
    if alive:
        say(f"{alive} process(es) of the run are still alive; a later command adds theirs")
    if stamp_of(trace) in (None, before):
        say("nothing was recorded: the program opened no file that is traced")
        next_command("iotune", "run", "--help")
        return
    trim_traces()
    say(f"trace: {path_text(trace)} ({size_text(trace.stat().st_size)})")
    if in_default_place and trace.parent == traces_dir():
        next_command("iotune", "show")
    else:
        next_command("iotune", "show", str(trace))
