"""Which trace a command speaks of."""

from __future__ import annotations

from pathlib import Path

from iotune.errors import Error
from iotune.locations import kept_traces, traces_dir
from iotune.talk import say
from iotune.traces.leftovers import collect_all, collect_for
from iotune.traces.trace import Trace, open_trace


def chosen_trace(given: Path | None) -> Trace:
    """The trace that was named, else the newest one, leftovers of dead runs included."""
    if given is not None:
        collect_for(given)
        return open_trace(given)
    joined = collect_all()
    for trace in joined:
        say(f"joined what a run left behind: {trace}")
    kept = kept_traces() or joined[-1:]
    if not kept:
        raise Error(f"there is no trace in {traces_dir()} yet: iotune run -- COMMAND makes one")
    return open_trace(kept[0])


def words_for(trace: Trace, given: Path | None) -> list[str]:
    """How the user names this trace again: not at all where it is the newest."""
    return [] if given is None else [str(trace.path)]
