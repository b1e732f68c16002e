"""Training: replay an untrained pattern under candidate settings, and store what is proven.

Every arm is the same replay (bench.py); a candidate differs from the default by the settings of
the pattern's own files alone.
"""

from __future__ import annotations

import platform as machine
import time
from collections.abc import Callable, Mapping, Sequence
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
from iotune.models.measuring.paired import AS_GOOD, STORED, compare_ranks, measure_rounds
from iotune.models.measuring.race import (
    DEFAULT,
    FEWEST_ROUNDS,
    MOST_JOINED,
    Race,
    joinable,
    most_runs,
)
from iotune.models.options import Options, Progress
from iotune.models.outcome import Measured, Outcome, trials_of
from iotune.models.replays.bench import TIMEOUT_SECONDS, Bench, ReplayBench
from iotune.models.replays.call_bench import CallBench, call_plan_of
from iotune.models.replays.preceding_files import PrecededPlan, as_own_files
from iotune.models.replays.stack import demand_same_storage
from iotune.models.settings.candidates import Candidate, Shape, candidates, refinements
from iotune.models.settings.prospects import why_nothing
from iotune.models.settings.reach import OutOfReach, taken_parameters, within_reach
from iotune.models.settings.space import space
from iotune.models.settings.storage import case_on_storage
from iotune.models.settings.unread import without_unread
from iotune.models.shortlist import FINALISTS, question_of, searched
from iotune.models.survey.trials import Surface
from iotune.models.train_plan import directory_of

from iotune import core
from iotune.errors import Error
from iotune.replay.mpi import Mpi, SerialHdf5
from iotune.replay.plan import Plan
from iotune.replay.plan_build import plan_bytes
from iotune.replay.replayer import room_of, scratch_directory
from iotune.traces.trace import open_trace

# A smaller gain is not worth a setting.
_WORTHWHILE = 1.02
# A replay under settings that are as far behind the default must not hold up the others: its start
# has so many seconds to itself.
_HOPELESS, _START_SECONDS = 4.0, 10.0
# Of a file without HDF5, which is not cut: some seventy replays write it.
_MOST_CALL_BYTES = 8 << 30
# The plan's own text, traces and XML are small beside its files.
_BESIDE_BYTES = 64 << 20


class OutOfTime(Error):
    """Options.until has passed."""


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

    def measured(replay: PrecededPlan) -> list[Outcome]:
        return _train(cases, plan, replay, directory, mpi, replayer, options, progress)

    try:
        return measured(replay)
    except (OutOfReach, OutOfTime):
        raise
    except Error as problem:
        if len(cases) > 1 or not replay.preceding_names:
            raise
        # What is the fault of another file must not keep this one from its answer.
        return measured(without_preceding_files(plan, problem))


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
    tried = _allowed(_within_reach(case, shape, options), case, directory, options)
    found = searched(case, of_case, replay, shape, directory, mpi, replayer, options, progress)
    # Candidates by mechanism run on beside those that the search found.
    tried = (*found.candidates, *(one for one in tried if one not in found.candidates))
    if found.candidates:
        tried = tried[: min(2 * FINALISTS, options.budget)]
    with scratch_directory(directory, plan_bytes(replay.plan) + _BESIDE_BYTES) as scratch:
        bench = Bench(case, replay, mpi, replayer, scratch)
        bench.journal = options.journal(case, [one.text for one in tried])
        partners = _partners(shape, tried, case, directory, options)
        allowed = frozenset(one.text for one in space(shape))
        outcome = _measure(bench, tried, partners, allowed, options, progress)
        _name_platform(outcome, bench, filesystem)
        nodes = open_trace(bench.trace_of(DEFAULT)).summary.nodes
        _close(bench, outcome)
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
            bench.journal = options.journal(case, [])
            shape = shape_of_calls(case, written.needed_bytes, filesystem)
            shape = case_on_storage(case, shape, directory, options)
            tried = _allowed(_within_reach(case, shape, options), case, directory, options)
            partners = _partners(shape, tried, case, directory, options)
            allowed = frozenset(one.text for one in space(shape))
            outcome = _measure(bench, tried, partners, allowed, options, progress)
            _name_platform(outcome, bench, filesystem)
            _close(bench, outcome)
    return outcome


