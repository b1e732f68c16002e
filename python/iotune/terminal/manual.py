"""Manual pages, written from the commands: `python -m iotune.terminal.manual FOLDER`.

One page a command, iotune-run.1 and so on, and iotune.1 for all; commands of a command, as
`iotune db list`, are sections of its page. What `--help` says and what `man` says is one text.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from iotune.cli import application
from iotune.command_table import COMMANDS, PROGRAM_HELP

_ENVIRONMENT = (
    ("IOTUNE_MODE", "What a bare preload may do: tune (the default), record or off."),
    ("IOTUNE_DB", "The database of patterns and settings; none: no database."),
    ("IOTUNE_TRACE", "The file or folder that traces go to."),
    ("IOTUNE_CONFIG", "Settings for this run, as H5Tuner's XML."),
    ("IOTUNE_VERBOSE", "1: the lowest loaded rank says what was decided."),
)
# Options whose value is a count or a size.
_NUMBERS = {"rounds", "ranks", "nodes", "repeat", "datasets", "top", "element-bytes"}
_STATUS = (
    ("0", "Done."),
    ("1", "Failed; one line on standard error says of what and what to do."),
    ("2", "The command line is wrong."),
)


def pages() -> dict[str, str]:
    """Every page's file name and text, in roff's man macros."""
    whole: Any = typer.main.get_command(application())
    written = {"iotune.1": _overview()}
    for name, command in whole.commands.items():
        written[f"iotune-{name}.1"] = _page(name, command)
    return written


def _overview() -> str:
    lines = [
        *_title("iotune"),
        *_name("iotune", "tune the I/O of unmodified parallel programs"),
        *_section(
            "SYNOPSIS", [".B iotune", ".I COMMAND", "[\\fIOPTION\\fR]... [\\fIARGUMENT\\fR]..."]
        ),
        *_section("DESCRIPTION", _prose(PROGRAM_HELP)),
        *_section(
            "COMMANDS",
            [
                line
                for name, (_, short) in COMMANDS.items()
                for line in _item(f"iotune-{name}(1)", short)
            ],
        ),
        *_section("ENVIRONMENT", [line for one in _ENVIRONMENT for line in _item(*one)]),
        *_section("EXIT STATUS", [line for one in _STATUS for line in _item(*one)]),
    ]
    return "\n".join(lines) + "\n"


def _page(name: str, command: Any) -> str:
    short = COMMANDS[name][1].rstrip(".")
    lines = [
        *_title(f"iotune-{name}"),
        *_name(f"iotune-{name}", short[:1].lower() + short[1:]),
        *_section("SYNOPSIS", [_usage(command, f"iotune {name}")]),
        *_section("DESCRIPTION", _prose(command.help or "")),
    ]
    inner = getattr(command, "commands", {})
    if inner:
        lines.append(".SH COMMANDS")
        for one, child in inner.items():
            path = f"iotune {name} {one}"
            lines += [f".SS {_escaped(path)}", _usage(child, path), ".PP"]
            lines += [*_prose(child.help or ""), *_options(child)]
    else:
        lines += _section("OPTIONS", list(_options(command)))
    others = [one for one in ("run", "show", "explain") if one != name]
    see = ", ".join(f"\\fBiotune\\-{one}\\fR(1)" for one in others)
    lines += _section("SEE ALSO", [f"\\fBiotune\\fR(1), {see}"])
    return "\n".join(lines) + "\n"


def _title(name: str) -> list[str]:
    # No date and no version: the page is the same until the command changes.
    return [f'.TH "{name.upper()}" "1" "" "iotune" "iotune manual"', ".nh", ".ad l"]


def _name(name: str, short: str) -> list[str]:
    return _section("NAME", [f"{_escaped(name)} \\- {_escaped(short)}"])


def _section(title: str, lines: list[str]) -> list[str]:
    return [f".SH {title}", *lines] if lines else []


def _usage(command: Any, path: str) -> str:
    # Said here and not by the parser of options, whose versions print different words.
    words = ["[OPTION]..."] if any(not _is_argument(one) for one in command.params) else []
    if getattr(command, "commands", {}):
        words += ["COMMAND", "[ARGUMENT]..."]
    for one in filter(_is_argument, command.params):
        word = _metavar(one) + ("..." if one.nargs == -1 else "")
        words.append(word if one.required else f"[{word}]")
    return f"\\fB{_escaped(path)}\\fR {_escaped(' '.join(words))}"


def _is_argument(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "argument")


def _metavar(parameter: Any) -> str:
    """The name of the value: the command's own word, or the option's name."""
    if parameter.metavar:
        return str(parameter.metavar)
    if _is_argument(parameter):
        return str(parameter.name).upper()
    longest = max(parameter.opts, key=len).lstrip("-")
    return "N" if longest in _NUMBERS else longest.upper()


def _options(command: Any) -> Iterator[str]:
    for one in command.params:
        if getattr(one, "hidden", False):
            continue
        names = ", ".join([*one.opts, *one.secondary_opts])
        if _is_argument(one):
            names = _metavar(one)
        elif not one.is_flag:
            names += f" {_metavar(one)}"
        yield from _item(names, one.help or "")


def _item(term: str, text: str) -> list[str]:
    return [".TP", f"\\fB{_escaped(term)}\\fR", _escaped(" ".join(text.split()) or "\\&")]


def _prose(text: str) -> list[str]:
    """Paragraphs; those that begin with two blanks are examples and keep their lines."""
    lines: list[str] = []
    for paragraph in re.split(r"\n\s*\n", text.replace("\b\n", "").strip("\n")):
        if paragraph.startswith("  "):
            lines += [".RS 4", ".nf", *map(_escaped, map(str.strip, paragraph.splitlines()))]
            lines += [".fi", ".RE"]
        else:
            lines += [".PP", *map(_escaped, map(str.strip, paragraph.splitlines()))]
    return [line for line in lines[1 if lines[:1] == [".PP"] else 0 :] if line]


def _escaped(text: str) -> str:
    """Text that roff prints as it is: no request at a line's begin, hyphens that can be copied."""
    plain = text.replace("\\&", "").replace("\\", "\\e").replace("-", "\\-")
    # roff reads Latin-1 unless it is set otherwise.
    plain = "".join(one if one.isascii() else f"\\[u{ord(one):04X}]" for one in plain)
    return f"\\&{plain}" if plain[:1] in (".", "'", "") else plain


def main() -> None:
    """Write all pages into the folder of the command line."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
