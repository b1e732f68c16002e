"""Batch scripts that train patterns where a program runs: on the nodes of a scheduler.

Each scheduler has a template with the names of string.Template: patterns, count, last (the number
of patterns less one), ranks, nodes, ranks_per_node and command. A site's own file is one, too.
"""

from __future__ import annotations

import shlex
import string
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from iotune.errors import Error

_TEMPLATES = Path(__file__).parent / "job_templates"
# How the script is handed over.
_SUBMIT = {"slurm": "sbatch", "pbs": "qsub", "lsf": "bsub <", "flux": "flux batch"}
SCHEDULERS = tuple(_SUBMIT)


@dataclass(frozen=True)
class Job:
    """What a script trains: patterns of as many ranks and nodes at most."""

    patterns: Sequence[int]  # of the database
    ranks: int
    nodes: int
    command: Sequence[str]  # iotune train with its options, without --pattern


def script_of(template: str, job: Job) -> str:
    """The script of a scheduler's name, or of a template's path. Raises Error."""
    carried = template in _SUBMIT
    path = _TEMPLATES / f"{template}.sh" if carried else Path(template)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as problem:
        raise Error(
            f"{template} is neither a template's file ({problem.strerror}) nor one of "
            f"{', '.join(SCHEDULERS)}"
        ) from None
    values = {
        "patterns": " ".join(map(str, job.patterns)),
        "count": str(len(job.patterns)), "last": str(len(job.patterns) - 1),
        "ranks": str(job.ranks), "nodes": str(job.nodes),
        "ranks_per_node": str(-(-job.ranks // job.nodes)), "command": shlex.join(job.command),
    }  # fmt: skip
    try:
        return string.Template(text).substitute(values)
    except (KeyError, ValueError) as problem:
        known = ", ".join(f"${name}" for name in values)
        raise Error(
            f"{path}: {problem} is no name of a template; it may have {known}, and $$ for a dollar"
        ) from None


def submit_words(template: str, script: Path) -> str:
    """The line that hands the script over."""
    return f"{_SUBMIT.get(template, 'sbatch')} {shlex.quote(str(script))}"
