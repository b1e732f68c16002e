"""A bar on a terminal while something long is done; elsewhere nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator


def watcher() -> Callable[[Iterator[int], int], None] | None:
    """Draws on stderr how far the calls are; None where nobody looks."""
    return _draw if sys.stderr.isatty() else None


def _draw(done: Iterator[int], total: int) -> None:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    bar = Progress(
        TextColumn("calls"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task("calls", total=total)
        for calls in done:
            bar.update(task, completed=calls)
