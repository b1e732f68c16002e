"""Measure settings for patterns that have no answer yet, on the storage where they ran.

Each pattern is replayed with candidate settings against the default, in interleaved rounds of
random order. The best one is measured again, in rounds of its own, and
stored only if the interval of its gain lies above 1. Else the answer is "default is best".

  iotune train
  iotune train --for 10m --file 'plt*.h5'
  iotune train --candidates 'romio_cb_write=disable' --candidates 'cb_nodes=2;cb_config_list=*:2'
"""

import fnmatch
import functools
import json
import math
import os
import secrets
import sys
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Optional

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Column as BarField

from iotune import core
from iotune.cli.db import opened, settings_text
from iotune.cli.output import (
    Column,
    count_text,
    data,
    errors_in_one_line,
    next_command,
    print_json,
    say,
    seconds_text,
    table,
    value_of,
)
from iotune.cli.train_cost import (
    PROOF_SECONDS,
    ROUNDS,
    ahead_text,
    cost_text,
    journal_of_case,
    print_plan,
    program_seconds_of,
    prospect_of_group,
    rough_time,
    with_rounds,
)
from iotune.cli.train_method import RACE, checked, with_method
from iotune.cli.train_script import write_script
from iotune.cli.train_survey import run_survey
from iotune.errors import Error
from iotune.models.case_groups import groups_of_cases
from iotune.models.cases import Case, case_of_row
from iotune.models.contest import OutOfTime
from iotune.models.gains.after_training import fit_anew
from iotune.models.latency.kept import kept_of
from iotune.models.measuring.paired import Gain
from iotune.models.measuring.race import FEWEST_ROUNDS
from iotune.models.offers import OFFERED, offer_notes
from iotune.models.options import Options
from iotune.models.outcome import Outcome
from iotune.models.replays.stack import stack_of
from iotune.models.settings.allowed import Allowed
from iotune.models.settings.candidates import Candidate, parse_candidate
from iotune.models.settings.reach import OutOfReach
from iotune.models.survey.stored import add_trials
from iotune.models.train import train_calls, train_cases
from iotune.models.train_plan import Allowance, estimate
from iotune.quantities import budget_of, duration_seconds
from iotune.replay.mpi import Mpi
from iotune.replay.replayer import find_call_replayer, find_replayer
from iotune.reports.nothing_to_train import next_without_result, tell_nothing
from iotune.traces.summary import FilePattern, RunSummary

_CANDIDATES = 12
_COLUMNS = [Column("candidate"), Column("effect"), Column("gain", True), Column("interval")]


