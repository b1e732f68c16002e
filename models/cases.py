"""What is to be trained: a pattern, where it ran, and a plan that shows it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from iotune.models.replays.paged_file import page_bytes_of
from iotune.models.replays.plan_cuts import cut_plan, only_direction
from iotune.models.replays.preceding_files import (
    Answers,
    PrecededPlan,
    as_own_files,
    with_preceding_files,
)
from iotune.models.settings.candidates import Shape
from iotune.models.settings.chunk_caches import chunks_in_use, default_cache_bytes

from iotune import core
from iotune.errors import Error
from iotune.replay.plan import Plan
from iotune.replay.plan_build import StoredPattern, plan_bytes, plan_of_pattern
from iotune.replay.plan_trace import plan_of_trace
from iotune.traces.trace import Trace, open_trace

# A replay is done some seventy times: a checkpoint of many gigabytes is cut to its beginning.
MOST_BYTES = 512 * 1024 * 1024
# In a platform (patterndb/store/records.h).
NO_LIBRARY = "none"
OPENED_ANEW = (
    "the program opens its dataset anew for each transfer, which empties its chunk cache: keep it "
    "open"
)
# What they gain is lost when a program closes its dataset or its file.
_UNTIL_CLOSED = ("chunk_cache", "sieve_buf_size", "page_buffer", "mdc_size")


@dataclass
class Case:
    """One untrained pattern."""

    id: int
    pattern: dict[str, Any]  # as the database gives and takes it
    platform: dict[str, str]
    trace: str = ""
    run: str = ""  # that the trace is of
    file: str = ""  # of the run that showed it
    opened_unix_seconds: float = 0.0  # when that run opened it
    datasets: int = 1
    workload: tuple[str, str] = ("", "")  # program and file, as the database has them
    seconds: float = 0.0  # that the file took in the run
    nodes: int = 1
    taken_back: bool = False  # by the user's runs: what held before
    notes: list[str] = field(default_factory=list)
    # Parameters that no replay of it can measure, with the reason.
    unmeasurable: dict[str, str] = field(default_factory=dict)
    bound: str = ""  # which stripe counts response times ruled out, in words

    @property
    def descriptor(self) -> str:
        """Canonical."""
        return str(self.pattern["descriptor"])

    @property
    def write(self) -> bool:
        """The direction."""
        return str(self.pattern.get("op", "write")) == "write"

    @property
    def layer(self) -> str:
        """What its transfers went through: "hdf5", "mpiio" or "posix".

        Of files of the two others the database's platform says which libraries they do without.
        """
        if self.platform.get("hdf5") != NO_LIBRARY:
            return "hdf5"
        return "posix" if self.platform.get("mpi") == NO_LIBRARY else "mpiio"

    @property
    def named(self) -> str:
        """What is measured, in words: "for vpic-io vpic#.h5"."""
        return f"for {' '.join(self.workload)}" if self.workload[0] else ""

    @property
    def ranks(self) -> int:
        """With how many it ran."""
        return int(self.pattern.get("ranks", 1))


def case_of_row(row: Mapping[str, Any]) -> Case:
    """A case out of a row of Database.untrained()."""
    pattern = dict(row["pattern"])
    return Case(
        id=int(pattern["id"]),
        pattern=pattern,
        platform=dict(row["platform"]),
        trace=str(row["trace"]),
        run=str(row["run"]),
        file=str(row["file"]),
        opened_unix_seconds=float(row["observed_at"]),
        datasets=int(row["datasets"]),
        workload=(str(row["workload"]["program"]), str(row["workload"]["file"])),
        seconds=float(row["seconds"]),
        nodes=int(row["workload"].get("nodes", 1)),
        taken_back=row["state"] == "reverted",
    )


def plan_of_case(case: Case, most_bytes: int = MOST_BYTES) -> Plan:
    """A plan of the recorded run where its trace is still there, else of the pattern alone.

    Notes of what differs from the run are added to the case. Raises Error where neither can
    be had.
    """
    plan = _recorded(case)
    if plan is None:
        case.notes.append("the run's trace is gone: replayed as one transfer a dataset")
        why = "it hangs on how often the run opened its datasets, and its trace is gone"
        case.unmeasurable |= dict.fromkeys(_UNTIL_CLOSED, why)
        plan = plan_of_pattern(stored_pattern(case), max(1, case.datasets))
    elif plan.keeps_no_dataset_open:
        case.unmeasurable["chunk_cache"] = OPENED_ANEW
    cut = cut_plan(plan, most_bytes)
    if cut is not plan:
        case.notes.append(
            f"only {plan_bytes(cut) >> 20} of {plan_bytes(plan) >> 20} MiB are replayed"
        )
    return _in_pages(cut, case)


def _in_pages(plan: Plan, case: Case) -> Plan:
    """Files that are read are made as they are: HDF5 has a page buffer for paged ones alone."""
    if case.write or case.layer != "hdf5":
        return plan
    files = [
        replace(one, page_bytes=page_bytes_of(case.file if len(plan.files) == 1 else one.path))
        for one in plan.files
    ]
    return replace(plan, files=files)


def preceded_plan_of_case(
    case: Case, plan: Plan, answers: Answers, others: Sequence[Case] = (),
    most_bytes: int = MOST_BYTES,
) -> PrecededPlan:  # fmt: skip
    """`plan`, of plan_of_case(), behind the files that the run wrote just before; its notes say so.

    Files of `others`, the cases of its group, are measured with it.
    """
    trace = trace_of_case(case)
    if trace is None or not case.file:
        return as_own_files(plan)
    try:
        members = [one.file for one in others]
        found = with_preceding_files(trace, case.file, plan, answers, most_bytes, members)
    except (Error, OSError) as problem:
        return without_preceding_files(plan, problem)
    if found.preceding_names:
        names = [
            name
            + "".join(
                f" {one}={value}" for one, value in found.preceding_settings.get(name, {}).items()
            )
            for name in found.preceding_names
        ]
        note = f"replayed behind what the run wrote just before: {', '.join(names)}"
        found = replace(found, notes=(*found.notes, note))
    return found


def without_preceding_files(plan: Plan, problem: Exception) -> PrecededPlan:
    """`plan` by itself; its notes say that `problem` is why."""
    note = f"replayed without the files before it: {problem}"
    return replace(as_own_files(plan), notes=(note,))


def trace_of_case(case: Case) -> Trace | None:
    """The run's trace; None where it is gone or a later run has overwritten it."""
    if not case.trace or not Path(case.trace).is_file():
        return None
    try:
        trace = open_trace(case.trace)
        return None if case.run and trace.summary.run_id != case.run else trace
    except Error as problem:
        case.notes.append(str(problem))
        return None


