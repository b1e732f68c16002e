"""What training has to try for a pattern, before anything is measured.

`iotune explain`, `iotune advise` and `iotune train` say the same of a file because all ask here.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from iotune.models.cases import NO_LIBRARY, OPENED_ANEW, Case, distributions
from iotune.models.replays.paged_file import page_bytes_of
from iotune.models.settings.candidates import Candidate, Shape, candidates
from iotune.models.settings.reach import taken_of, taken_parameters
from iotune.models.settings.unread import OMPIO, mpi_io_of, unread_by, without_unread

from iotune import core
from iotune.errors import Error
from iotune.replay.plan_trace import plan_of_trace
from iotune.traces.summary import DatasetPattern, FilePattern, RunSummary
from iotune.traces.trace import Trace

_MOST = 48  # candidates that are looked at
# What POSIX alone moves is observed from here on (patterndb/learn/observe.cpp).
LEAST_POSIX_BYTES = 4 << 20


@dataclass(frozen=True)
class Prospect:
    """What may be measured; where that is nothing, why not."""

    candidates: tuple[Candidate, ...] = ()
    unproven: tuple[tuple[str, str], ...] = ()  # (parameter, value) that a proof comes first of
    why_not: str = ""


def refusal_of(
    question: Mapping[str, Any], platform: Mapping[str, str], candidate: Candidate
) -> tuple[str, list[tuple[str, str]]]:
    """Why a candidate may not be tried whatever is proven ("": it may), and what is unproven."""
    for name in candidate.settings:
        library = unread_by(platform, name)
        if library:
            return f"{library} does not read {name}", []
    unproven = []
    asked = dict(question)
    if mpi_io_of(platform) == OMPIO:
        asked.setdefault("mpi_io", OMPIO)
    for one in core.gate_refusals(asked, candidate.settings):
        if not one["unproven_name"]:
            return str(one["reason"]), []
        unproven.append((str(one["unproven_name"]), str(one["unproven_value"])))
    return "", unproven


def prospect_of(
    shape: Shape,
    platform: Mapping[str, str],
    question: Mapping[str, Any],
    taken: Mapping[str, str],
) -> Prospect:
    """`question`: as the gate is asked; `taken`: what the program sets itself, and why."""
    found = without_unread(candidates(shape, _MOST), platform)
    if not found:
        return Prospect(why_not=why_nothing(shape, platform))
    kept: list[Candidate] = []
    unproven: dict[tuple[str, str], None] = {}
    why_not = ""
    for one in found:
        name = next((name for name in one.settings if name in taken), "")
        refusal, needed = (f"{name}: {taken[name]}", []) if name \
            else refusal_of(question, platform, one)  # fmt: skip
        if refusal:
            why_not = refusal
            continue
        kept.append(one)
        unproven.update(dict.fromkeys(needed))
    return Prospect(tuple(kept), tuple(unproven), "" if kept else why_not)


def why_nothing(shape: Shape, platform: Mapping[str, str]) -> str:
    """Why there is no candidate at all."""
    if candidates(shape, 1):
        return f"{mpi_io_of(platform)} reads none of the hints that may help such transfers"
    return f"no setting is known that helps such files on {shape.filesystem}"


def prospect_of_file(run: Trace, file: FilePattern) -> Prospect:
    """Of a file of a recorded run."""
    summary, dominant = run.summary, file.dominant
    if dominant is None:
        return Prospect(why_not="no transfer of it was recorded")
    layer = "hdf5" if file.declared else dominant.layer
    if layer == "posix" and (
        not summary.mpi or max(file.bytes_read, file.bytes_written) < LEAST_POSIX_BYTES
    ):
        return Prospect(
            why_not="files that POSIX alone moves are trained in MPI programs, from "
            f"{LEAST_POSIX_BYTES >> 20} MiB on"
        )
    folder = os.path.dirname(os.path.realpath(file.path))
    filesystem = core.filesystem_of(folder or "/")
    platform = {
        "filesystem": filesystem,
        "mpi": NO_LIBRARY if layer == "posix" else summary.mpi,
        "hdf5": summary.hdf5 if layer == "hdf5" else NO_LIBRARY,
    }
    question = {
        "layer": layer,
        "program": summary.program,
        "file": file.path,
        "filesystem": filesystem,
        "ranks": dominant.ranks,
        "mpi": summary.mpi if layer != "posix" else "",
        "hdf5": summary.hdf5 if layer == "hdf5" else "",
    }
    taken: dict[str, str] = {}
    with contextlib.suppress(Error):  # a trace whose calls cannot be read tells nothing
        taken = taken_of(run, file.path)
    try:
        found = [
            prospect_of(_shape(summary, file, one, layer, filesystem), platform, question, taken)
            for one in _of_each_direction(file, dominant)
        ]
        names = {name for one in found for each in one.candidates for name in each.settings}
        if names == {"chunk_cache"} and plan_of_trace(run, (file.path,))[0].keeps_no_dataset_open:
            return Prospect(why_not=OPENED_ANEW)
    except Error as problem:
        return Prospect(why_not=str(problem))
    # Each direction has an answer of its own.
    kept = tuple(each for one in found for each in one.candidates)
    unproven = tuple(dict.fromkeys(each for one in found for each in one.unproven))
    return Prospect(kept, unproven, "" if kept else found[0].why_not)


def _of_each_direction(file: FilePattern, dominant: DatasetPattern) -> list[DatasetPattern]:
    """The dominant dataset where the file is written, and where it is read."""
    alike = [one for one in file.datasets if one.layer == dominant.layer]
    others = [one for one in alike if one.write != dominant.write]
    return [dominant, *sorted(others, key=lambda one: -one.bytes)[:1]]


def _shape(
    run: RunSummary, file: FilePattern, dominant: DatasetPattern, layer: str, filesystem: str
) -> Shape:
    return Shape(
        write=dominant.write,
        collective=layer != "posix" and dominant.mode in ("collective", "mixed"),
        distributions=distributions(dominant.descriptor)[0],
        ranks=1 if layer == "posix" else dominant.ranks,
        file_bytes=max(file.bytes_read, file.bytes_written),
        chunk=tuple(dominant.chunk),
        dimensions=tuple(dominant.dataset_dims),
        element_bytes=dominant.element_bytes,
        filesystem=filesystem,
        layer=layer,
        mpi=run.mpi,
        page_bytes=page_bytes_of(file.path) if layer == "hdf5" and not dominant.write else 0,
        datasets=max(1, file.speaker_count),
    )


def prospect_of_case(
    case: Case, question: Mapping[str, Any], chosen: Sequence[Candidate] = ()
) -> Prospect:
    """Of an untrained pattern, by its numbers alone. `chosen`: candidates that the user names."""
    if chosen:
        needed = [refusal_of(question, case.platform, one)[1] for one in chosen]
        return Prospect(tuple(chosen), tuple(dict.fromkeys(one for each in needed for one in each)))
    shape = shape_of_pattern(case, str(question["filesystem"]))
    try:
        return prospect_of(shape, case.platform, question, taken_parameters(case))
    except Error as problem:
        return Prospect(why_not=str(problem))


def shape_of_pattern(case: Case, filesystem: str) -> Shape:
    """What candidates depend on, by the pattern's numbers alone."""
    pattern = case.pattern
    dimensions = tuple(pattern.get("dataset_dims", ()))
    return Shape(
        write=case.write,
        collective=case.layer != "posix" and pattern.get("mode") in ("collective", "mixed"),
        distributions=distributions(case.descriptor)[0],
        ranks=1 if case.layer == "posix" else case.ranks,
        file_bytes=case.datasets * math.prod(dimensions) * int(pattern.get("element_bytes", 1)),
        chunk=tuple(pattern.get("chunk", ())),
        dimensions=dimensions,
        element_bytes=int(pattern.get("element_bytes", 1)),
        filesystem=filesystem,
        layer=case.layer,
        mpi=case.platform.get("mpi", ""),
        datasets=case.datasets,
    )
