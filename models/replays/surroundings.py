"""What a run wrote just before a case's file: replayed too, for its bytes are still on their way.

A plot file of a megabyte waits behind a checkpoint's bytes, and gains by settings that bring it
nothing when it is replayed alone on storage that has nothing else to do. Cases whose files follow
each other so are measured together (case_groups.py).
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

# Storage has written by then what was left of a file that is small enough to be replayed.
NEAR_SECONDS = 1.0
MOST_FILES = 8

Settings = Mapping[str, str]
# What a run would be told at the open of a file; None: nothing that was measured for it.
Answers = Callable[[RunSummary, FilePattern], Settings | None]


@dataclass(frozen=True)
class Surrounded:
    """A plan of a case's own files and of those before them."""

    plan: Plan
    own: frozenset[int]  # of the plan's files: they get the candidates, and their time counts
    carried: Mapping[str, Settings]  # of the others by base name, the same in every arm
    notes: tuple[str, ...] = ()

    def parts_of(self, path: str) -> list[int]:
        """Those of `own` that are this file, or differ from it by their names alone (a series)."""
        shapes = [shape_of_part(one) for one in self.plan.files if one.path == path]
        return [at for at in sorted(self.own) if shape_of_part(self.plan.files[at]) in shapes]

    @property
    def own_names(self) -> frozenset[str]:
        """Base names."""
        return frozenset(Path(self.plan.files[at].path).name for at in self.own)

    @property
    def others(self) -> list[str]:
        """Base names of the files before, in the order of their first opens."""
        before = [one for at, one in enumerate(self.plan.files) if at not in self.own]
        return list(dict.fromkeys(Path(one.path).name for one in before))


def alone(plan: Plan) -> Surrounded:
    """All of a plan's files are the case's own."""
    return Surrounded(plan, frozenset(range(len(plan.files))), {})


def shape_of_part(part: PlanFile) -> PlanFile:
    """All of it but its name and the order of its datasets.

    In which order several ranks come to independent transfers is luck.
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


def files_before(run: RunSummary, path: str) -> list[FilePattern]:
    """Files that HDF5 wrote until just before `path` was opened on its storage, the latest first.

    A chain: what was closed NEAR_SECONDS before the first of them was opened is too long ago.
    """
    own = next((one for one in run.files if one.path == path), None)
    if own is None:
        return []
    found: list[FilePattern] = []
    begin_seconds, device = own.opened_at_seconds, _device(path)
    earlier = [one for one in run.files if one.opened_at_seconds < begin_seconds]
    for one in sorted(earlier, key=lambda one: -one.opened_at_seconds):
        end_seconds = one.opened_at_seconds + one.elapsed_seconds
        near = end_seconds + NEAR_SECONDS >= begin_seconds
        written = one.declared and one.bytes_written > 0
        if near and written and len(found) < MOST_FILES and _device(one.path) == device:
            found.append(one)
            begin_seconds = one.opened_at_seconds
    return found


def _device(path: str) -> int:
    """On which file system it lies, or lay."""
    folder = Path(path).absolute().parent
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder.stat().st_dev


def surrounded(
    trace: Trace, path: str, own: Plan, answers: Answers, most_bytes: int,
    members: Collection[str] = (),
) -> Surrounded:  # fmt: skip
    """`own`, the plan of the run's file `path`, behind the files before it that fit.

    Those have the settings of `answers`, else what they had in the run; `members` (paths) are
    measured too. A file that differs from a measured one by its name alone (a series) is
    measured with it. Raises Error where the trace cannot be read.
    """
    found = list(_told_apart(files_before(trace.summary, path), path))
    if not found:
        return alone(own)
    whole, _ = plan_of_trace(trace, [one.path for one in found])
    parts, notes = _fitting(whole, found, most_bytes - plan_bytes(own))
    files = [*parts, *own.files]
    if not parts:
        return alone(own)
    measured = [*own.files, *(one for one in parts if one.path in members)]
    shapes = [shape_of_part(one) for one in measured]
    before = {at for at, one in enumerate(parts) if shape_of_part(one) not in shapes}
    others = {parts[at].path for at in before}
    carried = _carried(trace.summary, [one for one in found if one.path in others], answers)
    is_own = frozenset(range(len(files))) - before
    return Surrounded(replace(own, files=files), is_own, carried, notes)


def _told_apart(found: list[FilePattern], path: str) -> Iterator[FilePattern]:
    """Those of other base names than `path` and each other, the latest of each.

    In the replay they lie in one folder, and the settings are told apart by these names.
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
    """What of `found` (latest first) was created, in the run's order, writes alone; what was cut.

    The first that does not fit whole is cut, and who came before it is left out.
    """
    kept: list[PlanFile] = []
    notes: tuple[str, ...] = ()
    for one in found:
        parts = [part for part in whole.files if part.path == one.path]
        if not parts or not parts[0].create:
            continue
        # As its own case replays it: a part that opens it again may be left without what it opens.
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


def _carried(run: RunSummary, others: list[FilePattern], answers: Answers) -> dict[str, Settings]:
    carried: dict[str, Settings] = {}
    for one in others:
        settings = answers(run, one)
        if settings is None:
            settings = {
                setting.parameter: setting.wanted
                for setting in one.settings
                # What was for a dataset names it; the plan has the chunks that it got.
                if setting.verdict.startswith("applied") and not setting.reason.startswith("/")
            }
        if settings:
            carried[Path(one.path).name] = settings
    return carried
