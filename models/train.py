"""Training: replay an untrained pattern under candidate settings, and store what is proven.

Every arm is the same replay (bench.py), or the same file of one (shared_rounds.py); a candidate
differs from the default by the settings of the pattern's own files alone.
"""

from __future__ import annotations

import platform as machine
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from iotune.models.case_groups import outcomes_of_group
from iotune.models.cases import (
    MOST_BYTES,
    NO_LIBRARY,
    Case,
    plan_of_case,
    preceded_plan_of_case,
    shape_of,
    shape_of_calls,
    trace_of_case,
    without_preceding_files,
)
from iotune.models.contest import Contest, OutOfTime
from iotune.models.measuring.race import DEFAULT
from iotune.models.options import Options, Progress
from iotune.models.outcome import Outcome
from iotune.models.replays.bench import Bench, ReplayBench
from iotune.models.replays.call_bench import CallBench, call_plan_of
from iotune.models.replays.many import MOST_FILES, MOST_TOGETHER_BYTES
from iotune.models.replays.preceding_files import PrecededPlan, as_own_files
from iotune.models.replays.run_journal import RunJournal
from iotune.models.replays.shared_rounds import SharedRounds, can_share
from iotune.models.replays.stack import demand_same_storage
from iotune.models.settings.candidates import (
    Candidate,
    Shape,
    candidates,
    parse_candidate,
    refinements,
)
from iotune.models.settings.prospects import why_nothing
from iotune.models.settings.reach import OutOfReach, taken_parameters, within_reach
from iotune.models.settings.space import space
from iotune.models.settings.storage import case_on_storage
from iotune.models.settings.unread import without_unread
from iotune.models.shortlist import FINALISTS, Shortlist, question_of, searched
from iotune.models.survey.costs import without_hopeless
from iotune.models.survey.trials import Subject, Surface
from iotune.models.train_plan import directory_of

from iotune import core
from iotune.errors import Error
from iotune.replay.mpi import Mpi, SerialHdf5
from iotune.replay.plan import Plan
from iotune.replay.plan_build import plan_bytes
from iotune.replay.replayer import room_of, scratch_directory
from iotune.traces.trace import open_trace

# Of a file without HDF5, which is not cut: some seventy replays write it.
_MOST_CALL_BYTES = 8 << 30
# The plan's own text, traces and XML are small beside its files.
_BESIDE_BYTES = 64 << 20


def train_cases(
    cases: Sequence[Case], mpi: Mpi, replayer: Path, options: Options, progress: Progress
) -> list[Outcome]:
    """Measure cases of one of groups_of_cases(); return the outcomes of those that are settled.

    A single case is settled always. Raises Error where the last one cannot be replayed here.
    """
    last = cases[-1]
    for case in cases:
        case.notes.clear()  # of an attempt before
    directory = directory_of(last, options)
    plan = plan_of_case(last)
    filesystem = core.filesystem_of(directory)
    demand_same_storage(last, filesystem)
    # Where there is no room for the files before it, it is measured without them.
    room_bytes = room_of(directory)
    most_bytes = MOST_BYTES if room_bytes is None else min(MOST_BYTES, room_bytes - _BESIDE_BYTES)
    answers = options.answers(filesystem)
    if isinstance(mpi, SerialHdf5) and plan.ranks > 1:
        plan = plan.on_ranks(1)
        replay = as_own_files(plan)
    else:
        replay = preceded_plan_of_case(last, plan, answers, cases[:-1], most_bytes)
    place = (directory, mpi, replayer, options, progress)
    try:
        return _train(cases, plan, replay, *place)
    except (OutOfReach, OutOfTime):
        raise
    except Error as problem:
        if len(cases) > 1 or not replay.preceding_names:
            raise
        # What is the fault of another file must not keep this one from its answer.
        return _train(cases, plan, without_preceding_files(plan, problem), *place)


