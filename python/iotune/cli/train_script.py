"""`iotune train --script`: a batch script that trains, instead of training now."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from iotune.cli.output import count_text, say
from iotune.errors import Error
from iotune.launch.job_script import Job, script_of, submit_words
from iotune.models.cases import Case
from iotune.output_file import new_file

# Of the command line: what the script's own tasks are not to be given.
_OWN = ("--script", "--scheduler", "--pattern", "--file")


def write_script(
    cases: Sequence[Case], script: Path, scheduler: str, arguments: Sequence[str]
) -> None:
    """Write it. Raises Error where a template is none, or the file cannot be written."""
    if not cases:
        raise Error("there is nothing to train, so nothing to write a script for")
    job = Job(
        [case.id for case in cases],
        max(case.ranks for case in cases),
        max(case.nodes for case in cases),
        [sys.executable, "-m", "iotune", "train", *without_own(arguments)],
    )
    text = script_of(scheduler, job)
    with new_file(script, force=True) as file:
        file.write(text.encode())
    script.chmod(0o755)
    say(f"{script} trains {count_text(len(cases), 'pattern')}: {submit_words(scheduler, script)}")


def without_own(arguments: Sequence[str]) -> list[str]:
    """The options that a task is given too."""
    kept: list[str] = []
    waiting = iter(arguments)
    for word in waiting:
        name = word.split("=", 1)[0]
        if name in _OWN:
            if "=" not in word:
                next(waiting, None)
        else:
            kept.append(word)
    return kept
