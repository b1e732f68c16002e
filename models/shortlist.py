"""Which candidates are worth a race: a search over the whole space, with runs that are cheap.

Many settings share a replay (replays/many.py), so what a search asks for takes a fraction of what
the race takes that proves a winner. What it measured is kept: models learn from it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from iotune.models.cases import Case, stored_pattern
from iotune.models.options import Options, Progress
from iotune.models.replays.fidelity import SEARCH_BYTES, smaller_file
from iotune.models.replays.many import MOST_FILES, MOST_TOGETHER_BYTES, ManyBench
from iotune.models.replays.preceding_files import PrecededPlan
from iotune.models.search import Problem, make_search
from iotune.models.search.live import search_live
from iotune.models.settings.candidates import Candidate, Shape, reaches
from iotune.models.settings.reach import taken_parameters
from iotune.models.settings.space import space
from iotune.models.settings.unread import without_unread
from iotune.models.survey.costs import without_hopeless
from iotune.models.survey.trials import Subject, Trial

from iotune.replay.mpi import Mpi
from iotune.replay.plan import Plan
from iotune.replay.plan_build import plan_bytes, plan_of_pattern
from iotune.replay.replayer import scratch_directory

# Who goes into the race.
FINALISTS = 4


_BESIDE_BYTES = 64 << 20


@dataclass
class Shortlist:
    """What a search found."""

    candidates: list[Candidate]  # the most promising first, the default left out
    trials: list[Trial] = field(default_factory=list)
    runs: int = 0  # files replayed
    note: str = ""
    subject: Subject | None = None  # of the trials, where they are of a smaller file


@dataclass(frozen=True)
class _Looked:
    """The file on which a search looks at settings."""

    case: Case
    plan: Plan
    datasets: int
    share: float = 1.0  # of the whole file's bytes


def shortlist(
    case: Case, plan: Plan, points: Sequence[Candidate], mpi: Mpi, replayer: Path, scratch: Path,
    method: str, prior: object, runs: int, seed: int, is_over: Callable[[], bool],
    of_whole: object = None,
) -> Shortlist:  # fmt: skip
    """Search `points` (the default first) by at most `runs` files. Raises Error as replays do.

    `of_whole`: what is expected of the whole file, where `plan` is of a smaller one.
    """
    bench = ManyBench(case, plan, mpi, replayer, scratch, seed)
    bench.settle()
    found = Shortlist([])
    search = make_search(method, Problem([one.settings for one in points], prior), seed)
    batch = 0

    def measure(asked: Sequence[int]) -> list[float | None]:
        nonlocal batch
        seconds: list[float | None] = []
        for one in bench.measure([points[at] for at in asked]):
            trial = Trial(
                one.candidate.text, one.seconds, one.default_seconds, batch, one.effect
            )  # fmt: skip
            found.trials.append(trial)
            # Of one level in all replays: seconds over the default's of the same one.
            seconds.append(None if trial.ratio is None else 1.0 / trial.ratio)
        batch += 1
        return seconds

    found.runs = search_live(search, measure, runs, bench.most_candidates, is_over)
    order = search.ranked(of_whole)
    found.candidates = [points[at] for at in order if at != 0][:FINALISTS]
    found.note = (
        f"{method} looked at {len(search.seconds)} of {len(points)} settings in {found.runs} files"
    )
    return found


def question_of(plan: Plan, nodes: int) -> dict[str, int]:
    """What a pattern amounts to and runs on, for features (core.features)."""
    return {"nodes": nodes, "datasets": len(plan.files[0].datasets), "repeats": 1}


def searched(
    case: Case, plan: Plan, replay: PrecededPlan, shape: Shape, directory: Path, mpi: Mpi,
    replayer: Path, options: Options, progress: Progress,
) -> Shortlist:  # fmt: skip
    """What a search finds for the race; nothing where candidates by mechanism are raced at once."""
    if options.method == "race" or options.chosen:
        return Shortlist([])
    if len(replay.plan.files) != 1:
        return Shortlist([], note="several files belong together: raced without a search")
    taken = set(taken_parameters(case))
    points = [Candidate()]
    for one in without_unread(space(shape), case.platform):
        reachable = reaches(one, shape.layer) and not taken & set(one.settings)
        if reachable and not options.refusal(case, directory, one):
            points.append(one)
    if len(points) < 3:
        return Shortlist([])
    progress("searching", 1)
    question = question_of(plan, 1)
    subject = Subject(str(case.id), case.pattern, question, case.platform)
    points = without_hopeless(subject, points)
    texts = [one.text for one in points]
    of_whole = options.prior(case, question, case.platform, texts)
    looked = _looked_at(case, plan)
    prior, smaller = of_whole, looked.share < 1
    if smaller:
        question = {**question, "datasets": looked.datasets}
        prior = options.prior(looked.case, question, case.platform, texts)
    needed_bytes = plan_bytes(looked.plan) * MOST_FILES + _BESIDE_BYTES
    with scratch_directory(directory, min(needed_bytes, MOST_TOGETHER_BYTES)) as scratch:
        found = shortlist(
            looked.case, looked.plan, points, mpi, replayer, scratch, options.method, prior,
            options.search_runs, options.seed, lambda: time.monotonic() > options.until,
            of_whole if smaller else None,
        )  # fmt: skip
    if smaller:
        found.subject = Subject(
            f"{case.id} smaller", looked.case.pattern, question, case.platform
        )  # fmt: skip
        found.note += f", each with {100 * looked.share:.2g} % of the file's bytes"
    progress("", 0)
    return found


def _looked_at(case: Case, plan: Plan) -> _Looked:
    """A smaller file of the pattern where the whole one is large; else that."""
    datasets = len(plan.files[0].datasets)
    small = (
        smaller_file(case.pattern, datasets, SEARCH_BYTES)
        if plan_bytes(plan) > SEARCH_BYTES
        else None
    )
    if small is None:
        return _Looked(case, plan, datasets)
    of_small = Case(case.id, small.pattern, case.platform)
    small_plan = plan_of_pattern(stored_pattern(of_small), small.datasets)
    return _Looked(of_small, small_plan, small.datasets, small.share)
