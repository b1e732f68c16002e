"""A case's writes that wait for each other, beside the same without: what `gather` would bring.

When others see the bytes is another then, so this is measured where it is asked for, and never
applied. Both arms replay the same calls.
"""

from __future__ import annotations

import functools
import statistics
from collections.abc import Callable
from pathlib import Path

from iotune.models.cases import Case, trace_of_case
from iotune.models.measuring.paired import compare_ranks, measure_rounds
from iotune.models.measuring.race import DEFAULT, FEWEST_ROUNDS
from iotune.models.options import Options
from iotune.models.replays.call_bench import CallBench, call_plan_of
from iotune.models.train_plan import directory_of

from iotune.database.offers import GatherOffer
from iotune.errors import Error
from iotune.replay.mpi import Mpi
from iotune.replay.replayer import scratch_directory
from iotune.traces.trace import open_trace

_GATHERED, _PIECEWISE = "gathered", "gathered, piece by piece"
# How what waited goes out: exchanged, as MPI-IO does by itself, or by each rank.
_FLUSHES: dict[str, dict[str, str]] = {
    _GATHERED: {},
    _PIECEWISE: {"romio_cb_write": "disable", "romio_ds_write": "disable"},
}
_BESIDE_BYTES = 64 << 20


def measure_gather(
    case: Case, mpi: Mpi, replayer: Path, options: Options, done: Callable[[], None] = lambda: None
) -> GatherOffer:
    """What `gather` would bring to the case; `replayer` is that of calls.

    Raises Error where none of its writes would wait, or where it cannot be replayed here.
    """
    if case.layer != "mpiio" or not case.write:
        raise Error("gather is measured of files that are written by MPI-IO")
    trace = trace_of_case(case)
    if trace is None:
        raise Error("the run's trace is gone, and only that has its calls: run it again")
    directory = directory_of(case, options)
    with scratch_directory(directory, _BESIDE_BYTES) as place:
        written = call_plan_of(case, trace, place / "calls")
        room = written.needed_bytes + _BESIDE_BYTES
        with scratch_directory(directory, room) as scratch:
            bench = CallBench(
                case, trace, place / "calls", written.needed_bytes, mpi, replayer, scratch
            )
            for flush in _FLUSHES:
                bench.services[flush] = {"IOTUNE_GATHER": "memory"}
            bench.settle()
            bench.run(_GATHERED, {})
            _demand_held(bench)

            def measured(*names: str) -> dict[str, list[float]]:
                arms = {
                    name: functools.partial(bench.run, name, _FLUSHES.get(name, {}))
                    for name in names
                }
                return measure_rounds(arms, max(options.rounds, FEWEST_ROUNDS), options.seed, done)

            # The gain is measured anew: to have been chosen has made the better one look good.
            flushed = measured(*_FLUSHES)
            best = min(_FLUSHES, key=lambda name: statistics.median(flushed[name]))
            seconds = measured(DEFAULT, best)
    return GatherOffer(
        compare_ranks(seconds[DEFAULT], seconds[best]),
        statistics.median(seconds[DEFAULT]),
        tuple(sorted(_FLUSHES[best].items())),
    )


def _demand_held(bench: CallBench) -> None:
    """Raise Error where no write of the last gathered replay waited, with the reasons."""
    files = open_trace(bench.trace_of(_GATHERED)).summary.files
    outcomes = [one.gather for one in files if one.gather is not None]
    if any(one.held_calls for one in outcomes):
        return
    reasons = sorted({reason for one in outcomes for reason in one.not_held})
    raise Error("none of its writes would wait" + (f": {'; '.join(reasons)}" if reasons else ""))
