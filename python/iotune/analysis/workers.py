"""Does parts of the work in as many processes as are wanted."""

from __future__ import annotations

import concurrent.futures as futures
import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from iotune.analysis.parts import Options, Part, run_part
from iotune.analysis.sources import Source
from iotune.errors import Error

_LOOK_SECONDS = 0.1

# Of a worker process: the calls that all of them have done.
_shared: Any = None


def run_parts(
    parts: Sequence[Part],
    sources: Sequence[Source],
    options: Options,
    folder: Path,
    jobs: int,
    watch: Callable[[Iterator[int], int], None] | None,
) -> None:
    """Do all parts; each leaves its result in `folder`. Raises Error, of the first that fails."""
    workers = min(jobs, len(parts))
    if workers <= 1 and watch is None:
        for part in parts:
            run_part(part, sources[part.source], options, folder, lambda calls: None)
        return
    # Workers are forked before any thread of a progress bar is there.
    context = multiprocessing.get_context("fork")
    counted = context.Value("q", 0)
    pool = futures.ProcessPoolExecutor(workers, context, _begin_worker, (counted,))
    try:
        # The longest first, so that none is left over at the end.
        order = sorted(parts, key=lambda part: (part.kind != "summary", -part.calls))
        pending = {
            pool.submit(_run_in_worker, part, sources[part.source], options, folder)
            for part in order
        }
        ticks = _until_done(pending, counted)
        if watch is None:
            for _ in ticks:
                pass
        else:
            watch(ticks, sum(part.calls for part in parts))
    except BaseException:
        # Else the pool waits for what nobody wants any more.
        for worker in multiprocessing.active_children():
            worker.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _until_done(pending: set[futures.Future[None]], counted: Any) -> Iterator[int]:
    """Calls done, ten times a second, until all is done. Raises Error."""
    while pending:
        begun = time.monotonic()
        finished, pending = futures.wait(pending, _LOOK_SECONDS, futures.FIRST_COMPLETED)
        for one in finished:
            try:
                one.result()
            except futures.process.BrokenProcessPool:
                raise Error("a worker was killed: is the memory enough? -j 1 needs least") from None
        if finished and pending:
            time.sleep(max(0.0, _LOOK_SECONDS - (time.monotonic() - begun)))
        yield int(counted.value)


def _begin_worker(counted: Any) -> None:
    global _shared
    _shared = counted
    # A worker has nothing to clean up, and inside the native part no handler of Python's runs.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def _add(calls: int) -> None:
    with _shared.get_lock():
        _shared.value += calls


def _run_in_worker(part: Part, source: Source, options: Options, folder: Path) -> None:
    reported = 0

    def tell(calls: int) -> None:
        # An MPI-IO call under a view is several accesses.
        nonlocal reported
        more = min(calls, part.calls - reported)
        reported += more
        _add(more)

    run_part(part, source, options, folder, tell)
    _add(part.calls - reported)
