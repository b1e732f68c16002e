"""How much times of a platform differ where nothing differs, and what follows for a training.

Of the default's files in the replays that were measured there. How often candidates run is chosen
so that a gain of a tenth is found nine times of ten by the very rule that decides (compare_ranks).
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from iotune.models.measuring.paired import STORED, compare_ranks
from iotune.models.survey.trials import Surface

FEWEST_TIMES = 60
FEWEST_ROUNDS, MOST_ROUNDS = 3, 12
# What is to be found, and how surely.
GAIN, POWER = 1.10, 0.90
_DRAWS = 300
# The largest of so many normal ones is some 2.4 deviations off; a heavy tail goes far beyond.
_TAIL_QUANTILE, _NORMAL_AT_IT, _HEAVY = 0.99, 2.326, 2.0


@dataclass(frozen=True)
class Noise:
    """Logarithms of times over the median of the same replay, sorted."""

    residuals: tuple[float, ...]

    @property
    def spread(self) -> float:
        """Standard deviation of the middle of them: by the median of their distances from 0."""
        return 1.4826 * median(map(abs, self.residuals))

    @property
    def is_heavy_tailed(self) -> bool:
        """Whether one of a hundred is much later than normal ones of that spread would be."""
        late = self.residuals[int(_TAIL_QUANTILE * (len(self.residuals) - 1))]
        return late > _HEAVY * _NORMAL_AT_IT * max(self.spread, 1e-4)

    def rounds(self, gain: float = GAIN, power: float = POWER, seed: int = 1) -> int:
        """The fewest rounds of either arm that find `gain`, by simulation; MOST_ROUNDS at most."""
        draw = random.Random(seed)
        for rounds in range(FEWEST_ROUNDS, MOST_ROUNDS):
            found = sum(self._is_found(draw, rounds, gain) for _ in range(_DRAWS))
            if found >= power * _DRAWS:
                return rounds
        return MOST_ROUNDS

    def _is_found(self, draw: random.Random, rounds: int, gain: float) -> bool:
        # Those of the race, and as many that confirm.
        count = 2 * rounds
        default = [math.exp(one) for one in draw.choices(self.residuals, k=count)]
        tuned = [math.exp(one) / gain for one in draw.choices(self.residuals, k=count)]
        return compare_ranks(default, tuned, STORED).clears_one

    def text(self) -> str:
        """In words: "times of one setting differ by 4 %, with a heavy tail"."""
        tail = ", with a heavy tail" if self.is_heavy_tailed else ""
        return f"times of one setting differ by {100 * (math.exp(self.spread) - 1):.1f} %{tail}"


def noise_of(surfaces: Sequence[Surface]) -> Noise | None:
    """From the defaults of every replay; None where there are too few to say."""
    found: list[float] = []
    for surface in surfaces:
        seen: set[int] = set()
        for trial in surface.trials:
            times = trial.default_seconds
            if trial.batch in seen or len(times) < 3 or min(times) <= 0:
                continue
            seen.add(trial.batch)
            middle = median(times)
            # The median is one of them: of the others the distance is that of two times, not of
            # one from the truth. Root two less makes up for it.
            found += [math.log(one / middle) / math.sqrt(2) for one in times if one != middle]
    return Noise(tuple(sorted(found))) if len(found) >= FEWEST_TIMES else None
