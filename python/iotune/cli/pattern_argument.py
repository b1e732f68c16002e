"""A pattern of the database as a command's argument: its ID, or its descriptor."""

from typing import Annotated

import typer

from iotune import core
from iotune.errors import Error, shown

# What the database's columns hold.
LARGEST = 2**63 - 1


def _either(pattern: str) -> str:
    """The argument as it is; what can be neither is a wrong use, database or not."""
    if pattern.isascii() and pattern.isdigit():
        if len(pattern) > len(str(LARGEST)) or not 1 <= int(pattern) <= LARGEST:
            raise typer.BadParameter(f"{shown(pattern)} is not in the range 1<=x<={LARGEST}.")
    elif not pattern.lstrip().startswith("<"):
        raise typer.BadParameter(f"'{shown(pattern)}' is neither an ID nor a descriptor")
    return pattern


PatternArgument = Annotated[
    str,
    typer.Argument(
        metavar="PATTERN",
        help="An ID of `iotune db list`; or a descriptor: '<1D,(BLOCK),(6)>'.",
        callback=_either,
    ),
]


def pattern_id(database: core.Database, pattern: str) -> int:
    """The ID; of a descriptor that of the one pattern in the database that has it."""
    if pattern.isascii() and pattern.isdigit():
        return int(pattern)
    answer = database.query(pattern, None)
    found = answer["patterns"]
    if not found:
        raise Error(f"nothing is known of {answer['query']}: `iotune db list` has what is")
    if len(found) > 1:
        names = ", ".join(
            f"{one['id']} ({one['op']} {one['mode']}, {one['ranks']} ranks, elements of "
            f"{one['element_bytes']} bytes)"
            for one in found
        )
        raise Error(f"{len(found)} patterns are {answer['query']}: name one by its ID: {names}")
    return int(found[0]["id"])


def pattern_of_row(database: core.Database, descriptor: str, row: int) -> int | None:
    """The ID of the pattern of that descriptor whose answer `row` is or was; None: none has it."""
    try:
        found = [int(one["id"]) for one in database.query(descriptor, None)["patterns"]]
        return next(
            (one for one in found if any(a["id"] == row for a in database.show(one)["history"])),
            None,
        )
    except Error:
        return None
