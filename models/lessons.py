"""What the patterns of a run that were trained so far teach those that are still to be trained.

The files of a program often go the same way to the storage. What won for one pattern is measured
first for the next of its kind, and what was far slower than the default is not measured again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from iotune.models.cases import Case, distributions
from iotune.models.outcome import Outcome
from iotune.models.settings.candidates import Candidate, is_interleaved

# Times the default's speed, of the interval's upper end: below, it is not tried again.
_FAR_SLOWER = 0.6

_Kind = tuple[bool, str, str, bool]


@dataclass
class Lessons:
    """Gains by the kind of pattern and the candidate's canonical text, the newest outcome's."""

    _gains: dict[_Kind, dict[str, tuple[float, float]]] = field(default_factory=dict)

    def learn(self, outcome: Outcome) -> None:
        """Remember what was measured."""
        known = self._gains.setdefault(_kind(outcome.case), {})
        for one in outcome.measured:
            if one.gain is not None:
                known[one.candidate.text] = (one.gain.ratio, one.gain.high)

    def applied_to(self, case: Case, tried: Sequence[Candidate]) -> tuple[Candidate, ...]:
        """Those worth a run, the likeliest first; the case's notes say what is left out."""
        known = self._gains.get(_kind(case), {})
        kept = [one for one in tried if known.get(one.text, (1.0, 1.0))[1] >= _FAR_SLOWER]
        kept = kept or list(tried[:1])
        if len(kept) < len(tried):
            case.notes.append(
                f"{len(tried) - len(kept)} of {len(tried)} candidates are not tried: for a pattern"
                " of this kind they were far slower than the default"
            )
        # Stable: of those that nobody measured the order of hope stays.
        return tuple(sorted(kept, key=lambda one: -known.get(one.text, (1.0, 1.0))[0]))


def _kind(case: Case) -> _Kind:
    """Patterns whose bytes go the same way."""
    mode = str(case.pattern.get("mode", ""))
    return case.write, mode, case.layer, is_interleaved(distributions(case.descriptor)[0])
