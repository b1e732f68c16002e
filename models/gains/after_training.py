"""After a training: a new model of what was measured there, so that other patterns gain by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from iotune.models.gains.stored_model import newest_model
from iotune.models.survey.stored import PLATFORM_NAMES, of_database

from iotune import core
from iotune.errors import Error
from iotune.talk import say


def fit_anew(databases: Sequence[core.Database], platforms: Sequence[Mapping[str, str]]) -> None:
    """Fit the first database's model of each platform again, and store it there.

    Nothing happens where it has measured too few patterns, or fewer than the model in use knows:
    its own model would take that one's place. Without scikit-learn there are no models.
    """
    different = {tuple(one[name] for name in PLATFORM_NAMES): one for one in platforms}
    for platform in different.values():
        try:
            from iotune.models.gains.fit import FEWEST_PATTERNS
            from iotune.models.gains.store import fit_and_store

            measured = len(of_database(databases[0], platform))
            if measured < max(FEWEST_PATTERNS, _known_patterns(databases, platform)):
                continue
            fit_and_store(databases[0], platform)
        except ImportError:
            return
        except Error as problem:
            say(f"no model was fitted to what was measured: {problem}")
            continue
        say(f"the model of this platform now knows {measured} patterns")


def _known_patterns(databases: Sequence[core.Database], platform: Mapping[str, str]) -> int:
    """Of the model in use; 0 where there is none that can be used."""
    try:
        model = newest_model(databases, platform)
    except Error:
        return 0  # a damaged or older one, which the new one replaces
    return model.patterns if model is not None else 0
