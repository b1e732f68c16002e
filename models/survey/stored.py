"""Trials in the database: what one training measured, the next one learns from."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from iotune.models.survey.trials import Subject, Surface, Trial

from iotune import core

PLATFORM_NAMES = ("filesystem", "mpi", "hdf5", "host_class")


def of_database(database: core.Database, platform: Mapping[str, str]) -> list[Surface]:
    """The surfaces that were measured on that very platform."""
    found = []
    for number, one in enumerate(database.surfaces()):
        if any(one["platform"][name] != platform[name] for name in PLATFORM_NAMES):
            continue
        subject = Subject(f"{number}", one["pattern"], one["question"], one["platform"])
        surface = Surface(subject)
        for trial in one["trials"]:
            surface.trials.append(
                Trial(
                    trial["settings"], trial["seconds"], tuple(trial["default_seconds"]),
                    trial["batch"], trial["effect"],
                )
            )  # fmt: skip
        found.append(surface)
    return found


def add_trials(
    database: core.Database, subject: Subject, trials: Iterable[Trial], session: str
) -> int:
    """Store what one or several replays measured; returns how many trials are new."""
    now = time.time()
    place: Counter[int] = Counter()
    rows: list[dict[str, Any]] = []
    for one in trials:
        rows.append(
            {
                "settings": one.settings, "seconds": one.seconds,
                "default_seconds": list(one.default_seconds), "effect": one.effect,
                "session": session, "batch": one.batch, "place": place[one.batch],
                "measured_at": now,
            }
        )  # fmt: skip
        place[one.batch] += 1
    return database.add_surface(
        {
            "pattern": dict(subject.pattern), "platform": dict(subject.platform),
            "question": dict(subject.question), "trials": rows,
        }
    )  # fmt: skip
