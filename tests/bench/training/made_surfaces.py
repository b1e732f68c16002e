"""Surfaces whose truth is known: drawn patterns on a storage that is a formula.

For tests, and to see what a search or a model does where the noise is what it is said to be.
Measured ones are in surfaces/.
"""

from __future__ import annotations

import random

import numpy as np
from iotune.models.cases import Case, shape_of, stored_pattern
from iotune.models.gains.rows import features_of
from iotune.models.settings.space import space
from iotune.models.survey.draw import Limits, draw_pattern
from iotune.models.survey.trials import Subject, Surface, Trial

from iotune import core
from iotune.replay.plan_build import plan_of_pattern

PLATFORM = {"filesystem": "ext4", "mpi": "MPICH 4.0.2", "hdf5": "1.10.8", "host_class": "x86_64"}
# Seconds of each cost term: of a system call 20 us, of a byte moved 1/500 MB, and so on.
PRICES = {
    "files": 2e-3, "calls": 1e-4, "system_calls": 2e-5, "moved_bytes": 2e-9,
    "exchanged_bytes": 6e-10, "exchange_messages": 5e-5, "shared_writes": 4e-6,
    "chunk_bytes": 2e-10, "chunk_bytes_again": 2e-9,
}  # fmt: skip


def made_surface(
    number: int, seed: int, repeats: int = 3, noise: float = 0.05, points: int | None = 40,
    ranks: tuple[int, ...] = (2, 4),
) -> Surface:  # fmt: skip
    """One surface. `noise`: the standard deviation of the logarithm of a time."""
    draw = random.Random(f"{seed} {number}")
    drawn = draw_pattern(draw, Limits(ranks=ranks))
    case = Case(0, drawn.pattern, {})
    shape = shape_of(case, plan_of_pattern(stored_pattern(case), drawn.datasets), "ext4")
    found = space(shape)
    if points is not None and len(found) > points:
        found = draw.sample(found, points)
    texts = [one.text for one in found]
    question = {"nodes": 1, "datasets": drawn.datasets, "repeats": 1}
    rows = features_of(drawn.pattern, question, texts)
    assert rows is not None
    prices = np.array([PRICES.get(name, 0.0) for name in core.cost_term_names()])

    def seconds_of(features: np.ndarray) -> np.ndarray:
        terms = np.array(core.cost_terms(features.tolist()))
        # What a cost model has no term for: small requests are slower a byte.
        small = 1 + 3 / (1 + 2 ** (features[:, core.feature_names().index("log2_call_bytes")] - 15))
        return np.asarray(terms @ prices * small)

    of_default, seconds = seconds_of(rows[1][:1])[0], seconds_of(rows[0])
    surface = Surface(Subject(f"made {number}", drawn.pattern, question, PLATFORM))

    def run(true: float) -> float:
        return true * draw.lognormvariate(0.0, noise)

    for batch in range(repeats):
        defaults = tuple(run(of_default) for _ in range(3))
        for text, true in zip(texts, seconds):
            surface.trials.append(Trial(text, run(true), defaults, batch))
        surface.trials.append(Trial("", run(of_default), defaults, batch))
    return surface


def made_surfaces(count: int, seed: int, **how: object) -> list[Surface]:
    """So many of them."""
    return [made_surface(number, seed, **how) for number in range(count)]  # type: ignore[arg-type]
