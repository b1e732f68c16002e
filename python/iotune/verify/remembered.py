"""What verified traces said of a program, for those who would relax its order later on.

`iotune verify` writes it down, a line a program and number of ranks, in the state directory; the
newest verdict of both counts. `iotune run` asks before it lets the log store or the prefetch cache
relax anything, `iotune explain` where it offers that.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from iotune.errors import Error
from iotune.locations import make_private, state_dir
from iotune.output_file import write_text
from iotune.reports.tables import count_text
from iotune.traces.trace import Trace
from iotune.verify.verdicts import KEPT_BY, MODELS, Verdicts, why_broken

_NEVER_VERIFIED = "never verified: iotune run --order records what iotune verify needs"
_VERSION = 2  # of verified.json; others are as if nothing had been verified
_MOST = 500  # programs and numbers of ranks


@dataclass(frozen=True)
class Remembered:
    """The newest verdict of a program at a number of ranks."""

    program: str
    ranks: int
    trace: str
    when_unix_seconds: float  # the start of the run
    refused: dict[str, str]  # why, by service (KEPT_BY); what is not in it keeps enough

    def keeps(self, service: str) -> bool:
        """Whether the service (KEPT_BY) keeps all that the program needs."""
        return service not in self.refused

    def line(self, service: str, ranks: int | None = None) -> str:
        """What it says of a service, in one line; `ranks`: those that were asked for."""
        model = KEPT_BY[service]
        here = f"{os.path.basename(self.trace)}, at {count_text(self.ranks, 'rank')}"
        never = f", and never at {ranks:,}" if ranks not in (None, self.ranks) else ""
        if why := self.refused.get(service):
            return f"refused: {why} (verified: {here}{never})"
        return f"verified: {here}{never}, keeps to {MODELS[model]} consistency"


def remember(run: Trace, found: Verdicts) -> None:
    """Write down what the run's verdict is, where the state directory can be written."""
    summary = run.summary
    program = summary.identity or summary.program_name
    refused = {
        service: why_broken(files[0], model)
        for service, model in KEPT_BY.items()
        if (files := found.needing_more_than(service))
    }
    new = Remembered(program, summary.ranks, str(run.path), summary.start_unix_seconds, refused)
    others = [one for one in _all() if (one.program, one.ranks) != (program, summary.ranks)]
    rows = [asdict(one) for one in [*others, new][-_MOST:]]
    with contextlib.suppress(Error, OSError):
        make_private(_place().parent)
        write_text(_place(), json.dumps({"version": _VERSION, "verified": rows}, indent=1) + "\n")


def remembered(
    programs: Iterable[str], service: str, ranks: int | None = None
) -> Remembered | None:
    """The verdict of one of these programs, by their names without a folder, at these ranks.

    Where the ranks are unknown, or were never verified, the strictest verdict of the program
    counts. None: it was never verified.
    """
    names = {os.path.basename(one) for one in programs}
    found = [one for one in _all() if one.program in names]
    found = [one for one in found if one.ranks == ranks] or found
    refused = [one for one in found if not one.keeps(service)]
    strictest = refused or found
    return strictest[-1] if strictest else None


def line_of(found: Remembered | None, service: str, ranks: int | None = None) -> str:
    """What is said of a service before it is taken or where it is offered."""
    return _NEVER_VERIFIED if found is None else found.line(service, ranks)


def _place() -> Path:
    return state_dir() / "verified.json"


def _all() -> list[Remembered]:
    """In the order in which they were verified; nothing of a file that is damaged."""
    try:
        kept = json.loads(_place().read_text())
        return [Remembered(**row) for row in kept["verified"] if kept["version"] == _VERSION]
    except (OSError, ValueError, KeyError, TypeError):
        return []
