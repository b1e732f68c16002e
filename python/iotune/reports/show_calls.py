"""Prints calls as they are read: for people one line each, for programs one JSON object each."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from iotune import core
from iotune.reports.losses import say_losses
from iotune.reports.tables import count_text
from iotune.talk import printable, say
from iotune.traces.call_filter import CallFilter
from iotune.traces.calls import CallBatch, CallReader
from iotune.traces.trace import Trace

_BATCH_ROWS = 4096
_SHOWN = (*("rank", "process", "thread", "start_ns", "duration_ns", "time_kind", "level", "text"),)
_FOR_PROGRAMS = (
    *_SHOWN,
    *("layer", "call", "file", "dataset", "offset_bytes", "length_bytes", "result"),
    *("arguments", "selection", "transfers", "words"),
)


def show_calls(run: Trace, wanted: CallFilter, limit: int | None, as_json: bool) -> None:
    """Print the calls, then say what is missing."""
    columns = _FOR_PROGRAMS if as_json else _SHOWN
    reader = CallReader(run.path, wanted, columns, limit, _BATCH_ROWS)
    processes = core.processes(run.path)
    shown = 0
    for batch in reader:
        shown += batch.rows
        lines = (
            _json_lines(batch, processes, reader.run_start_unix_ns)
            if as_json
            else _text_lines(batch, processes, wanted, reader.run_start_unix_ns)
        )
        sys.stdout.writelines(printable(line) + "\n" for line in lines)
    sys.stdout.flush()
    say_losses(reader.losses)
    if shown == 0 and limit != 0:
        say_nothing_matches(run, wanted)


def call_line(
    start: float, seconds: float, time_kind: str, level: int, text: str, who: str = ""
) -> str:
    """One call as in the paper's figure 2: start, name (arguments) result, duration."""
    mark = "~" if time_kind in ("pattern", "bin") else ""
    return f"{who}{mark}{start:.6f} {'  ' * level}{text} {mark}{seconds:.6f}"


def _text_lines(
    batch: CallBatch, processes: list[dict[str, Any]], wanted: CallFilter, zero_ns: int
) -> Iterator[str]:
    prefixes = _prefixes(processes, wanted)
    columns = ("start_ns", "duration_ns", "time_kind", "level", "text", "process")
    for start_ns, duration_ns, kind, level, text, process in zip(
        *(batch.values(column) for column in columns)
    ):
        yield call_line(
            (zero_ns + start_ns) / 1e9, duration_ns / 1e9, kind, level, text, prefixes[process]
        )


def _prefixes(processes: list[dict[str, Any]], wanted: CallFilter) -> list[str]:
    """Who made a call, where more than one process may be shown."""
    shown = [
        one
        for one in processes
        if one["calls"] and (not wanted.ranks or _has_rank(wanted, one.get("rank", -1)))
    ]
    if len(shown) < 2:
        return [""] * len(processes)
    return [
        f"[{one['rank'] if one.get('rank', -1) >= 0 else one.get('pid', '?')}] "
        for one in processes
    ]


def _has_rank(wanted: CallFilter, rank: int) -> bool:
    return any(first <= rank <= last for first, last in wanted.ranks)


def _json_lines(batch: CallBatch, processes: list[dict[str, Any]], zero_ns: int) -> Iterator[str]:
    pids = [one.get("pid") for one in processes]
    for values in zip(*(batch.values(column) for column in _FOR_PROGRAMS)):
        row = dict(zip(_FOR_PROGRAMS, values))
        # These are JSON already.
        words, arguments, selection, transfers = (
            row.pop(name) for name in ("words", "arguments", "selection", "transfers")
        )
        start_ns, duration_ns, kind = row["start_ns"], row["duration_ns"], row["time_kind"]
        first = {
            "rank": row.pop("rank"),
            "pid": pids[row["process"]],
            "thread": row.pop("thread"),
            "start": (zero_ns + start_ns) / 1e9,
            "seconds": duration_ns / 1e9,
            "exact": kind not in ("pattern", "bin"),
            "layer": row.pop("layer"),
            "depth": row.pop("level"),
            "name": row.pop("call"),
            "text": row.pop("text"),
        }
        head = json.dumps({**first, **row})
        yield (
            f'{head[:-1]}, "arguments": {arguments}, "selection": {selection or "null"}, '
            f'"transfers": {transfers or "null"}, {words[1:]}'
        )


def say_nothing_matches(run: Trace, wanted: CallFilter) -> None:
    """Say that no call was found, and which ranks there are where they were asked for."""
    chosen = str(wanted)
    if not chosen:
        say("the trace has no calls")
        return
    ranks = sorted({int(one.get("rank", -1)) for one in core.processes(run.path)})
    there = ""
    if wanted.ranks and ranks:
        there = (
            f"; the trace has rank {ranks[0]}"
            if len(ranks) == 1
            else f"; the trace has {count_text(len(ranks), 'rank')}, {ranks[0]} to {ranks[-1]}"
        )
    say(f"no call matches {chosen}{there}")
