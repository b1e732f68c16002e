"""The head line of a table: what its columns are, and what stands between them."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass

from iotune.importing.lines import Malformed

_SEPARATORS = (",", "\t", ";")
_ALIASES = {
    **dict.fromkeys(("file", "path", "filename"), "file"),
    **dict.fromkeys(("op", "operation", "call"), "op"),
    **dict.fromkeys(("offset", "offset_bytes"), "offset"),
    **dict.fromkeys(("length", "length_bytes", "size", "bytes"), "length"),
    **dict.fromkeys(("host", "hostname"), "host"),
    **{name: name for name in ("rank", "pid", "start", "end", "duration", "layer")},
    **{name: name for name in ("start_ns", "end_ns", "duration_ns", "process")},
    **{name: name for name in ("thread", "level")},
}
_NEEDED = ("file", "op", "offset", "length")
_EXPECTED = (
    "a head line names file, op, offset and length, with commas, tabs or semicolons between them"
)


@dataclass(frozen=True)
class Head:
    """A head line that was understood."""

    places: dict[str, int]  # of the columns that are known
    width: int  # of all columns
    separator: str
    any_call: bool  # a table of all calls, also of those that are none of ours
    is_export: bool  # by `iotune export`: names are exact, and calls have threads and levels


def head_of(line: bytes) -> Head:
    """What a line says as a head. Raises Malformed for what is missing in it or twice."""
    text = line.decode("utf-8", "surrogateescape")
    heads = [(one, _split(text, one)) for one in _SEPARATORS]
    separator, words = max(heads, key=lambda head: len(_known(head[1])))
    places: dict[str, int] = {}
    for place, name in _known(words):
        if name in places:
            raise Malformed(f"two columns say the {name}")
        places[name] = place
    missing = [name for name in _NEEDED if name not in places]
    if missing:
        raise Malformed(f"no column {missing[0]!r}: {_EXPECTED}")
    names = {word.strip().lower() for word in words}
    is_export = names >= {"call", "level", "time_kind", "thread"} and separator == ","
    return Head(places, len(words), separator, "call" in names, is_export)


def head_named(columns: str, first_row: bytes) -> Head:
    """A head of these columns for a table that has none. Raises Malformed."""
    text = first_row.decode("utf-8", "surrogateescape")
    separator = max(_SEPARATORS, key=lambda one: len(_split(text, one)))
    names = [one.strip() for one in columns.split(",")]
    if len(_split(text, separator)) > len(names):
        row = len(_split(text, separator))
        raise Malformed(f"{row} columns, and --columns names {len(names)}")
    head = head_of(separator.join(names).encode())
    return Head(head.places, len(names), separator, False, False)


def rows_of(lines: Iterable[str], separator: str, exact: bool = False) -> Iterable[list[str]]:
    """The words of each row; blanks around them belong to none but exact ones. Raises csv.Error."""
    return csv.reader(lines, delimiter=separator, skipinitialspace=not exact, strict=True)


def is_head(line: bytes) -> bool:
    """Whether a line is a head without a fault."""
    try:
        head_of(line)
    except Malformed:
        return False
    return True


def is_meant_as_head(line: bytes) -> bool:
    """Whether a line names columns, whatever stands between them."""
    words = re.split(r"[\s,;|:]+", line.decode("utf-8", "surrogateescape"))
    return "offset" in line.decode("latin-1").lower() and len(_known(words)) > 2


def _split(text: str, separator: str) -> list[str]:
    try:
        return next(iter(rows_of([text], separator)), [])
    except csv.Error:
        return []


def _known(words: Iterable[str]) -> list[tuple[int, str]]:
    """Place and name of the columns that mean something here."""
    found = ((place, _ALIASES.get(word.strip().lower())) for place, word in enumerate(words))
    return [(place, name) for place, name in found if name is not None]
