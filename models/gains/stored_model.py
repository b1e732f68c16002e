"""The model that a database has of a platform. Nothing here needs the extra's libraries."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from iotune.models.survey.stored import PLATFORM_NAMES

from iotune import core
from iotune.errors import Error, shown

_AGAIN = "iotune train --survey measures more and fits another"


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
            for one in models_of(database)
            if all(one["platform"][name] == platform[name] for name in PLATFORM_NAMES)
        ]
        if found:
            return _model(max(found, key=lambda each: float(each["made_at"])), database)
    return None


def models_of(database: core.Database) -> list[dict[str, Any]]:
    """All of a database. Raises Error that names it where one cannot be read."""
    try:
        return database.gain_models()
    except Error as problem:
        raise Error(f"{database.path}: its models cannot be read ({problem}); {_AGAIN}") from None


def _model(row: Mapping[str, Any], database: core.Database) -> StoredModel:
    try:
        candidates = [text for text in str(row["candidates"]).split("\n") if text]
        for text in candidates:
            _demand_settings(text)
        return StoredModel(
            core.GainModel(base64.b64decode(row["payload"])), candidates,
            int(row["patterns"]), int(row["rows"]), dict(row["score"]), float(row["made_at"]),
        )  # fmt: skip
    except (Error, ValueError, TypeError) as problem:
        of = ", ".join(str(row["platform"][name]) for name in PLATFORM_NAMES)
        raise Error(
            f"{database.path}: its model of {of} cannot be used ({shown(str(problem))}); {_AGAIN}"
        ) from None


def _demand_settings(text: str) -> None:
    for part in text.split(";"):
        name, _, value = part.partition("=")
        fault = core.fault_of_setting(name, value)
        if fault:
            raise ValueError(f"a candidate's {part} {fault}")