@errors_in_one_line
def command(
    db: Annotated[
        Optional[Path], typer.Option("--db", metavar="FILE", help="Use this database instead.")
    ] = None,
    rounds: Annotated[
        Optional[int],
        typer.Option(min=3, help="Rounds of each candidate. Default: as many as the noise needs."),
    ] = None,
    candidates: Annotated[
        Optional[list[str]],
        typer.Option(
            metavar="SETTINGS", help="Measure these: 'name=value;name=value'; may be repeated."
        ),
    ] = None,
    budget: Annotated[
        Optional[list[str]],
        typer.Option(
            metavar="LIMIT",
            help="At most 12 (candidates a pattern), 300runs, 8h, 20GiB; may be repeated.",
        ),
    ] = None,
    method: Annotated[
        Optional[str],
        typer.Option(
            metavar="NAME",
            help="How to choose candidates: race, ours, tpe … Default: by what is known here.",
        ),
    ] = None,
    is_survey: Annotated[
        bool, typer.Option("--survey", help="Measure drawn patterns, and fit a model to them.")
    ] = False,
    ranks: Annotated[
        Optional[list[int]],
        typer.Option(min=1, help="With --survey: ranks of its patterns; may be repeated."),
    ] = None,
    directory: Annotated[
        Optional[Path],
        typer.Option("--dir", metavar="DIR", help="Where to measure. Default: each file's folder."),
    ] = None,
    pattern: Annotated[
        Optional[int],
        typer.Option(metavar="ID", help="Only this pattern, by its ID in `iotune db list`."),
    ] = None,
    file: Annotated[
        Optional[str],
        typer.Option(metavar="GLOB", help="Only patterns of files with this path or name."),
    ] = None,
    most_time: Annotated[
        Optional[str],
        typer.Option("--for", metavar="TIME", help="Stop after this time: 10m, 1h30m."),
    ] = None,
    script: Annotated[
        Optional[Path],
        typer.Option(
            metavar="FILE", help="Write a batch script for the training instead of training now."
        ),
    ] = None,
    scheduler: Annotated[
        str,
        typer.Option(metavar="NAME", help="With --script: slurm, pbs, lsf, flux or a template."),
    ] = "slurm",
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue a training that was stopped.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be measured, and measure nothing.")
    ] = False,
    offer: Annotated[
        Optional[str],
        typer.Option(
            metavar="SETTING",
            help="layout=log or gather: measure the log store, or gathering, too; never applied.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Train."""
    if offer is not None and offer not in OFFERED:
        raise typer.BadParameter(
            f"{offer}: only {' and '.join(OFFERED)} are offered", param_hint="--offer"
        )
    chosen = _chosen(candidates or [])
    checked(method)
    with value_of("--budget"):
        limits = budget_of(budget or [])
    if most_time is not None:
        with value_of("--for"):
            limits.seconds = duration_seconds(most_time)
    database = opened(db)
    if is_survey:
        run_survey(database, directory, limits, ranks or [], as_json)
        return
    until = math.inf if limits.seconds is None else time.monotonic() + limits.seconds
    untrained = _without_answer([case_of_row(row) for row in database.untrained()], db)
    cases = [case for case in untrained if _is_chosen(case, pattern, file)]
    if not cases:
        if pattern is not None:
            database.show(pattern)  # raises where there is none
        tell_nothing(database, untrained, pattern, file, as_json)
        return
    options = Options(
        rounds or ROUNDS, limits.candidates or _CANDIDATES, chosen, directory, until=until,
        answers=lambda filesystem: functools.partial(answer_of, database, filesystem),
        latency_of=functools.partial(kept_of, _database_paths(db)),
    )  # fmt: skip
    if script is not None:
        write_script(cases, script, scheduler, sys.argv[sys.argv.index("train") + 1 :])
        return
    layers = _layers(database, db)
    path = db or core.default_database()
    ways = functools.partial(_own_way, options, method, rounds, layers)
    if dry_run:
        print_plan([(one, ways(one[-1])) for one in groups_of_cases(cases)], path, as_json)
        return
    results: list[dict[str, Any]] = []
    platforms: list[dict[str, str]] = []  # of which trials were stored
    waiting, failed, beyond_reach = groups_of_cases(cases), 0, True
    total = sum(
        estimate(group, replace(options, method=method or RACE)).seconds for group in waiting
    )
    of = f" of {len(untrained)}" if len(untrained) > len(cases) else ""
    # What is proven of one group holds for the others.
    total += PROOF_SECONDS * max(
        len(prospect_of_group(group, options, path).unproven) for group in waiting
    )
    say(f"{len(cases)}{of} pattern{'s' * (len(untrained) > 1)} to train, in up to "
        f"{rough_time(total)}")  # fmt: skip
    allowance = Allowance(limits.runs, limits.bytes)
    while waiting:
        if time.monotonic() > until:
            break
        group = waiting.pop(0)
        for number, case in enumerate(group, start=len(results) + failed + 1):
            say(
                f"pattern {case.id} ({number} of {len(cases)}): {case.descriptor}, "
                f"{'write' if case.write else 'read'}, {count_text(case.ranks, 'rank')}"
            )
        began = time.monotonic()
        try:
            own = ways(group[-1])
            own = replace(own, journal=functools.partial(journal_of_case, own, resume))
            ahead = prospect_of_group(group, own, path)
            if ahead.why_not and group[-1].layer != "hdf5":
                raise OutOfReach(ahead.why_not)
            asked = estimate(group, own, len(ahead.candidates))
            refusal = allowance.refusal(asked)
            if refusal:
                say(f"it takes {refusal}")
                break
            say(ahead_text(asked, len(ahead.unproven)))
            if len(group) > 1:
                say("their files were written one right after the other: measured together")
            outcomes = _measured(group, stack_of(group[-1]), own, database, db)
        except Error as problem:
            if len(group) > 1 and not isinstance(problem, OutOfTime):
                say(f"measured one by one: {problem}")
                waiting[:0] = [[case] for case in group]
            else:
                failed += len(group)
                beyond_reach = beyond_reach and isinstance(problem, OutOfReach)
                say(f"pattern {group[0].id} stays untrained: {problem}")
            continue
        for outcome in outcomes:
            case = outcome.case
            if offer is not None:
                outcome.notes += offer_notes(offer, outcome, stack_of(case), own, database)
            for note in [*case.notes, *outcome.notes]:
                say(note)
            results.append(as_dict(outcome))
            platforms.append(outcome.platform)
            if not as_json:
                _print(outcome)
        # Those that were measured together share their replays.
        allowance.spend(
            max((one.runs for one in outcomes), default=0),
            max((one.moved_bytes for one in outcomes), default=0),
        )
        say(cost_text(outcomes, time.monotonic() - began, program_seconds_of(group[-1])))
        settled = [outcome.case.id for outcome in outcomes]
        waiting[:0] = [[case] for case in group if case.id not in settled]
    fit_anew(layers, platforms)
    if as_json:
        print_json("train", results)
    settled_ids = {result["pattern"] for result in results}
    left = sum(case.id not in settled_ids for case in untrained)
    if left:
        say(f"{left} untrained still" + (": the time is over" if time.monotonic() > until else ""))
    if any(result["state"] == "tuned" for result in results):
        next_command("iotune", "run", "--", "...", why="the next run applies what was found")
    elif results:
        next_command("iotune", "advise", why="nothing to set was found: what the program may do")
    else:
        next_without_result(beyond_reach and failed > 0)
    if failed and not results:
        raise typer.Exit(1)


def _own_way(
    options: Options, method: Optional[str], rounds: Optional[int],
    layers: list[core.Database], case: Case,
) -> Options:  # fmt: skip
    """The options with the case's own method and rounds, where none were asked for."""
    own = with_method(options, method, case, layers)
    return own if rounds is not None else with_rounds(own, case, layers)


def _is_chosen(case: Case, pattern: Optional[int], file: Optional[str]) -> bool:
    if pattern is not None and case.id != pattern:
        return False
    return file is None or any(
        fnmatch.fnmatchcase(name, file) for name in (case.file, os.path.basename(case.file))
    )


def _without_answer(cases: list[Case], db: Optional[Path]) -> list[Case]:
    """Those that no lower database has an answer for either.

    What the user's runs have taken back is trained, whatever a lower one says of it.
    """
    sites = [
        core.Database(str(path), read_only=True)
        for path in (core.lower_databases() if db is None else [])
    ]

    def is_answered(case: Case) -> bool:
        key = str(case.pattern.get("byte_key", ""))
        found = [one for site in sites for one in site.query(key)["patterns"]]
        return not case.taken_back and any(
            all(answer["platform"].get(name) == value for name, value in case.platform.items()
                if name != "id")
            and answer["state"] != "untrained"
            for pattern in found for answer in pattern["answers"]
        )  # fmt: skip

    return [case for case in cases if not is_answered(case)]


def _layers(database: core.Database, db: Optional[Path]) -> list[core.Database]:
    """The user's own database, then those beneath: whose model is asked."""
    lower = core.lower_databases() if db is None else []
    return [database, *(core.Database(str(path), read_only=True) for path in lower)]


def _database_paths(db: Optional[Path]) -> list[Path]:
    return [db] if db is not None else [core.default_database(), *core.lower_databases()]


def _measured(
    group: list[Case], mpi: Mpi, options: Options, database: core.Database, db: Optional[Path]
) -> list[Outcome]:
    """Train, and keep what was found before anything else is begun."""
    with _Bar() as bar, ExitStack() as scratch:
        allowed = Allowed(mpi, database, db or core.default_database(), scratch, say)
        options = replace(options, refusal=allowed.refusal)
        if group[0].layer == "hdf5":
            outcomes = train_cases(group, mpi, find_replayer(mpi), options, bar.advance)
        else:
            replayer = find_call_replayer(mpi)
            outcomes = [train_calls(group[0], mpi, replayer, options, bar.advance)]
    for outcome in outcomes:
        database.add_tuning(outcome.as_tuning())
        trials = outcome.trials_json()
        if trials is not None:
            database.import_json(json.dumps(trials), "iotune train")
            session = f"train-{secrets.token_hex(6)}"
            if outcome.case.layer == "hdf5":
                add_trials(database, outcome.subject(), outcome.trials, session)
                if outcome.smaller is not None:
                    add_trials(database, outcome.smaller.subject, outcome.smaller.trials, session)
    return outcomes


def answer_of(
    database: core.Database, filesystem: str, run: RunSummary, file: FilePattern
) -> Optional[dict[str, str]]:
    """What the database tells a run for a file that it creates, where that was measured."""
    decision = database.decide(
        {
            "program": run.identity or run.program,
            "file": file.path,
            "mpi": run.mpi,
            "hdf5": run.hdf5,
            "filesystem": filesystem,
            "ranks": run.ranks,
            "nodes": run.nodes,
        }
    )
    # An answer that was taken back is one too: the next run sets nothing.
    return dict(decision["settings"]) if decision["source"] == "exact" else None


def _chosen(texts: list[str]) -> tuple[Candidate, ...]:
    try:
        found = tuple(parse_candidate(text) for text in texts)
    except ValueError as problem:
        raise typer.BadParameter(str(problem), param_hint="--candidates") from None
    for candidate in found:
        for name, value in candidate.settings.items():
            fault = core.fault_of_setting(name, value)
            if fault:
                raise typer.BadParameter(f"{name}={value} {fault}", param_hint="--candidates")
    return found


class _Bar:
    """A progress bar on stderr, where that is a terminal."""

    def __init__(self) -> None:
        self._progress = Progress(
            TextColumn(
                "iotune: {task.description}",
                markup=False,
                table_column=BarField(overflow="ellipsis", no_wrap=True, max_width=50),
            ),
            BarColumn(bar_width=10),
            MofNCompleteColumn(),
            TimeRemainingColumn(compact=True),
            console=Console(stderr=True),
            transient=True,
            disable=not sys.stderr.isatty(),
        )
        self._task = self._progress.add_task("", total=0)
        self._total = 0

    def __enter__(self) -> "_Bar":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def advance(self, what: str, more: int) -> None:
        """A phase begins, with so many measurements to come; or, without text, one is done."""
        if what:
            self._total += more
            self._progress.update(self._task, description=what, total=self._total)
        else:
            self._progress.advance(self._task)


def _gain(gain: Optional[Gain]) -> tuple[str, str]:
    if gain is None:
        return "–", ""
    if gain.rounds < FEWEST_ROUNDS:
        return f"{gain.ratio:.2f}x", f"{gain.rounds} round{'s' if gain.rounds > 1 else ''}"
    return f"{gain.ratio:.2f}x", f"{gain.low:.2f} to {gain.high:.2f}"


def as_dict(outcome: Outcome) -> dict[str, Any]:
    """An outcome for `--json`."""
    return {
        "pattern": outcome.case.id,
        "descriptor": outcome.case.descriptor,
        "platform": outcome.platform,
        "default_seconds": outcome.default_seconds,
        "replays": outcome.runs,
        "candidates": [
            {
                "settings": one.candidate.settings,
                "why": one.candidate.why,
                "effect": one.effect,
                "gain": None if one.gain is None else vars(one.gain),
            }
            for one in outcome.measured
        ],
        "state": "tuned" if outcome.winner else "default-is-best",
        "settings": outcome.winner.candidate.settings if outcome.winner else {},
        "confirmed": None if outcome.confirmed is None else vars(outcome.confirmed),
        "notes": [*outcome.case.notes, *outcome.notes],
    }


def _print(outcome: Outcome) -> None:
    data(f"pattern {outcome.case.id} {outcome.case.descriptor}")
    if outcome.is_dominant:
        table(
            _COLUMNS,
            [
                [settings_text(one.candidate.settings), one.effect, *_gain(one.gain)]
                for one in outcome.measured
            ],
            indent=2,
        )
    if outcome.winner is not None and outcome.confirmed is not None:
        ratio, interval = _gain(outcome.confirmed)
        data(
            f"  stored: {outcome.winner.candidate.text}, {ratio} ({interval}, "
            f"{outcome.confirmed.rounds} rounds)"
        )
    else:
        times = sorted(outcome.default_seconds)
        took = f", {seconds_text(times[len(times) // 2])}" if times else ""
        data(f"  stored: default is best{took}")
