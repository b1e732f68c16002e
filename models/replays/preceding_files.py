"""Files that a run wrote just before a case's file: replayed before it, as they fit.

Their bytes are still on their way to the storage when the case's file is opened. A plot file of a
megabyte waits behind a checkpoint's bytes, and gains by settings that bring it nothing when it is
replayed by itself on idle storage. Cases whose files follow each other so are measured as a group
(case_groups.py).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from iotune.models.replays.plan_cuts import cut_plan, only_direction

from iotune.replay.plan import Plan, PlanFile
from iotune.replay.plan_build import plan_bytes
from iotune.replay.plan_trace import plan_of_trace
from iotune.traces.summary import FilePattern, RunSummary
from iotune.traces.trace import Trace

# So long after its close the storage has the bytes of a file that is small enough to be replayed.
MOST_SECONDS_BETWEEN = 1.0
MOST_FILES = 8

Settings = Mapping[str, str]
# The settings that the database has for a file of a run; None where none was measured for it.
Answers = Callable[[RunSummary, FilePattern], Settings | None]


@dataclass(frozen=True)
class PrecededPlan:
    """A plan of a case's own files behind the files that its run wrote before them.

    The candidates' settings are for the case's own files, and only their time counts.
    """

    plan: Plan
    own: frozenset[int]  # numbers of the case's own files in the plan
    preceding_settings: Mapping[str, Settings]  # of the others by base name, the same in every arm
    notes: tuple[str, ...] = ()

    def parts_of(self, path: str) -> list[int]:
        """Those of `own` that are this file, or differ from it by their names alone (a series)."""
        shapes = [_without_name(one) for one in self.plan.files if one.path == path]
        return [at for at in sorted(self.own) if _without_name(self.plan.files[at]) in shapes]

    @property
    def own_names(self) -> frozenset[str]:
        """Base names."""
        return frozenset(Path(self.plan.files[at].path).name for at in self.own)

    @property
    def preceding_names(self) -> list[str]:
        """Base names of the files before the own ones, in the order of their first opens."""
        before = [one for at, one in enumerate(self.plan.files) if at not in self.own]
        return list(dict.fromkeys(Path(one.path).name for one in before))


def as_own_files(plan: Plan) -> PrecededPlan:
    """`plan` with nothing before it: all of its files are the case's own."""
    return PrecededPlan(plan, frozenset(range(len(plan.files))), {})


def _without_name(part: PlanFile) -> PlanFile:
    """`part` without its name, its datasets in the order of their paths.

    The order in which a run transferred them is luck where several ranks transfer independently.
    """
    order = sorted(range(len(part.datasets)), key=lambda at: part.datasets[at].path)
    number_of = {old: new for new, old in enumerate(order)}
    transfers = [replace(one, dataset=number_of[one.dataset]) for one in part.transfers]
    return replace(
        part,
        path="",
        datasets=[part.datasets[at] for at in order],
        transfers=sorted(transfers, key=lambda one: one.dataset),
    )


def files_written_before(run: RunSummary, path: str) -> list[FilePattern]:
    """Files that HDF5 wrote just before `path` was opened, on the same file system, latest first.

    Each was closed MOST_SECONDS_BETWEEN at most before the next one was opened. MOST_FILES at most.
    """
    own = next((one for one in run.files if one.path == path), None)
    if own is None:
        return []
    found: list[FilePattern] = []
    begin_seconds, device = own.opened_at_seconds, _device(path)
    earlier = [one for one in run.files if one.opened_at_seconds < begin_seconds]
    for one in sorted(earlier, key=lambda one: -one.opened_at_seconds):
        end_seconds = one.opened_at_seconds + one.elapsed_seconds
        near = end_seconds + MOST_SECONDS_BETWEEN >= begin_seconds
        written = one.declared and one.bytes_written > 0
        if near and written and len(found) < MOST_FILES and _device(one.path) == device:
            found.append(one)
            begin_seconds = one.opened_at_seconds
    return found


def _device(path: str) -> int:
    """The number of the file system on which `path` lies, or lay."""
    folder = Path(path).absolute().parent
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder.stat().st_dev


def with_preceding_files(
    trace: Trace, path: str, own: Plan, answers: Answers, most_bytes: int,
    members: Collection[str] = (),
) -> PrecededPlan:  # fmt: skip
    """`own`, the plan of the run's file `path`, behind the files before it that fit.

    Of the files before it, those in `members` (paths) are the case's own too. So is every file
    that differs from an own one by its name alone (a series). The others get the settings of
    `answers`, else those that they had in the run. The files' bytes are `most_bytes` at most.
    Raises Error where the trace cannot be read.
    """
    found = list(_of_distinct_names(files_written_before(trace.summary, path), path))
    if not found:
        return as_own_files(own)
    whole, _ = plan_of_trace(trace, [one.path for one in found])
    parts, notes = _fitting(whole, found, most_bytes - plan_bytes(own))
    files = [*parts, *own.files]
    if not parts:
        return as_own_files(own)
    own_parts = [*own.files, *(one for one in parts if one.path in members)]
    shapes = [_without_name(one) for one in own_parts]
    before = {at for at, one in enumerate(parts) if _without_name(one) not in shapes}
    paths = {parts[at].path for at in before}
    settings = _preceding_settings(
        trace.summary, [one for one in found if one.path in paths], answers
    )
    own_numbers = frozenset(range(len(files))) - before
    return PrecededPlan(replace(own, files=files), own_numbers, settings, notes)


def _of_distinct_names(found: list[FilePattern], path: str) -> Iterator[FilePattern]:
    """Files of other base names than `path` and than each other; of equal ones the latest.

    In the replay all files lie in one folder, and settings are given by base name.
    """
    names = {Path(path).name}
    if not Path(path).name.isprintable():
        return
    for one in found:
        name = Path(one.path).name
        if name.isprintable() and name not in names:
            names.add(name)
            yield one


def _fitting(
    whole: Plan, found: list[FilePattern], room_bytes: int
) -> tuple[list[PlanFile], tuple[str, ...]]:
    """The writes of the files of `found` (latest first) that the run created, and notes of cuts.

    They are in the run's order, of `room_bytes` at most: the latest file that does not fit whole is
    cut, and those before it are left out.
    """
    kept: list[PlanFile] = []
    notes: tuple[str, ...] = ()
    for one in found:
        parts = [part for part in whole.files if part.path == one.path]
        if not parts or not parts[0].create:
            continue
        # As in the file's own case: a part that opens the file again makes what it writes, for the
        # part that made it in the run may be cut.
        own = only_direction(replace(whole, files=parts), write=True)
        cut = cut_plan(own, room_bytes)
        if plan_bytes(cut) > room_bytes:
            break
        kept[:0] = cut.files
        room_bytes -= plan_bytes(cut)
        if cut is not own:
            whole_mib, cut_mib = plan_bytes(own) >> 20, plan_bytes(cut) >> 20
            notes = (f"{Path(one.path).name}: only {cut_mib} of {whole_mib} MiB are replayed",)
            break
    return kept, notes


def _preceding_settings(
    run: RunSummary, files: list[FilePattern], answers: Answers
) -> dict[str, Settings]:
    """By base name: what `answers` has for the file, else what the run applied to it."""
    found: dict[str, Settings] = {}
    for one in files:
        settings = answers(run, one)
        if settings is None:
            settings = {
                setting.parameter: setting.wanted
                for setting in one.settings
                # A dataset's setting gives its name as the reason, and the plan has its chunks.
                if setting.verdict.startswith("applied") and not setting.reason.startswith("/")
            }
        if settings:
            found[Path(one.path).name] = settings
    return found
