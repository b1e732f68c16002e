"""What traces hold as patterns: nests of every stream, descriptors, sizes, next accesses.

analyze() does the work of `iotune analyze` on this process's machine; as one of several ranks of an
MPI launcher it takes its share and leaves the result to rank 0 (docs/commands.md).
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from iotune.analysis.join import joined
from iotune.analysis.launched import Abandoned, Exchange, Ranks
from iotune.analysis.parts import Options, Part, parts_of
from iotune.analysis.sources import Source, Sources, sources_of
from iotune.analysis.workers import run_parts
from iotune.errors import Error

__all__ = ["Abandoned", "Options", "analyze"]

Watch = Callable[[Iterator[int], int], None]


def analyze(
    paths: Iterable[str | os.PathLike[str]],
    options: Options | None = None,
    jobs: int | None = None,
    watch: Watch | None = None,
    exchange: str | os.PathLike[str] | None = None,
) -> dict[str, Any] | None:
    """The result as `iotune analyze --json` prints it; None in ranks other than 0.

    paths: traces, other tools' logs, directories of them. jobs: processes; default, one a core, and
    of several ranks one each. watch: is given an iterator over calls done, and how many there are.
    exchange: where ranks of a launcher meet, a directory that all see; default, the current one.
    Raises Error.
    """
    wanted = options or Options()
    given = [Path(path) for path in paths]
    if not given:
        raise Error("nothing to analyse: name a trace, a log or a directory")
    ranks = Ranks.of_environment()
    if ranks.size > 1:
        return _as_rank(given, wanted, jobs or 1, ranks, Path(exchange or "."))
    workers = jobs or len(os.sched_getaffinity(0))
    with _folder() as folder:
        found = sources_of(given, folder)
        parts = parts_of(found.good, wanted, workers)
        run_parts(parts, found.good, wanted, folder, workers, watch)
        return _result(found, parts, wanted, folder)


def _as_rank(
    given: list[Path], options: Options, jobs: int, ranks: Ranks, place: Path
) -> dict[str, Any] | None:
    with Exchange(place, ranks) as exchange:
        if ranks.rank == 0:
            found = sources_of(given, exchange.folder)
            sources = found.good
            parts = parts_of(sources, options, ranks.size * jobs)
            exchange.publish(
                {"sources": [vars(one) for one in sources], "parts": [vars(one) for one in parts]}
            )
        else:
            plan = exchange.plan()
            found = Sources([], [])
            sources = [Source(**one) for one in plan["sources"]]
            parts = [Part(**one) for one in plan["parts"]]
        own = parts[ranks.rank :: ranks.size]
        run_parts(own, sources, options, exchange.folder, jobs, None)
        if ranks.rank != 0:
            return None
        exchange.wait_for(part.done(exchange.folder) for part in parts)
        return _result(found, parts, options, exchange.folder)


def _result(found: Sources, parts: list[Part], options: Options, folder: Path) -> dict[str, Any]:
    """The analysis, and under `left_out` what could not be read, in words."""
    made = joined(found.good, parts, options, folder)
    return {**made, "left_out": found.left_out, "failed": found.failed}


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="iotune-analyze-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
