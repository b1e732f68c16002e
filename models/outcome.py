"""What training found for a case, as people, the database and an export take it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from iotune.models.candidates import Candidate
from iotune.models.cases import Case
from iotune.models.paired import Gain

from iotune.tunings import tuning_json


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
    speaks: bool = True  # whether what was measured is this pattern's above all
    notes: list[str] = field(default_factory=list)

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
        return tuning_json(
            self.case.pattern,
            self.platform,
            self.winner.candidate.settings,
            "train",
            (gain.ratio, gain.low, gain.high),
            gain.rounds,
            self.case.named,
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
        if not key or not lines or not self.speaks:
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
