"""What `iotune train` says where there is nothing to measure, and the command that helps then."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from iotune import core
from iotune.errors import Error
from iotune.locations import kept_traces
from iotune.models.cases import Case
from iotune.models.settings.prospects import prospect_of_file
from iotune.talk import next_command, print_json, say
from iotune.traces.trace import open_trace

_ADVISE = "what the program itself may do"


def tell_nothing(
    database: core.Database,
    untrained: Sequence[Case],
    pattern: int | None,
    file: str | None,
    as_json: bool,
) -> None:
    """Of `untrained` none was chosen by `pattern` and `file`, or there is none."""
    if as_json:
        print_json("train", [])
    if untrained:
        others = f"{len(untrained)} others wait" if len(untrained) > 1 else "another one waits"
        say(f"pattern {pattern} has its answer; {others} to be trained" if pattern is not None
            else f"of {len(untrained)} patterns to train none is of a file {file}")  # fmt: skip
        next_command("iotune", "db", "list")
        return
    why_not = _of_last_run()
    if why_not:
        say(f"nothing to train: {why_not}")
        next_command("iotune", "advise", why=_ADVISE)
    elif database.patterns()["patterns"]:
        say("nothing to train: every known pattern has its answer")
        next_command("iotune", "db", "list")
    else:
        say("nothing to train: no run has left a pattern yet")
        next_command("iotune", "run", "--", "...", why="records one")


def next_without_result(beyond_reach: bool) -> None:
    """`beyond_reach`: no pattern had a setting that may be tried; else training failed."""
    if beyond_reach:
        next_command("iotune", "advise", why=_ADVISE)
    else:
        next_command("iotune", "doctor", why="looks for what training needs")


def _of_last_run() -> str:
    """Why the largest file of the last run leaves nothing to train; "" where it has an answer."""
    with contextlib.suppress(Error, IndexError):
        run = open_trace(kept_traces()[0])
        largest = max(run.summary.files, key=lambda one: one.bytes, default=None)
        if largest is None or largest.bytes == 0:
            return f"the last run ({run.summary.program_name}) moved no data of a file"
        if largest.decision_row < 0:
            prospect = prospect_of_file(run, largest)
            return f"{largest.path}: {prospect.why_not}" if prospect.why_not else ""
    return ""
