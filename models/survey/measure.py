"""Measure surfaces: seconds of a pattern's file under many settings, several times each."""

from __future__ import annotations

import math
import platform as machine
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from iotune.models.cases import Case, shape_of, stored_pattern
from iotune.models.gains.rows import counts_alike, features_of
from iotune.models.measuring.race import DEFAULT
from iotune.models.replays.arm_bench import TIMEOUT_SECONDS
from iotune.models.replays.many import ManyBench
from iotune.models.settings.candidates import STRIPED, Candidate, candidates
from iotune.models.settings.file_layout import striping_of
from iotune.models.settings.space import dense_space, space
from iotune.models.settings.storage import on_storage
from iotune.models.settings.unread import without_unread
from iotune.models.survey.beaten import beaten
from iotune.models.survey.costs import Costs
from iotune.models.survey.trials import Subject, Surface, Trial

from iotune import core
from iotune.errors import Error
from iotune.replay.mpi import Mpi
from iotune.replay.plan import Plan
from iotune.replay.plan_build import plan_of_pattern
from iotune.replay.replayer import find_replayer, scratch_directory
from iotune.traces.trace import open_trace

_BESIDE_BYTES = 64 << 20
_LAUNCH_SECONDS = 10.0
_FILES_TO_SETTLE = 4
_SCRATCH_BYTES = 900 << 20  # a replay's files (many.py)
_MOST_ALIKE = 6


@dataclass(frozen=True)
class Asked:
    """How much is measured of a pattern."""

    points: int | None = None  # drawn from the space; None: all of it
    repeats: int = 1
    dense: bool = False  # the larger space
    seed: int = 20151116
    until: float = math.inf  # monotonic
    most_failures: int = 1 << 30  # of settings, each of which may take minutes
    most_seconds: float = math.inf  # of one file at the default: slower ones are left out
    drops: bool = False  # settings whose interval lies below the best's are not repeated


class TooSlow(Error):
    """A file takes longer than Asked.most_seconds."""


Tell = Callable[[str], None]


class Keeper(Protocol):
    """Where trials go: a Journal, or a database."""

    @property
    def surfaces(self) -> dict[str, Surface]:
        """Those that are there, by name."""

    def add_subject(self, subject: Subject) -> Surface:
        """The subject's surface."""

    def add_trials(self, surface: Surface, trials: list[Trial]) -> None:
        """Kept when it returns."""


