"""What conflicts and verdicts are in words, for the terminal and the report."""

from __future__ import annotations

from dataclasses import dataclass

from iotune.reports.tables import ranks_text
from iotune.verify.conflicts import FileConflicts, Place, SiteConflicts
from iotune.verify.verdicts import MODELS, FileVerdict, Violation


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
        places = ", then ".join(place_text(each, several) for each in self.one.example)
        return f"such as {places}"


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


def calls_text(first: str, second: str) -> str:
    """The calls of both sides, once where they are the same."""
    return first if first == second else f"{first}  and  {second}"


def place_text(place: Place, several: bool) -> str:
    """Who did what; `several`: traces were asked for."""
    of_trace = f" of trace {place.trace + 1}" if several else ""
    return f"{place.who}{of_trace} {place.deed}"


def who_text(file: FileConflicts) -> str:
    """The processes that are in a conflict."""
    ranks = [one for one in file.ranks if one >= 0]
    if ranks == list(file.ranks):
        return ranks_text(ranks)
    return ", ".join(filter(None, [ranks_text(ranks), "processes without a rank"]))
