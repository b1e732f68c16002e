"""What conflicts and verdicts are in words, for the terminal and the report."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from iotune.reports.alike import FEWEST_FOLDED, joint_name, masked
from iotune.reports.tables import ranks_text
from iotune.verify.conflicts import FileConflicts, Place, SiteConflicts, who_both
from iotune.verify.verdicts import MODELS, FileVerdict, Verdicts, Violation


@dataclass(frozen=True)
class ViolationGroup:
    """Calls that are wrong under several models in the same number."""

    models: tuple[str, ...]  # as people name them
    one: Violation  # of the first of them
    missing: tuple[str, ...]  # each once

    @property
    def headline(self) -> str:
        """The models, how many pairs, and the calls."""
        one = self.one
        return (
            f"not synchronised under {', '.join(self.models)}: {one.violations:,} of "
            f"{one.pairs:,} {kind_text(one)} pairs, by {calls_text(one.first, one.second)}"
        )

    def example(self, several: bool = False) -> str:
        """Both places; empty where none is known. `several`: traces were asked for."""
        if self.one.example is None:
            return ""
        return f"such as {places_text(self.one.example, several, ', then ')}"


def kind_text(one: SiteConflicts | Violation) -> str:
    """The kind of a conflict, and whether it is HDF5's own."""
    return f"{one.kind} (HDF5's own metadata)" if one.is_metadata else one.kind


def violation_groups(said: FileVerdict) -> list[ViolationGroup]:
    """Of a file, those of the user's data before HDF5's own, of both the most violations first."""
    groups: dict[tuple[str, str, str, int], list[Violation]] = {}
    for one in sorted(said.sites, key=lambda one: one.is_metadata):
        groups.setdefault((one.kind, one.first, one.second, one.violations), []).append(one)
    return [
        ViolationGroup(
            tuple(MODELS[each.model] for each in group),
            group[0],
            tuple(dict.fromkeys(each.missing for each in group if each.missing)),
        )
        for group in groups.values()
    ]


def sites_in_order(file: FileConflicts) -> list[SiteConflicts]:
    """Those of the user's data before HDF5's own, of both the most pairs first."""
    return sorted(file.sites, key=lambda one: one.is_metadata)


@dataclass(frozen=True)
class Series:
    """Files of which the same is said, or one."""

    files: tuple[FileConflicts, ...]

    @property
    def first(self) -> FileConflicts:
        """The one that is shown for all."""
        return self.files[0]

    @property
    def name(self) -> str:
        """One path, with `#` for numbers in which they differ."""
        if len(self.files) == 1:
            return self.first.path
        paths = [one.path for one in self.files]
        return f"{joint_name(paths)} ({len(paths):,} files)"


def in_series(files: Iterable[FileConflicts], found: Verdicts) -> list[Series]:
    """Files whose paths differ by numbers alone, and nothing else of what is said of them."""
    groups: dict[Hashable, list[FileConflicts]] = {}
    for file in files:
        said = found.of_file(file.path)
        calls = tuple((one.kind, one.pairs, one.first, one.second) for one in file.sites)
        wrong = said and tuple((one.model, one.first, one.second, one.violations)
                               for one in said.sites)  # fmt: skip
        groups.setdefault((masked(file.path), file.ranks, calls, wrong), []).append(file)
    series = []
    for alike in groups.values():
        parts = [alike] if len(alike) >= FEWEST_FOLDED else [[one] for one in alike]
        series += [Series(tuple(part)) for part in parts]
    return series


def calls_text(first: str, second: str) -> str:
    """The calls of both sides, once where they are the same."""
    return first if first == second else f"{first}  and  {second}"


def places_text(example: tuple[Place, Place], several: bool, between: str) -> str:
    """Who did what on both sides; `several`: traces were asked for."""
    said = [
        f"{who}{f' of trace {place.trace + 1}' if several else ''} {place.deed}"
        for who, place in zip(who_both(example), example)
    ]
    return between.join(said)


def who_text(file: FileConflicts) -> str:
    """The processes that are in a conflict."""
    ranks = [one for one in file.ranks if one >= 0]
    if ranks == list(file.ranks):
        return ranks_text(ranks)
    return ", ".join(filter(None, [ranks_text(ranks), "processes without a rank"]))
