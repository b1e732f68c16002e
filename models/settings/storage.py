"""What is known of the storage that a pattern is trained on, for its candidates."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from iotune.models.cases import Case
from iotune.models.settings.candidates import STRIPED, Shape, stripings_of
from iotune.models.settings.storage_targets import Targets, targets_of
from iotune.models.settings.stripes import Bound

from iotune.errors import Error

if TYPE_CHECKING:
    from iotune.models.latency.kept import KeptLatency
    from iotune.models.options import Options


# The fitted response times of a file system here; None where none are kept.
LatencyOf = Callable[[str], "KeptLatency | None"]


@functools.lru_cache(maxsize=64)
def _targets(directory: str, filesystem: str) -> Targets:
    return targets_of(Path(directory), filesystem)


def on_storage(
    shape: Shape, directory: Path, nodes: int, latency_of: LatencyOf = lambda _: None
) -> tuple[Shape, Bound, list[str]]:
    """The shape with its storage's targets, the bound, and what there is to tell."""
    if not shape.write or shape.filesystem not in STRIPED:
        return replace(shape, nodes=nodes), Bound(), []
    targets = _targets(str(directory), shape.filesystem)
    shape = replace(shape, nodes=nodes, targets=targets)
    reported = []
    if targets.count is None:
        reported.append(f"stripe counts are the usual ones: {targets.why_unknown}")
    bound = Bound()
    try:
        kept = latency_of(shape.filesystem)
        if kept is not None:
            from iotune.models.latency.stripe_bound import bound_of

            bound = bound_of(kept, shape.write, shape.file_bytes,
                             [one.count for one in stripings_of(shape)])  # fmt: skip
    except (Error, ImportError) as problem:
        reported.append(f"response times bound no stripe count: {problem}")
    if bound.text:
        reported.append(bound.text)
    return replace(shape, ruled_out_counts=bound.counts), bound, reported


def case_on_storage(case: Case, shape: Shape, directory: Path, options: Options) -> Shape:
    """The case's shape with what is known of the storage; the case's notes tell it."""
    shape, bound, reported = on_storage(shape, directory, case.nodes, options.latency_of)
    case.notes += reported
    case.bound = bound.text
    return shape
