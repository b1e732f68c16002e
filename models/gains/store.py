"""Fit a model to all that was measured on a platform, and store it."""

from __future__ import annotations

import base64
import time
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from iotune.models.gains.fit import Fitted, fit
from iotune.models.gains.rows import rows_of
from iotune.models.survey.stored import PLATFORM_NAMES, of_database
from iotune.models.survey.trials import Surface

from iotune import core

# A run looks at every candidate of a model while the program waits in its open.
MOST_CANDIDATES = 256
_BEST_OF_PATTERN = 8


def fit_and_store(database: core.Database, platform: Mapping[str, str]) -> Fitted:
    """Fit a model to all that was measured on the platform. Raises Error where it is too little."""
    surfaces = of_database(database, platform)
    fitted = fit(rows_of(surfaces))
    database.add_gain_model(
        {
            "platform": {name: platform[name] for name in PLATFORM_NAMES},
            "payload": base64.b64encode(fitted.payload).decode(),
            "candidates": "\n".join(candidates_of(surfaces)),
            "archive": _archive(fitted),
            "score": {name: _number(value) for name, value in fitted.score.items()},
            "patterns": int(fitted.score["patterns"]),
            "rows": int(fitted.score["rows"]),
            "made_at": time.time(),
        }
    )
    return fitted


def candidates_of(surfaces: Sequence[Surface]) -> list[str]:
    """Settings that a run may choose among, the best of many patterns first."""
    often: Counter[str] = Counter()
    best: Counter[str] = Counter()
    for surface in surfaces:
        ratios = {text: float(np.median(one)) for text, one in surface.ratios().items() if text}
        often.update(ratios)
        leaders = sorted(ratios, key=lambda text: -ratios[text])[:_BEST_OF_PATTERN]
        best.update(text for text in leaders if ratios[text] > 1)
    ranked = sorted(often, key=lambda text: (-best[text], -often[text], text))
    return [text for text in ranked if "fallocate" not in text][:MOST_CANDIDATES]


def _number(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _archive(fitted: Fitted) -> str:
    """The forest for training again: a skops file, which runs no code when it is read."""
    try:
        import skops.io
    except ImportError:
        return ""
    return base64.b64encode(skops.io.dumps(fitted.forest)).decode()
