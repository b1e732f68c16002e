"""The workers and epochs of a run, looked for only where there may be some.

Code that imports this has not imported NumPy yet: that takes longer than all of a usual
`iotune show`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iotune import core
from iotune.traces.summary import FilePattern, PrefetchOutcome, RunSummary

if TYPE_CHECKING:
    from iotune.analysis.epochs import Epoch
    from iotune.analysis.worker_processes import WorkerGroup

# Of a run of more calls nobody looks for epochs: commands are to be quick.
MOST_CALLS = 5_000_000


@dataclass(frozen=True)
class RunEpochs:
    """Of one run; both are empty where its data is read once, by ranks or by one process."""

    workers: tuple[WorkerGroup, ...] = ()  # the largest group first
    epochs: tuple[Epoch, ...] = ()  # in the order of their time

    def __bool__(self) -> bool:
        return bool(self.workers or self.epochs)

    def as_json(self) -> dict[str, Any]:
        """The fields `workers` and `epochs` of `iotune show --json`."""
        return {
            "workers": [
                {
                    "parent": one.parent,
                    "host": one.host,
                    "count": one.count,
                    "at_once": one.at_once,
                    "bytes": one.bytes,
                    "processes": list(one.processes),
                }
                for one in self.workers
            ],
            "epochs": [
                {**asdict(one), "seconds": one.seconds, "repeats_order": one.repeats_order}
                for one in self.epochs
            ],
        }


def run_epochs(trace: Path, run: RunSummary) -> RunEpochs:
    """The workers and epochs of a trace whose summary is `run`.

    Ranks of MPI are no workers. The calls are read only where several processes read, or some file
    was read more than once.
    """
    if run.mpi or run.ranks > 1 or run.calls > MOST_CALLS or not _may_have_epochs(run):
        return RunEpochs()
    from iotune.analysis.epochs import epochs_of, outermost_reads
    from iotune.analysis.worker_processes import worker_groups

    reads = outermost_reads(trace)
    if reads is None:
        return RunEpochs()
    groups = worker_groups(core.processes(trace), reads) if run.processes > 1 else []
    return RunEpochs(tuple(groups), tuple(epochs_of(reads)))


def prefetched_in_all(run: RunSummary) -> PrefetchOutcome | None:
    """What was read ahead, over all files; None where nothing was asked for ahead of a read."""
    return prefetched_together(run.files)


def prefetched_together(files: Iterable[FilePattern]) -> PrefetchOutcome | None:
    """The same of these files alone."""
    reported = [one.prefetch for one in files if one.prefetch is not None]
    if not reported:
        return None
    names = ("streams", "reads", "hits", "late", "served", "requests", "requested_bytes",
             "unused_bytes", "wait_seconds", "saved_seconds")  # fmt: skip
    sums = {name: sum(getattr(one, name) for one in reported) for name in names}
    return PrefetchOutcome(
        predictor=reported[0].predictor, depth=max(one.depth for one in reported), **sums
    )


def _may_have_epochs(run: RunSummary) -> bool:
    if not any(one.bytes_read for one in run.files):
        return False
    return run.processes > 1 or any(_is_read_again(one) for one in run.files)


def _is_read_again(file: FilePattern) -> bool:
    """Whether more was read of a file than it has, as far as its patterns say."""
    for one in file.datasets:
        whole = one.element_bytes
        for extent in one.dataset_dims:
            whole *= extent
        if not one.write and (one.repeats > 1 or one.bytes > 3 * whole // 2 > 0):
            return True
    return False
