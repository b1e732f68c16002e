"""How every command speaks: data on stdout, talk on stderr, errors in one line."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Callable, TypeVar

import typer

from iotune.errors import Error
from iotune.reports.tables import (
    Column,
    count_text,
    paragraph,
    path_text,
    rate_text,
    seconds_text,
    size_text,
    table,
)
from iotune.talk import (
    data,
    document,
    failing_in_one_line,
    next_command,
    print_json,
    printable,
    say,
)

__all__ = [
    "Column",
    "count_text",
    "data",
    "document",
    "errors_in_one_line",
    "next_command",
    "paragraph",
    "path_text",
    "print_json",
    "printable",
    "rate_text",
    "say",
    "seconds_text",
    "size_text",
    "table",
    "value_of",
]

F = TypeVar("F", bound=Callable[..., Any])


def errors_in_one_line(command: F) -> F:
    """Turn any failure of a command into one line on stderr and an exit status."""

    @functools.wraps(command)
    def wrapped(*arguments: Any, **options: Any) -> Any:
        with failing_in_one_line(typer.Exit, (typer.Exit, typer.Abort, typer.BadParameter)):
            return command(*arguments, **options)

    return wrapped  # type: ignore[return-value]


@contextmanager
def value_of(option: str) -> Iterator[None]:
    """While the value of a command line's option is read: what is wrong with it is bad usage."""
    try:
        yield
    except (Error, ValueError) as problem:
        raise typer.BadParameter(str(problem), param_hint=option) from None
