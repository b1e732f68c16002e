"""Run a program under iotune: record its I/O and, where its patterns are known, tune it.

  iotune run -- mpirun -n 4 ./vpic-io

Nothing of the program is changed, and its exit status is returned. The trace is found by
`iotune show` and `iotune explain` without an argument, unless -o names another place.
"""

import os
import pwd
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from enum import Enum
from pathlib import Path
from typing import Annotated, Optional

import typer

from iotune import core
from iotune.cli.output import errors_in_one_line, next_command, path_text, say, size_text
from iotune.errors import Error
from iotune.launch import start
from iotune.launch.preload import preload_path
from iotune.locations import (
    buffer_root,
    buffers_of_others,
    made_traces_dir,
    make_private,
    new_run_id,
    temporary_root,
    trace_name,
    traces_dir,
    trim_traces,
    why_no_buffers,
    why_not_of_site,
)
from iotune.output_file import demand_replaceable
from iotune.traces.leftovers import Stamp, buffers_of, collect_run, stamp_of
from iotune.traces.trace import is_trace

CONTEXT = {"allow_interspersed_args": False}
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
        Mode,
        typer.Option(
            envvar="IOTUNE_MODE",
            show_envvar=False,
            help="tune: record and tune; record: change nothing; off: do nothing.",
        ),
    ] = Mode.tune,
    output: Annotated[
        Optional[Path],
        typer.Option("-o", "--output", metavar="FILE", help="Write the trace to FILE."),
    ] = None,
    timing: Annotated[
        Timing,
        typer.Option(
            envvar="IOTUNE_TIMING",
            show_envvar=False,
            help="Record times per pattern, or of every call (larger traces).",
        ),
    ] = Timing.pattern,
    order: Annotated[
        bool,
        typer.Option(
            "--order", help="Record also what orders processes: messages, collectives, locks."
        ),
    ] = False,
    db: Annotated[
        Optional[str],
        typer.Option(metavar="FILE", help="Pattern database; 'none' for no database at all."),
    ] = None,
    config: Annotated[
        Optional[Path], typer.Option(metavar="XML", help="Settings to apply, in H5Tuner's XML.")
    ] = None,
    gather: Annotated[
        bool,
        typer.Option(
            "--gather", help="Let small independent writes of MPI-IO wait and go out together."
        ),
    ] = False,
    logstore: Annotated[
        Optional[list[Path]],
        typer.Option(
            metavar="DIR", help="Keep files that MPI-IO makes below DIR as logs; may be repeated."
        ),
    ] = None,
) -> None:
    """Run the command."""
    library = preload_path()
    if config is not None and not config.is_file():
        raise typer.BadParameter(f"{config} is no file", param_hint="--config")
    programs = start.programs(words)
    asked = os.environ.get("IOTUNE_TRACE")
    # Within another `iotune run` the variable names that one's trace.
    if output is None and asked and "IOTUNE_RUN_OWNER" not in os.environ:
        output = Path(asked)
    run_id = new_run_id()
    trace = _place(output, programs[0] if programs else words[0], run_id)
    settings = {
        "IOTUNE_MODE": mode.value,
        "IOTUNE_TIMING": timing.value,
        "IOTUNE_RUN_ID": run_id,
        "IOTUNE_RUN_OWNER": str(os.getpid()),
        "IOTUNE_TRACE": str(trace),
    }
    if order:
        settings["IOTUNE_ORDER"] = "1"
    if db is not None:
        settings["IOTUNE_DB"] = db if db == "none" else os.path.abspath(db)
    if config is not None:
        settings["IOTUNE_CONFIG"] = str(config.absolute())
    if gather and _bears(words, "gather"):
        asked = os.environ.get("IOTUNE_GATHER", "")
        settings["IOTUNE_GATHER"] = "log" if asked == "log" else "memory"
    if logstore:
        prefixes = _prefixes(logstore)
        if _bears(words, "logstore"):
            settings["IOTUNE_LOGSTORE"] = prefixes
    if mode is not Mode.off and _asks_for_cache() and not _bears(words, "cache"):
        settings["IOTUNE_PREFETCH_DELIVERY"] = "hint"
    before = stamp_of(trace)
    witness = _witness()
    if witness is not None:
        settings["IOTUNE_RUN_SEEN"] = str(witness)
    environment = _environment(library, settings, programs)
    try:
        status = start.run_forwarding_signals(words, environment)
        seen = _was_touched(witness)
    except FileNotFoundError:
        here = f" on PATH; the one here is ./{words[0]}" if os.path.isfile(words[0]) else ""
        say(f"{words[0]}: no such program{here}")
        raise typer.Exit(127) from None
    except OSError as problem:
        todo = start.how_to_start(words[0])
        say(f"{words[0]}: {problem.strerror}{todo and ': ' + todo}")
        raise typer.Exit(126) from None
    finally:
        if witness is not None:
            witness.unlink(missing_ok=True)
    if mode is not Mode.off:
        observe = settings.get("IOTUNE_DB", os.environ.get("IOTUNE_DB")) != "none"
        _finish(trace, before, run_id, in_default_place=output is None, observe=observe,
                why_empty=lambda: _why_empty(words, programs, seen, status),
                words=words)  # fmt: skip
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
        if why := why_not_of_site():
            say(why)
        return made_traces_dir() / name
    except Error as problem:
        # A read-only home: the program runs all the same, and the trace is not lost.
        elsewhere = make_private(temporary_root() / "traces")
        say(f"{problem}; the trace goes to {elsewhere}")
        return elsewhere / name


