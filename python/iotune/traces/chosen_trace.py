"""Which trace a command speaks of."""

from __future__ import annotations

import contextlib
from pathlib import Path

from iotune.errors import Error
from iotune.locations import kept_traces, traces_dir
from iotune.talk import say
from iotune.traces.leftovers import collect_all, collect_for
from iotune.traces.trace import Trace, open_trace

_LOOKED_AT = 100  # of the newest traces, for an earlier run of a program


def chosen_trace(given: Path | None) -> Trace:
    """The trace that was named, else the newest one, leftovers of dead runs included."""
    if given is not None:
        collect_for(given)
        try:
            return open_trace(given)
        except Error as problem:
            if "iotune import" in str(problem):
                raise
            raise Error(f"{problem} (without a name the last run's trace is taken)") from None
    joined = collect_all()
    for trace in joined:
        say(f"joined what a run left behind: {trace}")
    kept = kept_traces() or joined[-1:]
    if not kept:
        raise Error(f"there is no trace in {traces_dir()} yet: iotune run -- COMMAND makes one")
    return open_trace(kept[0])


def run_before(run: Trace) -> Trace:
    """The newest trace in the default directory of an earlier run of the same program.

    Raises Error where there is none among those that were made last.
    """
    program = _program_of(run)
    earlier = [one for one in kept_traces() if one != run.path][:_LOOKED_AT]
    for path in earlier:
        with contextlib.suppress(Error):  # a damaged one is no run to compare with
            trace = open_trace(path)
            if _program_of(trace) == program:
                return trace
    raise Error(
        f"there is no earlier run of {program} in {traces_dir()}: run it once more, or name two "
        "traces"
    )


def _program_of(run: Trace) -> str:
    return run.summary.identity or run.summary.program_name


def words_for(trace: Trace, given: Path | None) -> list[str]:
    """How the user names this trace again: not at all where it is the newest."""
    return [] if given is None else [str(trace.path)]