def _close(bench: ReplayBench, outcome: Outcome) -> None:
    """What it took; its journal is of no more use."""
    outcome.runs, outcome.moved_bytes = bench.runs, bench.moved_bytes
    if bench.journal is not None:
        if bench.journal.resumed:
            outcome.notes.append(
                f"went on behind {bench.journal.resumed} measurements of one that was stopped"
            )
        bench.journal.done()


def _within_reach(case: Case, shape: Shape, options: Options) -> tuple[Candidate, ...]:
    """What is measured. Raises OutOfReach where the program would take none of it."""
    if options.chosen:
        return options.chosen
    taken = taken_parameters(case)
    # The budget is for those that are measured.
    most = options.budget if not taken else options.budget + len(taken) * options.budget
    # As many more as nobody may read here.
    found = without_unread(candidates(shape, 2 * most), case.platform)[:most]
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

    def bytes_of(member: tuple[Case, list[int]]) -> int:
        return plan_bytes(replace(plan, files=[files[at] for at in member[1]]))

    case, _ = max(members, key=bytes_of)
    if case is members[-1][0]:
        return case, plan
    return case, replace(plan, files=[one for one in files if one.path == case.file])


def _measure(
    bench: ReplayBench, tried: Sequence[Candidate], partners: Sequence[Candidate],
    allowed: frozenset[str], options: Options, progress: Progress,
) -> Outcome:  # fmt: skip
    """Race the candidates, then confirm the best. Chosen ones are all run in every round.

    The best may be joined by others of them and by `partners`, where `allowed` has both together.
    Where the time ends the race, what is fastest so far is confirmed in the time that was kept for
    that. Raises OutOfTime where that proves nothing.
    """
    progress("settling in", 1)
    began = time.monotonic()
    bench.settle()
    passed = time.monotonic() - began
    hopeless_seconds = min(TIMEOUT_SECONDS, _START_SECONDS + _HOPELESS * passed)
    progress("", 0)
    measured = {f"c{number}": Measured(one, "") for number, one in enumerate(tried)}

    race_began, runs_made = time.monotonic(), 0
    over = OutOfTime("the time that it may take is over")

    def time_is_over() -> bool:
        now = time.monotonic()
        confirming = 2 * options.rounds * (now - race_began) / max(1, runs_made)
        return now + (0 if options.chosen else confirming) > options.until

    def run(name: str) -> float | None:
        nonlocal runs_made
        seconds: float | None = None
        if time_is_over():
            raise over
        runs_made += 1
        if name == DEFAULT:
            seconds, _ = bench.measured(DEFAULT, Candidate())
        else:
            one = measured[name]
            # Who was not hopeless once may meet a tail.
            limit_seconds = TIMEOUT_SECONDS if one.effect else hopeless_seconds
            seconds, effect = bench.measured(name, one.candidate, limit_seconds)
            # The first of its runs tells: all of them carry the same settings.
            if seconds is None or not one.effect:
                one.effect = effect
        progress("", 0)
        leader = race.leader()
        if leader is not None:
            text = measured[leader[0]].candidate.text
            progress(f"measuring; best so far {leader[1]:.2f}x {text}", 0)
        return seconds if name == DEFAULT or measured[name].effect == "applied" else None

    def join(winner: str, others: Sequence[str]) -> list[str]:
        names: list[str] = []
        settings = measured[winner].candidate.settings
        for other in [*(measured[name].candidate for name in others), *partners]:
            both = joinable(settings, other.settings, allowed)
            if both is not None and len(names) < MOST_JOINED:
                names.append(f"c{len(measured)}")
                measured[names[-1]] = Measured(Candidate(both, "the best two together"), "")
        return names

    race = Race(run, options.seed)
    names = list(measured)
    # At most, without those that confirm.
    race_runs = most_runs(len(names), options.rounds) - 2 * options.rounds
    if options.chosen:
        race_runs = (1 + len(names)) * options.rounds
    progress("measuring", race_runs)
    in_time = True
    if options.chosen:
        finalists = names
        for _ in range(options.rounds):
            finalists = race.round(finalists)
            if not finalists:
                break
    else:
        try:
            finalists = race.run_all(names, options.rounds, join)
        except OutOfTime:
            if not race.rounds:
                raise
            in_time = False
            finalists = [name for name in measured if race.rounds_of(name)]
    for name, one in measured.items():
        if one.effect == "applied":
            one.gain = race.gain(name, len(measured))
    times = [one[DEFAULT] for one in race.rounds] if finalists else []
    outcome = Outcome(bench.case, {}, list(measured.values()), times, None, notes=list(bench.notes))
    outcome.trials = trials_of(race.rounds, measured)
    fewest = FEWEST_ROUNDS if in_time else 1
    best = to_confirm({name: measured[name] for name in finalists}, race.speed, fewest)
    if best is not None:
        raced = race.rounds_of(best)
        before = {name: [one[name] for one in raced] for name in (DEFAULT, best)}
        spare_rounds = max(0, race_runs - race.runs) // 2
        if not in_time:
            outcome.notes.append("the time ended the race: what was fastest so far was confirmed")
            spare_rounds = 0
        _confirm(outcome, bench, best, measured[best], before, options, spare_rounds, progress)
    if not in_time and outcome.winner is None:
        raise over
    return outcome


