"""The model that a database has of a platform. Nothing here needs the extra's libraries."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from iotune.models.survey.stored import PLATFORM_NAMES

from iotune import core


@dataclass(frozen=True)
class StoredModel:
    """The newest model of a platform."""

    model: core.GainModel
    candidates: list[str]
    patterns: int
    rows: int
    score: dict[str, Any]
    made_at: float


def newest_model(
    databases: Sequence[core.Database], platform: Mapping[str, str]
) -> StoredModel | None:
    """Of the first database that has one of that very platform. Raises Error for a damaged one."""
    for database in databases:
        found = [
            one
            for one in database.gain_models()
            if all(one["platform"][name] == platform[name] for name in PLATFORM_NAMES)
        ]
        if found:
            one = max(found, key=lambda each: float(each["made_at"]))
            return StoredModel(
                core.GainModel(base64.b64decode(one["payload"])),
                [text for text in str(one["candidates"]).split("\n") if text],
                int(one["patterns"]), int(one["rows"]), dict(one["score"]), float(one["made_at"]),
            )  # fmt: skip
    return None
