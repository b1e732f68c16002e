"""`iotune train --survey`: measure drawn patterns, so that new programs are predicted."""

from __future__ import annotations

import math
import os
import time
from pathlib import Path

import typer

from iotune import core
from iotune.cli.output import count_text, next_command, print_json, say, size_text
from iotune.errors import Error
from iotune.quantities import Budget
from iotune.replay.mpi import find_mpi

# Without --budget: long enough for a model, short enough for a first try.
_DEFAULT_SECONDS = 1800.0


def run_survey(
    database: core.Database, directory: Path | None, budget: Budget, ranks: list[int],
    as_json: bool,
) -> None:  # fmt: skip
    """Draw, measure, store and fit. Raises Error where nothing can be measured."""
    try:
        from iotune.models.gains.fit import FEWEST_PATTERNS
        from iotune.models.gains.store import fit_and_store
        from iotune.models.survey.draw import Limits
        from iotune.models.survey.stored import of_database
        from iotune.models.survey.survey import Left, survey
    except ImportError as problem:
        raise Error(f"a survey needs more ({problem}): pip install 'iotune[models]'") from None
    place = (directory or Path.cwd()).absolute()
    if not place.is_dir() or not os.access(place, os.W_OK):
        raise Error(f"{place} is no directory that can be written; --dir names another place")
    mpi = find_mpi()
    limits = Limits(ranks=tuple(ranks) or (min(2, os.cpu_count() or 1),))
    if budget.seconds is None and budget.runs is None and budget.bytes is None:
        budget.seconds = _DEFAULT_SECONDS
    say(f"drawn patterns of {', '.join(map(str, limits.ranks))} ranks in {place}: "
        f"{budget.text()}")  # fmt: skip
    began = time.monotonic()
    left = Left(
        math.inf if budget.seconds is None else began + budget.seconds,
        math.inf if budget.runs is None else budget.runs,
        math.inf if budget.bytes is None else budget.bytes,
    )
    done = survey(database, place, mpi, limits, left, say)
    passed = time.monotonic() - began
    for failure in done.failures:
        say(f"left out: {failure}")
    say(f"{count_text(len(done.surfaces), 'pattern')}, {count_text(done.runs, 'file')}, "
        f"{size_text(done.bytes)} in {passed / 60:.1f} min")  # fmt: skip
    if not done.surfaces:
        raise Error("the budget was used before a pattern was measured")
    surfaces = of_database(database, done.platform)
    if len(surfaces) < FEWEST_PATTERNS:
        say(f"{count_text(len(surfaces), 'pattern')} in all: a model needs {FEWEST_PATTERNS}; "
            "another survey goes on")  # fmt: skip
        if as_json:
            print_json(
                "train-survey", {"patterns": len(surfaces), "runs": done.runs, "model": None}
            )
        raise typer.Exit(0)
    say(f"fitting a model to {count_text(len(surfaces), 'pattern')}")
    fitted = fit_and_store(database, done.platform)
    share, worst = fitted.score["first_over_best"], fitted.score["worst_gain"]
    if as_json:
        print_json(
            "train-survey", {"patterns": len(surfaces), "runs": done.runs, "model": fitted.score}
        )
    elif share == share:
        say(f"left out of the fit, half of the patterns that can gain get {share:.0%} of it by "
            f"the first prediction; the worst one runs at {worst:.2f} of its default")  # fmt: skip
    else:
        say("no pattern that was measured gains 1.3 or more: the default is good here")
    next_command("iotune", "predict", "<1D,(BLOCK),(1000000)>", "--ranks", str(limits.ranks[0]))
