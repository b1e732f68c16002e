"""`iotune train --method`: how candidates are chosen before the race that proves a winner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import typer

from iotune import core
from iotune.cli.output import count_text, say
from iotune.errors import Error
from iotune.models.cases import Case
from iotune.models.gains.stored_model import newest_model
from iotune.models.options import Options
from iotune.models.search import METHODS

RACE = "race"
_OURS = "ours"


def checked(method: str | None) -> str | None:
    """A name that there is. Raises a usage error for others."""
    if method is not None and method not in (RACE, *METHODS):
        raise typer.BadParameter(
            f"'{method}' is none of {', '.join((RACE, *METHODS))}", param_hint="--method"
        )
    return method


def with_method(
    options: Options, method: str | None, case: Case, databases: Sequence[core.Database]
) -> Options:
    """The options for a case: without a wish, our search where a model knows its platform.

    Raises Error where a search that was asked for lacks its libraries.
    """
    if method == RACE or case.layer != "hdf5":
        return replace(options, method=RACE)
    try:
        model = newest_model(databases, case.platform)
    except Error as problem:
        say(f"the model of this platform is left alone: {problem}")
        model = None
    if model is None and method is None:
        return replace(options, method=RACE)
    try:
        from iotune.models.gains.prior import DEFAULT_NOISE, prior_of
    except ImportError as problem:
        if method is None:
            say(f"there is a model of this platform, and no library for it ({problem})")
            return replace(options, method=RACE)
        raise Error(
            f"--method {method} needs more ({problem}): pip install 'iotune[models]'"
        ) from None
    if model is not None and method in (None, _OURS):
        say(f"a model of {count_text(model.patterns, 'pattern')} says what to measure first")

    def prior(
        of: Case, question: Mapping[str, int], platform: Mapping[str, str], texts: Sequence[str]
    ) -> object:
        if model is None:
            return prior_of(of.pattern, question, texts, None)
        noise = float(model.score.get("noise") or DEFAULT_NOISE)
        return prior_of(of.pattern, question, texts, model.model, noise)

    return replace(options, method=method or _OURS, prior=prior)