def measure_pattern(
    name: str, pattern: Mapping[str, Any], datasets: int, directory: Path, mpi: Mpi,
    journal: Keeper, asked: Asked, tell: Tell, is_over: Callable[[], bool] = lambda: False,
) -> Surface:  # fmt: skip
    """Measure what `asked` wants and the journal does not have yet; each replay is kept at once.

    `name` tells the pattern on this platform from all others. Raises Error where it cannot be
    replayed there, TooSlow where that takes too long.
    """
    case = Case(0, dict(pattern), {})
    plan = plan_of_pattern(stored_pattern(case), datasets)
    known = journal.surfaces.get(name)
    points = _points(case, plan, directory, asked)
    if known is not None:
        case.platform = dict(known.subject.platform)
        points = _legal(points, case, directory / "many0.h5")
        if not _waiting(known, points, asked):
            return known
    with scratch_directory(directory, _SCRATCH_BYTES + _BESIDE_BYTES) as scratch:
        bench = ManyBench(case, plan, mpi, find_replayer(mpi), scratch, asked.seed)
        began = time.monotonic()
        limit_seconds = min(
            TIMEOUT_SECONDS, _LAUNCH_SECONDS + _FILES_TO_SETTLE * asked.most_seconds
        )
        try:
            bench.settle(limit_seconds)
        except Error as problem:
            if time.monotonic() - began >= limit_seconds < TIMEOUT_SECONDS:
                raise TooSlow(str(problem)) from None
            raise
        if bench.of_default > asked.most_seconds:
            raise TooSlow(
                f"a file takes {bench.of_default:.1f} s, more than {asked.most_seconds:.0f}"
            )
        run = open_trace(bench.trace_of(DEFAULT)).summary
        filesystem = core.filesystem_of(directory)
        question = {"nodes": run.nodes, "datasets": datasets, "repeats": 1}
        if filesystem in STRIPED:
            layout = striping_of(scratch / "files" / "many0.h5")
            question.update(
                striped=1,
                stripe_count=int(layout.get("striping_factor", 0)),
                stripe_bytes=int(layout.get("striping_unit", 0)),
            )
        platform = {
            "filesystem": filesystem, "mpi": run.mpi, "hdf5": run.hdf5,
            "host_class": machine.machine(),
        }  # fmt: skip
        case.platform = platform
        surface = journal.add_subject(Subject(name, dict(pattern), question, platform))
        points = _legal(points, case, scratch / "files" / "many0.h5")
        if asked.points is not None:
            points = _few_alike(points, surface.subject)
        draw = random.Random(f"{asked.seed} {name} {len(surface.trials)}")
        costs = Costs(surface.subject, points)
        while time.monotonic() < asked.until and not is_over():
            waiting = _waiting(surface, points, asked)
            if not waiting:
                break
            draw.shuffle(waiting)
            # Those with fewest times first, so that an early stop leaves an even surface.
            times = surface.ratios()
            waiting.sort(key=lambda one: len(times.get(one.text, ())))
            batch = surface.next_batch()
            chosen = costs.together(waiting, times, bench.most_candidates)
            try:
                found = bench.measure(chosen)
            except Error as problem:
                if bench.failures < asked.most_failures:
                    raise
                raise TooSlow(f"{bench.failures} settings failed, then: {problem}") from None
            if len(found) == 1:
                left_out = costs.as_hopeless(found[0], waiting)
                journal.add_trials(
                    surface, [Trial(one.text, None, (), batch, why) for one, why in left_out]
                )
            journal.add_trials(
                surface,
                [
                    Trial(
                        one.candidate.text,
                        one.seconds,
                        one.default_seconds,
                        batch,
                        one.effect,
                        one.counts,
                    )
                    for one in found
                ],
            )
            left = len(_waiting(surface, points, asked))
            tell(f"{name}: {left} of {len(points)} settings still to come")
    return surface


def _points(case: Case, plan: Plan, directory: Path, asked: Asked) -> list[Candidate]:
    shape = shape_of(case, plan, core.filesystem_of(directory))
    shape, _, _ = on_storage(shape, directory, case.nodes)
    found = dense_space(shape) if asked.dense else space(shape)
    if asked.points is not None and asked.points < len(found):
        # What mechanisms there are first, then values of their parameters.
        first = candidates(shape)[: asked.points]
        known = {one.text for one in first}
        others = [one for one in found if one.text not in known]
        draw = random.Random(f"{asked.seed} {case.descriptor}")
        found = [*first, *draw.sample(others, min(len(others), asked.points - len(first)))]
    return [Candidate(), *found]


def _legal(points: Sequence[Candidate], case: Case, file: Path) -> list[Candidate]:
    """Without those that are known to write or read wrong bytes with these libraries."""
    question = {
        "layer": "hdf5", "program": "iotune-replay", "file": str(file),
        "filesystem": case.platform["filesystem"], "ranks": case.ranks,
        "database": "none", "config": "",
        "mpi": case.platform["mpi"], "hdf5": case.platform["hdf5"],
    }  # fmt: skip
    return [
        one
        for one in without_unread(points, case.platform)
        if not any(
            not refused["unproven_name"] for refused in core.gate_refusals(question, one.settings)
        )
    ]


def _few_alike(points: Sequence[Candidate], subject: Subject) -> list[Candidate]:
    """Without most of the settings that change nothing that the cost model counts.

    Where all are such, as of independent writes in one piece, a survey would learn nothing else.
    """
    found = features_of(subject.pattern, subject.question, [one.text for one in points])
    if found is None:
        return list(points)
    alike = counts_alike(found)
    alike[0] = False  # the default
    return [one for one, of, before in zip(points, alike, np.cumsum(alike))
            if not of or before <= _MOST_ALIKE]  # fmt: skip


def _waiting(surface: Surface, points: Sequence[Candidate], asked: Asked) -> list[Candidate]:
    times, failed = surface.ratios(), surface.failed()
    out = {*failed, *(beaten(surface) if asked.drops else ())}
    return [
        one
        for one in points
        if one.text not in out and len(times.get(one.text, ())) < asked.repeats
    ]
