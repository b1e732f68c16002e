"""What training found for a case, as people, the database and an export take it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from iotune.models.cases import Case
from iotune.models.measuring.paired import Gain
from iotune.models.measuring.race import DEFAULT
from iotune.models.settings.candidates import Candidate
from iotune.models.survey.trials import Subject, Surface, Trial

from iotune.database.tunings import tuning_json

_FIRST_ROUND = 1000  # among the batches of a training


@dataclass
class Measured:
    """What became of one candidate."""

    candidate: Candidate
    effect: str  # "applied", or why it was not measured
    gain: Gain | None = None


@dataclass
class Outcome:
    """What training found for a case."""

    case: Case
    platform: dict[str, str]
    measured: list[Measured]
    default_seconds: list[float]
    winner: Measured | None  # confirmed by rounds of its own; None: default is best
    confirmed: Gain | None = None
    winning_arm: str = ""
    is_dominant: bool = True  # whether what was measured is this pattern's above all
    notes: list[str] = field(default_factory=list)
    # What was measured, and what the pattern amounts to and runs on: models learn from it.
    trials: list[Trial] = field(default_factory=list)
    question: Mapping[str, int] = field(default_factory=dict)
    smaller: Surface | None = None  # what a search measured of a smaller file
    runs: int = 0  # replays that it took
    moved_bytes: int = 0  # that these wrote or read

    def as_tuning(self) -> dict[str, object]:
        """The answer as the database takes it."""
        if self.winner is None or self.confirmed is None:
            return tuning_json(
                self.case.pattern,
                self.platform,
                {},
                "train",
                rounds=len(self.default_seconds),
                evidence=self.case.named,
            )
        gain = self.confirmed
        named = self.case.named
        # For `iotune explain`, which shows what a row rests on.
        if self.case.bound and "striping_factor" in self.winner.candidate.settings:
            named = f"{named or 'for its pattern'} ({self.case.bound})"
        return tuning_json(
            self.case.pattern,
            self.platform,
            self.winner.candidate.settings,
            "train",
            (gain.ratio, gain.low, gain.high),
            gain.rounds,
            named,
        )

    def trials_json(self) -> dict[str, object] | None:
        """Every candidate's gain, as an export has it: how settings travel is judged by these.

        None where nothing was measured or the pattern has no key, or others' files were most of it.
        """
        key = str(self.case.pattern.get("byte_key", ""))
        lines = [
            f"{one.gain.ratio:.4f} {one.candidate.text}"
            for one in self.measured
            if one.gain is not None
        ]
        if not key or not lines or not self.is_dominant:
            return None
        model = {
            "name": f"trials {key}",
            "kind": "coefficients",
            "platform": 1,
            "payload": "\n".join(lines) + "\n",
            "made_at": time.time(),
        }
        platforms = [{"id": 1, **self.platform}]
        return {
            "format": "iotune-patterns",
            "version": 1,
            "platforms": platforms,
            "models": [model],
        }

    def subject(self) -> Subject:
        """What the trials are of."""
        return Subject(str(self.case.id), self.case.pattern, self.question, self.platform)


def trials_of(
    rounds: Sequence[Mapping[str, float]], measured: Mapping[str, Measured]
) -> list[Trial]:
    """A race's rounds: what ran in one is compared with the default of the same."""
    found = []
    for number, one in enumerate(rounds):
        default = (one[DEFAULT],)
        for name, seconds in one.items():
            text = "" if name == DEFAULT else measured[name].candidate.text
            # Behind the numbers of a search's replays.
            found.append(Trial(text, seconds, default, _FIRST_ROUND + number))
    return found