def _recorded(case: Case) -> Plan | None:
    trace = trace_of_case(case)
    if trace is None:
        return None
    try:
        plan, notes = plan_of_trace(trace, (case.file,) if case.file else ())
    except Error as problem:
        case.notes.append(str(problem))
        return None
    plan = only_direction(plan, case.write)
    if not plan.files:
        return None
    case.notes += notes
    return plan


def distributions(descriptor: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Distributions and counts of a descriptor, by the native parser."""
    parsed = core.parse_descriptor(descriptor)
    names: list[str] = []
    counts: list[int] = []
    for one in parsed["dimensions"]:
        name = str(one["distribution"])
        block = int(one.get("cyclic_block", 1))
        names.append(f"CYCLIC({block})" if name == "CYCLIC(k)" else name)
        counts.append(int(one["count"]))
    return tuple(names), tuple(counts)


def stored_pattern(case: Case) -> StoredPattern:
    """The pattern's numbers."""
    names, counts = distributions(case.descriptor)
    pattern = case.pattern
    return StoredPattern(
        write=case.write,
        distributions=names,
        counts=counts,
        grid=tuple(pattern.get("grid", ())),
        dims=tuple(pattern.get("dataset_dims", ())),
        element_bytes=int(pattern["element_bytes"]),
        ranks=case.ranks,
        collective=pattern.get("mode") == "collective",
        chunk=tuple(pattern.get("chunk", ())),
        filters=int(pattern.get("filters", 0)),
    )


def shape_of(case: Case, plan: Plan, filesystem: str) -> Shape:
    """What candidates depend on."""
    names: Sequence[str] = distributions(case.descriptor)[0]
    return Shape(
        write=case.write,
        # A mixed file has collective transfers, and those have more to gain.
        collective=case.pattern.get("mode") in ("collective", "mixed"),
        distributions=tuple(names),
        ranks=case.ranks,
        file_bytes=plan_bytes(plan),
        chunk=tuple(case.pattern.get("chunk", ())),
        dimensions=tuple(case.pattern.get("dataset_dims", ())),
        element_bytes=int(case.pattern["element_bytes"]),
        filesystem=filesystem,
        mpi=case.platform.get("mpi", ""),
        page_bytes=plan.files[-1].page_bytes,
        datasets=case.datasets,
        chunks_in_use=_chunks_in_use(case, plan),
    )


def _chunks_in_use(case: Case, plan: Plan) -> int:
    if case.write or not case.pattern.get("chunk"):
        return 0
    return chunks_in_use(plan.files[-1], default_cache_bytes(case.platform.get("hdf5", "")))


def shape_of_calls(case: Case, file_bytes: int, filesystem: str) -> Shape:
    """What candidates of a case without HDF5 depend on."""
    return Shape(
        write=case.write,
        collective=case.layer == "mpiio" and case.pattern.get("mode") in ("collective", "mixed"),
        distributions=tuple(distributions(case.descriptor)[0]),
        # What only several ranks have together is nothing to POSIX.
        ranks=case.ranks if case.layer == "mpiio" else 1,
        file_bytes=file_bytes,
        element_bytes=int(case.pattern["element_bytes"]),
        filesystem=filesystem,
        layer=case.layer,
        mpi=case.platform.get("mpi", ""),
    )