def _train(
    cases: Sequence[Case], plan: Plan, replay: PrecededPlan, directory: Path, mpi: Mpi,
    replayer: Path, options: Options, progress: Progress,
) -> list[Outcome]:  # fmt: skip
    """Measure `replay`, which has the files of `cases` as far as they fit: `plan` is the last's."""
    last, filesystem = cases[-1], core.filesystem_of(directory)
    members = [(one, replay.parts_of(one.file)) for one in cases[:-1]]
    members = [(one, parts) for one, parts in members if parts]
    members.append((last, replay.parts_of(plan.files[-1].path)))
    case, of_case = case_with_most_bytes(members, replay, plan)
    shape = case_on_storage(case, shape_of(case, of_case, filesystem), directory, options)
    journal = options.journal(case)
    tried = _of_stopped(journal, case, directory, options)
    found = Shortlist([])
    if not tried:
        tried = _worth_a_run(case, shape, directory, options)
        found = searched(case, of_case, replay, shape, directory, mpi, replayer, options, progress)
        # Candidates by mechanism run on beside those that the search found.
        tried = (*found.candidates, *(one for one in tried if one not in found.candidates))
        if found.candidates:
            tried = tried[: min(2 * FINALISTS, options.budget)]
    arms = 1 + len(tried)
    # Where many files at once find no room, they are replayed one by one.
    room_bytes = room_of(directory)
    files_bytes = min(plan_bytes(replay.plan) * MOST_FILES, MOST_TOGETHER_BYTES)
    shared_bytes = files_bytes + _BESIDE_BYTES
    shared = can_share(case, replay) and (room_bytes is None or shared_bytes <= room_bytes)
    needed_bytes = shared_bytes if shared else plan_bytes(replay.plan) + _BESIDE_BYTES
    with scratch_directory(directory, needed_bytes) as scratch:
        bench: ReplayBench
        if shared:
            bench = SharedRounds(case, replay, mpi, replayer, scratch, arms, options.seed)
        else:
            bench = Bench(case, replay, mpi, replayer, scratch)
        bench.journal = journal
        outcome = _measured(bench, case, shape, tried, directory, options, progress)
        nodes = open_trace(bench.trace_of(DEFAULT)).summary.nodes
    if found.note:
        outcome.notes.insert(0, found.note)
    outcome.question = question_of(of_case, nodes)
    if found.subject is None:
        outcome.trials += found.trials
    else:
        subject = replace(found.subject, platform=outcome.platform)
        outcome.smaller = Surface(subject, found.trials)
    if len(members) == 1:
        return [outcome]
    return outcomes_of_group(outcome, members, bench.file_seconds, options.seed)


def train_calls(
    case: Case, mpi: Mpi, replayer: Path, options: Options, progress: Progress
) -> Outcome:
    """Measure a case without HDF5 by its own calls; `replayer` is that of calls.

    Raises Error where they cannot be replayed here.
    """
    case.notes.clear()
    trace = trace_of_case(case)
    if trace is None:
        raise Error(
            "the run's trace is gone, and without HDF5 only that has its calls: run it again"
        )
    directory = directory_of(case, options)
    filesystem = core.filesystem_of(directory)
    demand_same_storage(case, filesystem)
    with scratch_directory(directory, _BESIDE_BYTES) as place:
        written = call_plan_of(case, trace, place / "calls")
        if written.needed_bytes > _MOST_CALL_BYTES:
            raise Error(
                f"its file has {written.needed_bytes >> 20} MiB, and calls are replayed whole: "
                f"up to {_MOST_CALL_BYTES >> 20}"
            )
        case.notes += written.notes
        with scratch_directory(directory, written.needed_bytes + _BESIDE_BYTES) as scratch:
            bench = CallBench(
                case, trace, place / "calls", written.needed_bytes, mpi, replayer, scratch
            )
            bench.journal = options.journal(case)
            shape = shape_of_calls(case, written.needed_bytes, filesystem)
            shape = case_on_storage(case, shape, directory, options)
            tried = _of_stopped(bench.journal, case, directory, options)
            tried = tried or _worth_a_run(case, shape, directory, options)
            return _measured(bench, case, shape, tried, directory, options, progress)


