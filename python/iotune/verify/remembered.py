"""What verified traces said of a program, for those who would relax its order later on.

`iotune verify` writes it down, a line a program and number of ranks, in the state directory; the
newest verdict of a program counts. `iotune run --logstore` and `iotune explain` ask before they
relax anything, or offer it.
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
from iotune.traces.trace import Trace
from iotune.verify.verdicts import KEPT_BY, MODELS, Verdicts, why_broken

NEVER_VERIFIED = "never verified: iotune run --order records what iotune verify needs"
_MOST = 500  # programs and numbers of ranks


@dataclass(frozen=True)
class Remembered:
    """The newest verdict of a program at a number of ranks."""

    program: str
    ranks: int
    trace: str
    when_unix_seconds: float  # the start of the run
    broken: dict[str, str]  # why, by model; what is not in it is kept

    def line(self, service: str) -> str:
        """What it says of a service (KEPT_BY), in one line."""
        model = KEPT_BY[service]
        name = os.path.basename(self.trace)
        if why := self.broken.get(model):
            return f"refused: {why} (verified: {name})"
        return f"verified: {name} keeps to {MODELS[model]} consistency at {self.ranks} ranks"


def remember(run: Trace, found: Verdicts) -> None:
    """Write down what the run's verdict is, where the state directory can be written."""
    summary = run.summary
    program = summary.identity or summary.program_name
    broken = {
        model: why_broken(files[0], model) for model in MODELS if (files := found.broken(model))
    }
    new = Remembered(program, summary.ranks, str(run.path), summary.start_unix_seconds, broken)
    others = [one for one in _all() if (one.program, one.ranks) != (program, summary.ranks)]
    rows = [asdict(one) for one in [*others, new][-_MOST:]]
    with contextlib.suppress(Error, OSError):
        make_private(_place().parent)
        write_text(_place(), json.dumps({"version": 1, "verified": rows}, indent=1) + "\n")


def remembered(programs: Iterable[str]) -> Remembered | None:
    """The newest verdict of one of these programs, by their names without a folder.

    None: it was never verified.
    """
    names = {os.path.basename(one) for one in programs}
    found = [one for one in _all() if one.program in names]
    return found[-1] if found else None


def _place() -> Path:
    return state_dir() / "verified.json"


def _all() -> list[Remembered]:
    """In the order in which they were verified; nothing of a file that is damaged."""
    try:
        rows = json.loads(_place().read_text())["verified"]
        return [Remembered(**row) for row in rows]
    except (OSError, ValueError, KeyError, TypeError):
        return []
