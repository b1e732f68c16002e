"""The options that choose calls, the same for every command that has them."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from iotune.traces.call_filter import CallFilter, call_filter

RankOption = Annotated[
    Optional[str], typer.Option("--rank", metavar="RANKS", help="Only these ranks: 0,3-5.")
]
LayerOption = Annotated[
    Optional[list[str]],
    typer.Option("--layer", help="Only hdf5, mpi, posix, stdio or iotune; may be repeated."),
]
FileOption = Annotated[
    Optional[list[str]],
    typer.Option(
        "--file",
        metavar="GLOB",
        help="Only files with this path or end of a path; *, ? and [] work.",
    ),
]
CallOption = Annotated[
    Optional[list[str]],
    typer.Option("--call", metavar="GLOB", help="Only calls of this name: H5Dwrite, 'p*'."),
]
FromOption = Annotated[
    Optional[str],
    typer.Option(
        "--from",
        metavar="TIME",
        help="Only calls that start then or later: 1.5s, 20ms, 300us after the run's first call.",
    ),
]
ToOption = Annotated[
    Optional[str],
    typer.Option("--to", metavar="TIME", help="Only calls that start before this time."),
]
LimitOption = Annotated[
    Optional[int], typer.Option("--limit", metavar="N", help="Stop after so many calls.")
]


def chosen_calls(
    rank: str | None,
    layer: list[str] | None,
    file: list[str] | None,
    call: list[str] | None,
    start: str | None,
    stop: str | None,
    limit: int | None,
) -> CallFilter:
    """The filter; a wrong value is a usage error, of the limit too."""
    if limit is not None and limit < 0:
        raise typer.BadParameter(f"{limit} is no number of calls")
    try:
        return call_filter(rank, layer, call, file, start, stop)
    except ValueError as problem:
        raise typer.BadParameter(str(problem)) from None
