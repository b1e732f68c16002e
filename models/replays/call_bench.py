"""The replay of a case without HDF5: the program's own calls of MPI-IO or POSIX on its file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from iotune.models.cases import Case
from iotune.models.measuring.race import DEFAULT
from iotune.models.replays.arm_bench import TIMEOUT_SECONDS
from iotune.models.replays.bench import ReplayBench
from iotune.models.replays.warm_pages import pace_of
from iotune.models.settings.file_layout import striping_of

from iotune import core
from iotune.errors import Error
from iotune.replay.mpi import Mpi
from iotune.replay.plan_calls import CallPlan, write_call_plan
from iotune.replay.replayer import Replayed
from iotune.traces.trace import Trace


class CallBench(ReplayBench):
    """One file's calls, without the program's pauses, on a file that is made anew each time."""

    def __init__(
        self, case: Case, trace: Trace, plan: Path, plan_bytes: int, mpi: Mpi, replayer: Path,
        scratch: Path,
    ):  # fmt: skip
        """`plan`: what call_plan_of() wrote of the trace; its files have `plan_bytes`."""
        super().__init__(case, trace.summary.ranks, mpi, replayer, scratch)
        plan.replace(self.plan)
        self.options = ["--cold"]
        self._names = _file_names(self.plan)
        self.pace = pace_of(self.files, plan_bytes)

    @property
    def own_names(self) -> frozenset[str]:
        """The plan has no others."""
        return self._names

    def settle(self) -> None:
        """The first replay. Raises Error as run() does."""
        self.replayed(DEFAULT, "", TIMEOUT_SECONDS)
        self.demand_same_stack()
        if not self.case.write and striping_of(self.case.file):
            self.notes.append("what is read in the replay has the storage's own layout")

    def before_run(self) -> None:
        """Each replay makes its files anew."""

    def config(self, settings: Mapping[str, str]) -> str:
        """Of every file of the plan by its name: what is said of all is not for POSIX."""
        named = dict.fromkeys(self._names, dict(settings))
        return core.config_xml({}, named, forced=True) if settings else ""

    def seconds_of(self, name: str, result: Replayed) -> float:
        """All of it."""
        return result.seconds


def call_plan_of(case: Case, trace: Trace, to: Path) -> CallPlan:
    """Write the plan of the case's file. Raises Error where the trace has no call to replay."""
    with to.open("w", encoding="utf-8", errors="surrogateescape") as written:
        return write_call_plan(trace, written, only_file=case.file)


def _file_names(plan: Path) -> frozenset[str]:
    """Of `file F NAME BYTES`, which stand before all calls."""
    names: set[str] = set()
    with plan.open(encoding="utf-8", errors="surrogateescape") as lines:
        for line in lines:
            words = line.split()
            if words and words[0] == "file":
                names.add(words[2])
            elif names:
                break
    if not names:
        raise Error("a plan of calls without a file")
    return frozenset(names)
