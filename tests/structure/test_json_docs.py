"""Every command with --json has a schema, and docs/json.md is written from them."""

from __future__ import annotations

import re
from typing import Any

import jsonschema
import pytest
import typer

from iotune.cli import app
from iotune.errors import Error
from iotune.schemas import names, page, schema
from support.repository import ROOT

# These print one object a line, whose columns docs/reading.md has, or JSON of another kind.
OTHERS: set[str] = set()


def commands_with_json(command: Any, *path: str) -> list[str]:
    found = []
    for name, inner in getattr(command, "commands", {}).items():
        found += commands_with_json(inner, *path, name)
    if any("--json" in one.opts for one in command.params):
        found.append("-".join(path))
    return found


def test_every_command_with_json_has_a_schema() -> None:
    asked = set(commands_with_json(typer.main.get_command(app))) - OTHERS
    known = {*names()}
    assert not asked - known, asked - known
    variants = {"train-plan", "train-survey", "prove-list"}
    assert not known - asked - variants, known - asked - variants


def test_every_schema_is_one_and_every_one_is_named_where_it_is_printed() -> None:
    printed = {
        name
        for path in (ROOT / "python" / "iotune").rglob("*.py")
        for name in re.findall(r'print_json\(\s*"([a-z-]+)"', path.read_text())
    }
    assert printed == set(names())
    for name in names():
        jsonschema.Draft202012Validator.check_schema(schema(name))


def test_the_page_is_written_from_the_schemas() -> None:
    kept = (ROOT / "docs" / "json.md").read_text()
    assert kept == page.page(), "run python -m iotune.schemas.page > docs/json.md"


def test_an_unknown_name_is_reported_with_the_known_ones() -> None:
    with pytest.raises(Error, match="'shows'.*show, train"):
        schema("shows")
