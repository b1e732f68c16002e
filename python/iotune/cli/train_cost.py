"""What a training takes and pays, and what of it is kept while it goes on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from iotune import core
from iotune.cli.output import (
    Column,
    count_text,
    data,
    next_command,
    print_json,
    say,
    seconds_text,
    size_text,
    table,
)
from iotune.errors import Error
from iotune.models.cases import Case, plan_of_case, shape_of, trace_of_case
from iotune.models.measuring.noise import noise_of
from iotune.models.options import Options
from iotune.models.outcome import Outcome
from iotune.models.replays.run_journal import RunJournal, journal_of
from iotune.models.settings.allowed import question_of
from iotune.models.settings.prospects import (
    Prospect,
    prospect_of,
    prospect_of_case,
    shape_of_pattern,
)
from iotune.models.settings.reach import taken_parameters
from iotune.models.settings.storage import on_storage
from iotune.models.survey.stored import of_database
from iotune.models.train_plan import Estimate, directory_of, estimate

PROOF_SECONDS = 120.0  # at most, of one setting; most take less
ROUNDS = 5  # where nothing is known of a platform's noise
_PLAN_COLUMNS = [
    Column("pattern", True), Column("descriptor"), Column("where"), Column("replays", True),
    Column("at most", True), Column("candidates", True),
]  # fmt: skip


def journal_of_case(options: Options, resume: bool, case: Case) -> RunJournal:
    """Of one pattern and platform, and how it is trained."""
    key = {
        "pattern": case.pattern.get("byte_key", case.descriptor),
        "platform": case.platform, "file": case.file, "run": case.run, "rounds": options.rounds,
        "method": options.method, "budget": options.budget,
        "chosen": [one.text for one in options.chosen],
    }  # fmt: skip
    return journal_of(key, resume)


def with_rounds(options: Options, case: Case, databases: Sequence[core.Database]) -> Options:
    """As many rounds as the noise of the case's platform asks for; ROUNDS where it is not known."""
    surfaces = [one for each in databases for one in of_database(each, case.platform)]
    noise = noise_of(surfaces)
    if noise is None or options.chosen:
        return options
    rounds = noise.rounds()
    say(f"{noise.text()} here: {rounds} rounds find a gain of a tenth nine times of ten")
    return replace(options, rounds=rounds)


def program_seconds_of(case: Case) -> float:
    """Of the run that showed the case, from its first call to its last; 0: its trace is gone."""
    trace = trace_of_case(case)
    return trace.summary.elapsed_seconds if trace is not None else 0.0


def cost_text(
    outcomes: Sequence[Outcome], passed_seconds: float, program_seconds: float = 0.0
) -> str:
    """Replays, bytes and time of one group, and after how many runs of the program that pays.

    `program_seconds`: of one run of the program, which the time is also compared with; 0: unknown.
    """
    runs = max((one.runs for one in outcomes), default=0)  # those measured together share them
    moved_bytes = max((one.moved_bytes for one in outcomes), default=0)
    spent = (
        f"spent {count_text(runs, 'replay')}, {size_text(moved_bytes)}, "
        f"{_time_text(passed_seconds)}"
    )
    if program_seconds > 0:
        runs_of_program = max(1, math.ceil(passed_seconds / program_seconds))
        spent += f" (as long as {count_text(runs_of_program, 'run')} of the program)"
    saved_seconds = sum(
        one.case.seconds * (1 - 1 / one.confirmed.ratio)
        for one in outcomes
        if one.winner is not None and one.confirmed is not None
    )
    if saved_seconds <= 0:
        return spent
    pays = max(1, math.ceil(passed_seconds / saved_seconds))
    return (
        f"{spent}; it saves {seconds_text(saved_seconds)} of I/O a run, "
        f"which pays after {count_text(pays, 'run')}"
    )


def prospect_of_group(cases: Sequence[Case], options: Options, database: Path) -> Prospect:
    """What there is to try and to prove for the last of a group, as far as its numbers say."""
    try:
        question = question_of(cases[-1], directory_of(cases[-1], options), database)
        return prospect_of_case(cases[-1], question, options.chosen)
    except Error:
        return Prospect()  # reported where the case is trained


def ahead_text(asked: Estimate, proofs: int) -> str:
    """What measuring a group takes at most."""
    replays = f"up to {count_text(asked.runs, 'replay')} in {rough_time(asked.seconds)}"
    if not proofs:
        return replays
    return (
        f"first the proof that {count_text(proofs, 'setting')} keep every byte, in up to "
        f"{rough_time(PROOF_SECONDS * proofs)}; then {replays}"
    )


def rough_time(seconds: float) -> str:
    """To the second, the minute or the tenth of an hour."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 5400:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h"


def print_plan(
    waiting: Sequence[tuple[Sequence[Case], Options]], database: Path, as_json: bool
) -> None:
    """What would be measured of groups of cases, at most; nothing is run or written."""
    plans: list[dict[str, Any]] = []
    for group, options in waiting:
        tried = [_candidates(case, options, database) for case in group]
        asked = estimate(group, options, len(tried[-1]))
        for case, candidates in zip(group, tried):
            plans.append(
                {
                    "pattern": case.id, "descriptor": case.descriptor,
                    "where": _where(case, options), "replays": asked.runs,
                    "seconds": round(asked.seconds, 1), "bytes": asked.moved_bytes,
                    "candidates": candidates,
                }
            )  # fmt: skip
    if as_json:
        print_json("train-plan", plans)
        return
    table(_PLAN_COLUMNS, [
        [str(one["pattern"]), one["descriptor"], one["where"], str(one["replays"]),
         _time_text(one["seconds"]), str(len(one["candidates"]))]
        for one in plans
    ])  # fmt: skip
    for one in plans:
        data(f"pattern {one['pattern']}:")
        for text in one["candidates"]:
            data(f"  {text}")
    next_command("iotune", "train", why="measures them")


def _where(case: Case, options: Options) -> str:
    try:
        return str(directory_of(case, options))
    except Error as problem:
        return str(problem)


def _candidates(case: Case, options: Options, database: Path) -> list[str]:
    if options.chosen:
        return [one.text for one in options.chosen]
    try:
        directory = directory_of(case, options)
        filesystem = core.filesystem_of(directory)
        if case.layer == "hdf5":
            shape = shape_of(case, plan_of_case(case), filesystem)
        else:
            shape = shape_of_pattern(case, filesystem)
        shape, _, _ = on_storage(shape, directory, case.nodes, options.latency_of)
        question = question_of(case, directory, database)
        found = prospect_of(shape, case.platform, question, taken_parameters(case))
    except Error as problem:
        return [f"none: {problem}"]
    if found.why_not:
        return [f"none: {found.why_not}"]
    return [one.text for one in found.candidates[: options.budget]]


def _time_text(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.1f} min"
