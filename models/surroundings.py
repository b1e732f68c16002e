"""What a run wrote just before a case's file: replayed too, for its bytes are still on their way.

A plot file of a megabyte waits behind a checkpoint's bytes, and gains by settings that bring it
nothing when it is replayed alone on storage that has nothing else to do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from iotune.plan import Plan, PlanFile
from iotune.plan_build import plan_bytes
from iotune.plan_trace import plan_of_trace
from iotune.summary import FilePattern, RunSummary
from iotune.trace import Trace

# Storage has written by then what was left of a file that is small enough to be replayed.
NEAR_SECONDS = 1.0
MOST_FILES = 8

Settings = Mapping[str, str]


@dataclass(frozen=True)
class Surrounded:
    """A plan of a case's own files and of those before them."""

    plan: Plan
    own: frozenset[int]  # of the plan's files: they get the candidates, and their time counts
    carried: Mapping[str, Settings]  # of the others by base name, the same in every arm

    @property
    def own_names(self) -> frozenset[str]:
        """Base names."""
        return frozenset(Path(self.plan.files[at].path).name for at in self.own)

    @property
    def others(self) -> list[str]:
        """Base names of the files before, in their order."""
        return [Path(one.path).name for at, one in enumerate(self.plan.files) if at not in self.own]


def alone(plan: Plan) -> Surrounded:
    """All of a plan's files are the case's own."""
    return Surrounded(plan, frozenset(range(len(plan.files))), {})


def files_before(run: RunSummary, path: str) -> list[FilePattern]:
    """Files that HDF5 wrote until just before `path` was opened, the latest first.

    A chain: what was closed NEAR_SECONDS before the first of them was opened is too long ago.
    """
    own = next((one for one in run.files if one.path == path), None)
    if own is None:
        return []
    found: list[FilePattern] = []
    begin_seconds = own.opened_at_seconds
    earlier = [one for one in run.files if one.opened_at_seconds < begin_seconds]
    for one in sorted(earlier, key=lambda one: -one.opened_at_seconds):
        end_seconds = one.opened_at_seconds + one.elapsed_seconds
        near = end_seconds + NEAR_SECONDS >= begin_seconds
        if near and one.declared and one.bytes_written > 0 and len(found) < MOST_FILES:
            found.append(one)
            begin_seconds = one.opened_at_seconds
    return found


def surrounded(
    trace: Trace, path: str, own: Plan, answers: Mapping[str, Settings], most_bytes: int
) -> Surrounded:
    """`own`, the plan of the run's file `path`, behind the files before it that fit.

    Those have the settings of `answers` (by path), else what they had in the run. A file that
    differs from the case's by its name alone (a series) is one of its own. Raises Error where the
    trace cannot be read.
    """
    found = files_before(trace.summary, path)
    if not found:
        return alone(own)
    whole, _ = plan_of_trace(trace, [one.path for one in found])
    parts = list(_fitting(whole, found, most_bytes - plan_bytes(own)))
    files = [*parts, *own.files]
    names = {Path(one.path).name for one in files}
    # In the replay they lie in one folder, and the settings are told apart by these names.
    if not parts or len(names) < len({one.path for one in files}) or not _printable(names):
        return alone(own)
    shapes = [replace(one, path="") for one in own.files]
    before = {at for at, one in enumerate(parts) if replace(one, path="") not in shapes}
    carried = _carried([parts[at] for at in sorted(before)], found, answers)
    return Surrounded(replace(own, files=files), frozenset(range(len(files))) - before, carried)


def _fitting(whole: Plan, found: list[FilePattern], room_bytes: int) -> Iterator[PlanFile]:
    """What of `found` (latest first) was created and fits, in the run's order, writes alone."""
    kept: set[str] = set()
    for one in found:
        parts = [part for part in whole.files if part.path == one.path]
        if not parts or not parts[0].create:
            continue
        room_bytes -= plan_bytes(replace(whole, files=parts))
        if room_bytes < 0:
            break
        kept.add(one.path)
    for part in whole.files:
        writes = [one for one in part.transfers if one.write]
        if part.path in kept and writes:
            yield replace(part, transfers=writes)


def _printable(names: set[str]) -> bool:
    return all(name.isprintable() for name in names)


def _carried(
    parts: list[PlanFile], found: list[FilePattern], answers: Mapping[str, Settings]
) -> dict[str, Settings]:
    of_run = {
        one.path: {
            setting.parameter: setting.wanted
            for setting in one.settings
            if setting.verdict.startswith("applied")
        }
        for one in found
    }
    shapes = [(replace(one, path=""), one.path) for one in parts]
    carried: dict[str, Settings] = {}
    for shape, path in shapes:
        # Of a series one file was trained, and the answer holds for all.
        trained = [other for like, other in shapes if like == shape and other in answers]
        settings = answers[trained[0]] if trained else of_run.get(path, {})
        if settings:
            carried[Path(path).name] = settings
    return carried