def _prefixes(directories: Sequence[Path]) -> str:
    """IOTUNE_LOGSTORE for these directories; they may be made by the program."""
    prefixes = [os.path.abspath(one) for one in directories]
    for prefix in prefixes:
        wrong = (
            "all files cannot be kept as logs" if prefix == "/"
            else "IOTUNE_LOGSTORE cannot hold a path with a colon" if ":" in prefix
            else "it is a file, and has to be a directory" if Path(prefix).is_file()
            else ""
        )  # fmt: skip
        if wrong:
            raise typer.BadParameter(f"{prefix}: {wrong}", param_hint="--logstore")
    return ":".join(prefixes)


# Services that relax order: their names, and what is done where a program needs more.
_RELAXING = {
    "logstore": (
        "log store",
        "its files are ordinary ones; IOTUNE_LOGSTORE in the environment keeps them as logs anyway",
    ),
    "gather": (
        "gathering",
        "no write waits; IOTUNE_GATHER=memory in the environment lets them wait anyway",
    ),
    "cache": (
        "prefetch cache",
        "reads get hints; without iotune run, LD_PRELOAD=$(iotune lib) takes the cache anyway",
    ),
}


def _bears(words: Sequence[str], service: str) -> bool:
    """Whether nothing is known against a service. Says what was verified."""
    from iotune.verify.remembered import line_of, remembered

    named = start.programs_and_words(words)
    programs = [name for program, more in named for name in (program, *more[:1])]
    ranks = start.ranks_of(words)
    found = remembered(programs, service, ranks)
    name, instead = _RELAXING[service]
    say(f"{name} {line_of(found, service, ranks)}")
    if found is None or found.keeps(service):
        return True
    say(instead)
    return False


def _asks_for_cache() -> bool:
    """Whether reads are to be served out of memory of the preload's own (docs/prefetch.md)."""
    predictor = os.environ.get("IOTUNE_PREFETCH", "none")
    cached = os.environ.get("IOTUNE_PREFETCH_DELIVERY") == "cache"
    return cached and predictor not in ("", "none")


