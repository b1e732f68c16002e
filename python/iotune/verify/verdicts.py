"""Verdicts: which conflicts are properly synchronised, under each of four models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from iotune import core
from iotune.verify.conflicts import Conflicts, Place, conflicts_from, outputs_of, who_both

# By the keys of --json. The order is that of docs/explain/verify.md, the strictest promise first.
MODELS = {"posix": "POSIX", "commit": "commit", "session": "session", "mpiio": "MPI-IO"}
# What keeps less than POSIX, and the model that it keeps (docs/explain/verify.md, "It decides").
KEPT_BY = {"logstore": "mpiio", "gather": "mpiio", "cache": "session", "nfs": "session"}
_MPI_IO_ALONE = ("logstore", "gather")  # they concern no files but those of MPI-IO


@dataclass(frozen=True)
class Violation:
    """Conflicts of two kinds of calls that are not properly synchronised under one model."""

    model: str  # a key of MODELS
    kind: str
    first: str  # the calls, from the outermost to the one that moved the bytes
    second: str
    violations: int  # pairs
    pairs: int  # of the same calls in all
    missing: str  # what would make the example right
    example: tuple[Place, Place] | None  # the earlier one first where an order is known

    @property
    def is_metadata(self) -> bool:
        """Whether both are HDF5's own: within calls of HDF5 that move no dataset."""
        return self.example is not None and all(one.metadata for one in self.example)


@dataclass(frozen=True)
class FileVerdict:
    """A file with conflicts."""

    path: str
    pairs: int
    violations: dict[str, int]  # by model
    sites: tuple[Violation, ...]  # the most violations first

    def keeps(self, model: str) -> bool:
        """Whether all of its conflicts are properly synchronised."""
        return self.violations[model] == 0


@dataclass(frozen=True)
class Unknown:
    """What was recorded and counts as no order."""

    reason: str
    times: int
    process: int


@dataclass(frozen=True)
class Verdicts:
    """Of one trace, or of several jobs on the same files."""

    conflicts: Conflicts
    order_recorded: bool
    files: tuple[FileVerdict, ...]  # those with conflicts; violations mean nothing without order
    unknown: tuple[Unknown, ...]

    def broken(self, model: str) -> list[FileVerdict]:
        """The files that do not keep to the model."""
        return [one for one in self.files if not one.keeps(model)]

    def needing_more_than(self, service: str) -> list[FileVerdict]:
        """The files that need more than a service (KEPT_BY) keeps, of those that it concerns."""
        concerned = {
            one.path
            for one in self.conflicts.files
            if service not in _MPI_IO_ALONE
            or any("MPI_File" in site.first + site.second for site in one.sites)
        }
        return [one for one in self.broken(KEPT_BY[service]) if one.path in concerned]

    def of_file(self, path: str) -> FileVerdict | None:
        """None: it has no conflict, or no order was recorded."""
        found = [one for one in self.files if one.path == path]
        return found[0] if found and self.order_recorded else None

    def as_json(self) -> dict[str, Any]:
        """Plain values for `--json`."""
        rows = self.conflicts.as_json()
        for row, file in zip(rows["files"], self.conflicts.files):
            said = self.of_file(row["path"])
            row["metadata_pairs"] = file.metadata_pairs
            for site, one in zip(row["sites"], file.sites):
                site["metadata"] = one.is_metadata
            row["models"] = None
            row["violations"] = []
            if self.order_recorded:
                counts = said.violations if said else dict.fromkeys(MODELS, 0)
                row["models"] = {model: {"violations": n} for model, n in counts.items()}
                sites = said.sites if said else ()
                row["violations"] = [{**asdict(one), "metadata": one.is_metadata} for one in sites]
        unknown = [asdict(one) for one in self.unknown]
        return {**rows, "order_recorded": self.order_recorded, "unknown": unknown}


def verdicts_of(traces: Sequence[Path]) -> Verdicts:
    """Reads each process of the traces and replays their order. Raises Error."""
    found = core.verdicts([Path(one) for one in traces])
    outputs = outputs_of(traces)
    files = tuple(_file(one) for one in found.pop("verdicts") if one["path"] not in outputs)
    unknown = tuple(Unknown(**one) for one in found.pop("unknown"))
    recorded = found.pop("order_recorded")
    return Verdicts(conflicts_from(found, outputs), recorded, files, unknown)


def why_broken(file: FileVerdict, model: str) -> str:
    """The file's violations of a model that it breaks, the example and what is missing."""
    (site, *_) = [one for one in file.sites if one.model == model]
    text = f"{file.violations[model]:,} of {file.pairs:,} pairs of {file.path} need more"
    if site.example is not None:
        names = who_both(site.example)
        text += ": " + ", ".join(f"{who} {one.deed}" for who, one in zip(names, site.example))
    return f"{text}; {site.missing}" if site.missing else text


def _file(row: dict[str, Any]) -> FileVerdict:
    sites = [
        Violation(
            model=model, kind=site["kind"], first=site["first"], second=site["second"],
            violations=said["violations"], pairs=site["pairs"], missing=said["missing"],
            example=_example(said["example"]),
        )
        for site in row["sites"]
        for model, said in site["models"].items()
    ]  # fmt: skip
    sites.sort(key=lambda one: -one.violations)
    pairs = sum(site["pairs"] for site in row["sites"])
    return FileVerdict(row["path"], pairs, row["violations"], tuple(sites))


def _example(places: tuple[dict[str, Any], ...] | None) -> tuple[Place, Place] | None:
    if places is None:
        return None
    first, second = (Place(**one) for one in places)
    return first, second
