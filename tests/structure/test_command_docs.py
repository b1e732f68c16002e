"""docs/commands.md has every command and option that the command line takes, and no others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer

from iotune.cli import app
from support.repository import ROOT

TEXT = (ROOT / "docs" / "commands.md").read_text()
SECTION = re.compile(r"^## (iotune \S+)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
USAGE = re.compile(r"```\n(.*?)```", re.DOTALL)
OPTION = re.compile(r"(?<![\w-])--?[a-z][a-z0-9-]*")
# Said once for all commands at the head of the page, and of all of `iotune db` in its section.
OF_ALL = {"--json", "--help"}
TAKEN_OVER = "the filters of show --calls"  # by `export`
# Of pkg-config and of the program that `replay --emit-c` writes.
OF_OTHERS = {"--cflags", "--libs", "--overwrite"}


def commands(command: Any, *path: str) -> Iterator[tuple[str, set[str], list[set[str]]]]:
    """Each command's section, its own words, and its options by all their names."""
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, *path, name)
    if not hasattr(command, "commands"):
        options = [
            {*one.opts, *one.secondary_opts}
            for one in command.params
            if one.param_type_name == "option" and not one.hidden
        ]
        yield " ".join(path[:2]), set(path[2:]), options


SECTIONS = dict(SECTION.findall(TEXT))
COMMANDS = list(commands(typer.main.get_command(app), "iotune"))


def words(section: str) -> set[str]:
    """The options that a section names, its own and those that it takes over."""
    text = SECTIONS[section]
    found = set(OPTION.findall(text)) | OF_ALL
    return found | (words("iotune show") if TAKEN_OVER in text else set())


def test_every_command_has_its_place() -> None:
    assert sorted(SECTIONS) == sorted({section for section, _, _ in COMMANDS})
    for section, inner, _ in COMMANDS:
        usage = USAGE.findall(SECTIONS[section])
        said = set(re.findall(r"[a-z]+", usage[0])) if usage else set()
        assert inner <= said, f"{section} {inner}"


def test_every_option_is_said() -> None:
    missing = {
        f"{section} {' '.join(inner)}: {'/'.join(sorted(names))}"
        for section, inner, options in COMMANDS
        for names in options
        if not names & words(section)
    }
    assert not missing


def test_no_usage_has_an_option_that_is_not_there() -> None:
    for section, text in SECTIONS.items():
        known = set().union(
            *(n for name, _, options in COMMANDS if name == section for n in options)
        )
        for usage in USAGE.findall(text)[:1]:
            assert set(OPTION.findall(usage.replace(TAKEN_OVER, ""))) - OF_ALL <= known, section


def test_no_option_is_said_that_no_command_has() -> None:
    known = set().union(*(names for _, _, options in COMMANDS for names in options))
    said = {one for one in OPTION.findall(TEXT) if one.startswith("--")}
    assert said - known - OF_ALL == OF_OTHERS