def to_confirm(
    finalists: Mapping[str, Measured], speed: Callable[[str], float], fewest: int = FEWEST_ROUNDS
) -> str | None:
    """The finalist worth rounds of its own; None where none was better than default by far enough.

    Of those with `fewest` rounds in the race.

    The fastest, not the one whose interval lies highest: after a few rounds that is luck, and
    the rounds to come prove it anyway.
    """
    raced = {
        name: one.gain
        for name, one in finalists.items()
        if one.gain is not None and one.gain.rounds >= fewest
    }
    fastest = max(map(speed, raced), default=0.0)
    if fastest < _WORTHWHILE:
        return None
    least = max(_WORTHWHILE, fastest * AS_GOOD)
    # Of those as good as the best the one that changes least: a setting needs a reason.
    return min(
        (len(finalists[name].candidate.settings), -speed(name), name)
        for name in raced
        if speed(name) >= least
    )[2]


def _arm(bench: ReplayBench, name: str, candidate: Candidate) -> Callable[[], float]:
    def run() -> float:
        seconds, effect = bench.measured(name, candidate)
        if seconds is None:
            raise Error(effect.removeprefix("failed: "))
        return seconds

    return run


def _confirm(
    outcome: Outcome, bench: ReplayBench, name: str, best: Measured,
    before: Mapping[str, list[float]], options: Options, spare_rounds: int, progress: Progress,
) -> None:  # fmt: skip
    """Measure the best candidate again, alone against default: what won by luck falls back.

    It is proven where it is better in these rounds, which did not choose it, and where all that it
    ran, those of the race (`before`) included, leave no doubt. The race alone flatters the best
    of many, and a few fresh rounds alone prove no gain below a fifth. Where they leave doubt, the
    rounds follow that the race was allowed and did not need.
    """
    arms = {
        DEFAULT: _arm(bench, DEFAULT, Candidate()), name: _arm(bench, name, best.candidate)
    }  # fmt: skip
    times: dict[str, list[float]] = {DEFAULT: [], name: []}
    for look, rounds in enumerate((options.rounds, spare_rounds)):
        if rounds == 0:
            break
        progress("confirming" if look == 0 else "confirming, in doubt", 2 * rounds)
        more = measure_rounds(arms, rounds, options.seed + 1 + look, lambda: progress("", 0))
        for arm, seconds in more.items():
            times[arm] += seconds
        fresh = compare_ranks(times[DEFAULT], times[name])
        gain = compare_ranks(before[DEFAULT] + times[DEFAULT], before[name] + times[name], STORED)
        proven = fresh.ratio >= _WORTHWHILE and gain.clears_one
        if proven or gain.ratio < _WORTHWHILE:
            break
    outcome.confirmed = gain
    if proven:
        outcome.winner, outcome.winning_arm = best, name
    else:
        outcome.notes.append(
            f"{best.candidate.text} won its first rounds and not the second "
            f"({fresh.ratio:.2f}x; of all {gain.rounds} {gain.low:.2f} to {gain.high:.2f})"
        )


def _name_platform(outcome: Outcome, bench: ReplayBench, filesystem: str) -> None:
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
    outcome.platform = measured
