"""Write an HTML report of a run: one file to look at, to send and to keep.

  iotune report                        the last run
  iotune report TRACE -o run.html
  iotune report BEFORE AFTER           two runs side by side
  iotune report --site DIR             all traces below DIR, by workload; users are numbers

Without -o the file lies in the current folder and is called as the trace is; -o - is stdout. The
report needs no network and no other file. Without TRACE the last run's.
"""

import concurrent.futures as futures
import contextlib
import multiprocessing
import os
import queue
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Callable, Optional

import typer

from iotune import core
from iotune.cli.output import count_text, errors_in_one_line, next_command, path_text, say
from iotune.cli.progress import watcher
from iotune.errors import Error
from iotune.findings import Findings, findings_of
from iotune.html_report.facts import RunFacts, gather
from iotune.html_report.page import page_of
from iotune.html_report.site import site_of
from iotune.html_report.site_page import site_page
from iotune.output_file import demand_replaceable, write_text
from iotune.reports.losses import SAMPLE, say_losses
from iotune.reports.tables import size_text
from iotune.talk import document
from iotune.traces.chosen_trace import chosen_trace
from iotune.traces.trace import Trace, open_trace

_MOST_RUNS = 8
_CALLS_FOR_TWO = 500_000  # below, a second process is not worth its start

Look = Callable[[], Findings]


@errors_in_one_line
def command(
    traces: Annotated[
        Optional[list[Path]],
        typer.Argument(metavar="TRACE…", help="Default: the last run's trace."),
    ] = None,
    output: Annotated[
        Optional[str],
        typer.Option("-o", "--output", metavar="FILE", help="Write to FILE; - is stdout."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it is there.")] = False,
    db: Annotated[
        Optional[Path], typer.Option("--db", metavar="FILE", help="Use this database instead.")
    ] = None,
    site: Annotated[
        Optional[Path],
        typer.Option("--site", metavar="DIR", help="Write a report of all traces below DIR."),
    ] = None,
) -> None:
    """Write it."""
    if site is not None:
        if traces:
            raise typer.BadParameter("is of a folder: name no traces", param_hint="--site")
        _write_site(site, "site.html" if output is None else output, force)
        return
    given: list[Optional[Path]] = [*traces] if traces else [None]
    if len(given) > _MOST_RUNS:
        raise Error(f"{len(given)} traces: a report shows {_MOST_RUNS} at most")
    runs = [chosen_trace(one) for one in given]
    target = output if output is not None else f"{runs[0].path.stem}.html"
    if target != "-":  # before the work is done
        demand_replaceable(Path(target), force)
    database = _database(db)
    facts = [_gathered(run, database) for run in runs]
    for one in facts:
        say_losses(line for line in one.losses if not line.endswith(SAMPLE))
    _put(page_of(facts, _names(runs)), target, force, count_text(len(facts), "run"))
    named = [] if traces is None else [str(runs[0].path)]
    next_command("iotune", "explain", *named, why="the same decisions as text")


def _write_site(folder: Path, target: str, force: bool) -> None:
    if target != "-":
        demand_replaceable(Path(target), force)
    found = site_of(folder)
    for line in found.left_out:
        say(line)
    if not found.workloads:
        raise Error(f"{folder}: no trace in it can be read")
    _put(site_page(found), target, force, count_text(len(found.runs), "run"))
    next_command("iotune", "report", "TRACE", why="one of them")


def _put(page: str, target: str, force: bool, what: str) -> None:
    if target == "-":
        document(page)
        return
    write_text(Path(target), page, force)
    size = size_text(len(page.encode("utf-8", "surrogateescape")))
    say(f"report: {what} in {path_text(target)} ({size}); open it in a browser")


def _names(runs: list[Trace]) -> list[str]:
    """Names that tell the traces apart: the files' own, else their paths."""
    short = [run.path.name for run in runs]
    return short if len(set(short)) == len(short) else [str(run.path) for run in runs]


def _database(db: Optional[Path]) -> Optional[core.Database]:
    from iotune.cli.db import opened

    try:
        return opened(db, reads=True, own=True)
    except Error as problem:
        say(f"no comparison with earlier runs: {problem}")
        return None


def _gathered(run: Trace, database: Optional[core.Database]) -> RunFacts:
    with _findings_beside(run) as findings:
        watch = watcher()
        if watch is None:
            return gather(run, database, findings=findings)
        return _watched(run, database, findings, watch)


@contextlib.contextmanager
def _findings_beside(run: Trace) -> Iterator[Look]:
    """How to get the findings: of many calls a process of its own looks for them meanwhile."""
    if run.summary.calls < _CALLS_FOR_TWO or len(os.sched_getaffinity(0)) < 2:
        yield lambda: findings_of(run)
        return
    # Forked before any thread of a progress bar is there.
    pool = futures.ProcessPoolExecutor(1, multiprocessing.get_context("fork"))
    try:
        made = pool.submit(_findings_in, run.path)
        yield made.result
    except BaseException:
        # Else the pool waits for what nobody wants any more.
        for worker in multiprocessing.active_children():
            worker.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _findings_in(path: Path) -> Findings:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the command's own handler is for it alone
    return findings_of(open_trace(path))


def _watched(
    run: Trace,
    database: Optional[core.Database],
    findings: Look,
    watch: Callable[[Iterator[int], int], None],
) -> RunFacts:
    """gather() in a thread of its own, so that this one can draw how far it is."""
    reported: queue.SimpleQueue[int] = queue.SimpleQueue()
    unwanted = threading.Event()

    def tell(calls: int) -> None:
        if unwanted.is_set():
            raise Error("left off")
        reported.put(calls)

    with futures.ThreadPoolExecutor(1) as pool:
        made = pool.submit(gather, run, database, tell, findings)
        made.add_done_callback(lambda _: reported.put(-1))
        try:
            watch(iter(reported.get, -1), run.summary.calls)
        except BaseException:
            unwanted.set()
            raise
        return made.result()