def _measured(
    bench: ReplayBench, case: Case, shape: Shape, tried: Sequence[Candidate], directory: Path,
    options: Options, progress: Progress,
) -> Outcome:  # fmt: skip
    """The best of them, with what that took; the bench's journal is of no more use then."""
    if bench.journal is not None:
        bench.journal.begin([one.text for one in tried])
    partners = _partners(shape, tried, case, directory, options)
    allowed = frozenset(one.text for one in space(shape))
    outcome = Contest(bench, tried, partners, allowed, options, progress).outcome()
    outcome.platform = _platform(bench, core.filesystem_of(directory))
    options.lessons.learn(outcome)
    outcome.runs, outcome.moved_bytes = bench.runs, bench.moved_bytes
    if bench.journal is not None:
        if bench.journal.resumed:
            outcome.notes.append(
                f"went on behind {bench.journal.resumed} measurements of one that was stopped"
            )
        bench.journal.done()
    return outcome


def _of_stopped(
    journal: RunJournal | None, case: Case, directory: Path, options: Options
) -> tuple[Candidate, ...]:
    """The candidates of a training that is resumed; none where there is no such."""
    if journal is None or not journal.resumed:
        return ()
    return _allowed(list(map(parse_candidate, journal.candidates)), case, directory, options)


def _worth_a_run(
    case: Case, shape: Shape, directory: Path, options: Options
) -> tuple[Candidate, ...]:
    """Candidates in the order in which they are raced. Raises OutOfReach where there is none."""
    tried = _allowed(_within_reach(case, shape, options), case, directory, options)
    return tried if options.chosen else options.lessons.applied_to(case, tried)


def _within_reach(case: Case, shape: Shape, options: Options) -> tuple[Candidate, ...]:
    """What is measured. Raises OutOfReach where the program would take none of it."""
    if options.chosen:
        return options.chosen
    taken = taken_parameters(case)
    # The budget is for those that are measured.
    most = options.budget if not taken else options.budget + len(taken) * options.budget
    # As many more as nobody may read here.
    found = without_unread(candidates(shape, 2 * most), case.platform)
    question = {"nodes": case.nodes, "datasets": case.datasets, "repeats": 1}
    subject = Subject(str(case.id), case.pattern, question, case.platform)
    found = without_hopeless(subject, found)[:most]
    if not found:
        raise OutOfReach(why_nothing(shape, case.platform))
    return tuple(within_reach(found, shape, taken)[: options.budget])


def _allowed(
    tried: Sequence[Candidate], case: Case, directory: Path, options: Options
) -> tuple[Candidate, ...]:
    """Those that may be tried; the case's notes say why others may not. Error where none may."""
    kept, reason = [], ""
    for one in tried:
        reason = options.refusal(case, directory, one)
        if reason:
            case.notes.append(f"{one.text} is not tried: {reason}")
        else:
            kept.append(one)
    if not kept and reason:
        raise OutOfReach(f"nothing may be set; of the last candidate: {reason}")
    return tuple(kept)


def _partners(
    shape: Shape, tried: Sequence[Candidate], case: Case, directory: Path, options: Options
) -> list[Candidate]:
    taken = set(taken_parameters(case))
    return [
        one
        for one in refinements(shape)
        if one not in tried
        and not taken & set(one.settings)
        and not options.refusal(case, directory, one)
    ]


def case_with_most_bytes(
    members: Sequence[tuple[Case, list[int]]], replay: PrecededPlan, plan: Plan
) -> tuple[Case, Plan]:
    """The case with the most bytes in the replay, and the plan of its file: `plan` is the last's.

    That is of one file of a series, by whose size candidates are chosen.
    """
    files = replay.plan.files

    case, _ = max(
        members, key=lambda one: plan_bytes(replace(plan, files=[files[at] for at in one[1]]))
    )
    if case is members[-1][0]:
        return case, plan
    return case, replace(plan, files=[one for one in files if one.path == case.file])


def _platform(bench: ReplayBench, filesystem: str) -> dict[str, str]:
    """The platform that was measured, as the replay's own trace tells it."""
    run = open_trace(bench.trace_of(DEFAULT)).summary
    asked = bench.case.platform
    measured = {
        "filesystem": filesystem,
        "mpi": run.mpi or asked.get("mpi", ""),
        "hdf5": run.hdf5 or asked.get("hdf5", ""),
        "host_class": machine.machine(),
    }
    # A replayer of calls is a program of MPI, whatever it replays.
    for name, layers in (("hdf5", ("mpiio", "posix")), ("mpi", ("posix",))):
        if bench.case.layer in layers:
            measured[name] = NO_LIBRARY
    return measured
