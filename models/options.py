"""How training is done."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from iotune.models.cases import Case
from iotune.models.lessons import Lessons
from iotune.models.replays.preceding_files import Answers
from iotune.models.replays.run_journal import RunJournal
from iotune.models.settings.candidates import Candidate
from iotune.models.settings.storage import LatencyOf

Progress = Callable[[str, int], None]  # what goes on, measurements that are now known to come


@dataclass(frozen=True)
class Options:
    """How training is done."""

    rounds: int = 5
    budget: int = 12
    chosen: tuple[Candidate, ...] = ()  # instead of those by mechanism
    directory: Path | None = None  # default: where the pattern's file lay
    seed: int = 20150915
    until: float = math.inf  # monotonic: what is not settled then is left
    # The answers of other files, by the file system that is measured.
    answers: Callable[[str], Answers] = lambda _: lambda run, file: None
    # How candidates are chosen: "race" races those by mechanism; else a search of models/search
    # looks at the whole space first, in at most `search_runs` files.
    method: str = "race"
    search_runs: int = 40
    # What is expected of settings (canonical texts, the default first) before any has run, by the
    # case, what it runs on, and the platform; None: nothing.
    prior: Callable[[Case, Mapping[str, int], Mapping[str, str], Sequence[str]], object] = (
        lambda case, question, platform, texts: None
    )
    # Keeps each measurement of a case at once; None: nothing is kept.
    journal: Callable[[Case], RunJournal | None] = lambda case: None
    # What was fitted to a file system's response times; None: nothing is known.
    latency_of: LatencyOf = lambda _: None
    # Of the patterns that were trained before.
    lessons: Lessons = field(default_factory=Lessons)
    # Why a candidate of a case may not be tried in a directory; "" where it may.
    refusal: Callable[[Case, Path, Candidate], str] = lambda case, directory, candidate: ""
