"""Output of `--json`, held against the schema that the package has for it."""

from __future__ import annotations

import json
from typing import Any

import jsonschema

from iotune.schemas import schema


def conforming(name: str, printed: str | bytes) -> Any:
    """What a command printed, parsed; fails where the schema `name` has other fields."""
    value = json.loads(printed)
    jsonschema.Draft202012Validator(schema(name)).validate(value)
    return value
