"""Which settings share a replay: those that may take much longer run alone, the cheapest first.

A replay of thirty files takes as long as its slowest, and whose fault it was shows only by doing it
again in halves. What a setting makes the storage do is known before: its system calls, and the
bytes that they move. Where one alone takes too long, all of its mechanism with more are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

import numpy as np
from iotune.models.gains.rows import features_of
from iotune.models.replays.many import Timed
from iotune.models.settings.candidates import Candidate
from iotune.models.survey.trials import Subject

from iotune import core

# Times the default's calls and bytes.
_MUCH = 8.0
# A call of fewer bytes takes longer than to copy what it moves.
_TINY_BYTES = 256
# A setting that was measured, and is not slower than this, does no harm to others' replay.
_NOT_SLOW = 0.2


class Costs:
    """Of one pattern's settings, relative to the default's."""

    def __init__(self, subject: Subject, points: Sequence[Candidate]):
        self._cost: dict[str, float] = {}
        self._call_bytes: dict[str, float] = {}
        self._mechanism: dict[str, tuple[float, ...]] = {}
        texts = [one.text for one in points]
        found = features_of(subject.pattern, subject.question, texts)
        if found is None:
            return
        names = core.feature_names()

        def exact(rows: np.ndarray, name: str) -> np.ndarray:
            return np.asarray(2 ** rows[:, names.index(name)])

        def asked_for(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            calls = exact(rows, "log2_system_calls")
            return calls, calls * exact(rows, "log2_call_bytes")

        calls, moved = asked_for(found[0])
        of_default = asked_for(found[1])
        ways = [names.index(name) for name in ("is_two_phase", "is_sieved")]
        for text, row, more_calls, more_bytes in zip(
            texts, found[0], calls / of_default[0], moved / of_default[1]
        ):
            self._cost[text] = float(max(more_calls, more_bytes))
            self._call_bytes[text] = float(2 ** row[names.index("log2_call_bytes")])
            self._mechanism[text] = tuple(float(row[at]) for at in ways)

    def is_hopeless(self, one: Candidate) -> bool:
        """Whether it makes far more calls than the default, each for next to nothing."""
        text = one.text
        return self._cost.get(text, 0.0) > _MUCH and self._call_bytes[text] < _TINY_BYTES

    def together(
        self, waiting: Sequence[Candidate], times: Mapping[str, Sequence[float]], most: int
    ) -> list[Candidate]:
        """What the next replay is of, at most so many; `times` are gains that were measured."""
        cheap = [one for one in waiting if self._is_cheap(one, times)]
        if cheap:
            return cheap[:most]
        return sorted(waiting, key=lambda one: self._cost[one.text])[:1]

    def _is_cheap(self, one: Candidate, times: Mapping[str, Sequence[float]]) -> bool:
        known = times.get(one.text)
        if known:
            return median(known) >= _NOT_SLOW
        return self._cost.get(one.text, 0.0) <= _MUCH

    def as_hopeless(
        self, alone: Timed, waiting: Sequence[Candidate]
    ) -> list[tuple[Candidate, str]]:
        """Of those that wait what takes too long as well, where `alone` did; with the reason."""
        least = self._cost.get(alone.candidate.text, 0.0)
        if least <= _MUCH or not _took_long(alone):
            return []
        return [
            (one, f"left out: with less to do {alone.candidate.text} took too long")
            for one in waiting
            if one is not alone.candidate
            and self._mechanism[one.text] == self._mechanism[alone.candidate.text]
            and self._cost[one.text] >= least
        ]


def without_hopeless(subject: Subject, found: Sequence[Candidate]) -> list[Candidate]:
    """Those that are worth a run, in their order."""
    costs = Costs(subject, found)
    return [one for one in found if not costs.is_hopeless(one)]


def _took_long(one: Timed) -> bool:
    return one.seconds is None or median(one.default_seconds) < _NOT_SLOW * one.seconds