def _environment(library: str, settings: dict[str, str], programs: list[str]) -> dict[str, str]:
    """The program's environment; without the preload where it would not start with it."""
    for program in programs:
        reason = start.why_refused(program)
        if reason:
            say(f"{program} {reason}: it runs without iotune")
            return dict(os.environ)
        reason = start.why_blind(program)
        if reason:
            say(f"{program} {reason}")
    return start.preload_environment(os.environ, library, settings)


def _witness() -> Optional[Path]:
    """A file that each process of the run touches that has loaded the library."""
    try:
        descriptor, name = tempfile.mkstemp(prefix="seen-", dir=make_private(temporary_root()))
        os.utime(descriptor, (0, 0))
        os.close(descriptor)
    except (Error, OSError):
        return None
    return Path(name)


def _was_touched(witness: Optional[Path]) -> Optional[bool]:
    """None where that is not known."""
    try:
        return None if witness is None else witness.stat().st_mtime > 0
    except OSError:
        return None


def _why_empty(
    words: Sequence[str], programs: Sequence[str], seen: Optional[bool], status: int
) -> str:
    """Why a run left no trace, as far as that is known."""
    if core.site_switches_off():
        return "the site has switched iotune off (/etc/iotune.conf, IOTUNE_SITE_CONFIG)"
    for program in programs:
        reason = start.why_refused(program) or start.why_blind(program)
        if reason:
            return f"{program} {reason}"
    reason = why_no_buffers()
    if reason:
        return reason
    if programs and all(os.path.basename(program) == "iotune" for program in programs):
        return "iotune's own commands are never watched"
    if seen:
        return "the program opened no file that is traced"
    if seen is None:
        return "no call on a file that is traced reached iotune"
    for name, _ in start.programs_and_words(words):
        if not shutil.which(name):
            return f"there is no program {name}"
    if status != 0 and start.launchers(words):
        return f"{words[0]} ended with status {status} before a program of it did anything"
    return (
        "no process of it has loaded iotune on this node: LD_PRELOAD was taken away on the way, "
        "or it ran on others"
    )


def _became(others: Sequence[tuple[int, Path]]) -> str:
    """Who has the calls of a program that became another user."""
    users = ", ".join(dict.fromkeys(_user_name(user) for user, _ in others))
    places = ", ".join(path_text(directory) for _, directory in others)
    return f"the program became another user ({users}), to whom its calls in {places} belong"


def _name_joining(others: Sequence[tuple[int, Path]]) -> None:
    next_command("sudo", "-H", "-u", _user_name(others[0][0]), "iotune", "show",
                 why="makes a trace of them, as that user")  # fmt: skip


def _user_name(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"#{user}"  # as sudo takes it


def _finish(
    trace: Path, before: Optional[Stamp], run_id: str, in_default_place: bool, observe: bool,
    why_empty: Callable[[], str], words: Sequence[str],
) -> None:  # fmt: skip
    directory = buffer_root() / run_id
    try:
        collect_run(directory, trace, _PATIENCE_SECONDS, observe, before)
    except (Error, OSError) as problem:
        say(f"what the run left in {directory} could not be joined: {problem}")
        next_command("iotune", "show", why="joins it, once its trace can be written")
        return
    alive = sum(one.alive for one in buffers_of(directory))
    if alive:
        say(f"{alive} process(es) of the run are still alive; a later command adds theirs")
    others = buffers_of_others(run_id)
    if stamp_of(trace) in (None, before):
        say(f"nothing was recorded: {_became(others) if others else why_empty()}")
        if others:
            _name_joining(others)
            return
        next_command("iotune", "doctor", "--", *words, why="looks for the cause")
        return
    if others:
        say(f"a part is missing in the trace: {_became(others)}")
    trim_traces()
    say(f"trace: {path_text(trace)} ({size_text(trace.stat().st_size)})")
    if others:
        _name_joining(others)
    elif in_default_place and trace.parent == traces_dir():
        next_command("iotune", "show")
    else:
        next_command("iotune", "show", str(trace))
