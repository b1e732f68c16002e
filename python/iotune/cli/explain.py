"""Explain what was decided for a run's files: what was recognised, which row of the database
matched, what was applied, refused or without effect, and the measured effect.

Without TRACE: of the last run. The effect is what training measured, with its interval, and
once there are several runs of the same workload with these settings and with default ones, what
those show. What training measured and only offers is said with the command that takes it.
"""

from collections.abc import Hashable
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from iotune import core
from iotune.cli.output import (
    Column,
    count_text,
    data,
    errors_in_one_line,
    next_command,
    paragraph,
    print_json,
    say,
    table,
)
from iotune.cli.pattern_argument import pattern_of_row
from iotune.database.answers import Answers
from iotune.errors import Error
from iotune.models.measuring.paired import Gain
from iotune.models.settings.prospects import Prospect, prospect_of_file
from iotune.reports.actual_io import done_text, reported_settings, sum_of, taken_apart
from iotune.reports.alike import Alike, count_of, masked, patterns_of, screenful
from iotune.reports.evidence import Comparison, compare_with_default
from iotune.reports.explained import (
    distance_of,
    effect_lines,
    gathered_lines,
    is_explained,
    matched_lines,
    needs_training,
    prefetched_lines,
    recognised_text,
    training_line,
)
from iotune.reports.losses import SAMPLE, say_losses
from iotune.traces.chosen_trace import chosen_trace, words_for
from iotune.traces.summary import FilePattern, RunSummary
from iotune.traces.trace import Trace

_SETTINGS = [
    Column("setting"),
    Column("wanted"),
    Column("got"),
    Column("verdict", bare=True),
    Column("reason", prose=True),
]
_LABEL = 14  # cells before what is said of a file
_APART_SHOWN = 8


@errors_in_one_line
def command(
    trace: Annotated[
        Optional[Path], typer.Argument(metavar="TRACE", help="Default: the last run's trace.")
    ] = None,
    db: Annotated[
        Optional[Path], typer.Option("--db", metavar="FILE", help="Use this database instead.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Show each file of a series separately.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Explain it."""
    run = chosen_trace(trace)
    summary = run.summary if as_json or everything else run.folded_summary
    if not as_json:
        # Of files that a sample leaves out the end of the explanation tells.
        say_losses(one for one in summary.warnings if not one.endswith(SAMPLE))
    files = [file for file in summary.files if is_explained(file)]
    database = _database(db)
    answers = None if database is None else Answers(database)
    effects = [
        Comparison() if file.sampled_out else compare_with_default(answers, summary, file)
        for file in files
    ]
    if as_json:
        print_json(
            "explain",
            {
                "trace": str(run.path),
                "warnings": summary.warnings,
                "files": [_as_json(file, one) for file, one in zip(files, effects)],
            },
        )
    else:
        of_file = dict(zip(map(id, files), effects))
        groups, left_out = (
            ([Alike([one]) for one in files], [])
            if everything
            else screenful(files, _decided, _outcome)
        )
        for group in groups:
            file = group.largest if group.is_mixed else group.files[0]
            if group.is_folded:
                which = "largest" if group.is_mixed else "first"
                data(f"{group.name}   {group.count} files alike; the {which} one:")
            training = training_line(file, _prospect(run, file))
            _explain(summary, file, of_file[id(file)], training, named=not group.is_folded)
        if left_out:
            paragraph(
                f"not shown: {count_text(count_of(left_out), 'smaller file')} (--all shows all)"
            )
        others = count_of(
            file for file in summary.files if file.sampled_out and not is_explained(file)
        )
        if others:
            data()
            paragraph(
                f"not shown: {count_text(others, 'further file')} of a series, of which the calls "
                f"were not recorded {SAMPLE}"
            )
        if not files and not others:
            paragraph(
                "no settings were looked for: this run moved no file through HDF5 or MPI-IO, and "
                "none was read ahead"
                if summary.has_calls
                else "nothing was decided, and nothing can be learnt from this run or trained on "
                "it: its log has totals and no patterns"
            )
    _next(run, files, words_for(run, trace), database)


def _database(db: Optional[Path]) -> Optional[core.Database]:
    from iotune.cli.db import opened

    try:
        return opened(db, reads=True, own=True)
    except Error as problem:
        say(f"no comparison with earlier runs: {problem}")
        return None


def _next(
    run: Trace, files: list[FilePattern], trace: list[str], database: Optional[core.Database]
) -> None:
    open_files = [file for file in files if needs_training(file)]
    if any(_prospect(run, file).candidates for file in open_files):
        next_command("iotune", "train", why="measures settings for what has no answer")
    elif any(file.decision_row >= 0 for file in files):
        file = next(file for file in files if file.decision_row >= 0)
        row, pattern = file.decision_row, None
        if database is not None:
            pattern = pattern_of_row(database, file.decision_pattern, row)
        if pattern is None:
            next_command("iotune", "db", "list", why="all patterns and their answers")
        else:
            next_command("iotune", "db", "show", str(pattern), why=f"row {row} and its history")
    else:
        next_command("iotune", "advise", *trace, why="what the program itself may do")


def _prospect(run: Trace, file: FilePattern) -> Prospect:
    return prospect_of_file(run, file) if needs_training(file) else Prospect()


def _as_json(file: FilePattern, effect: Comparison) -> dict[str, Any]:
    dominant = file.dominant
    return {
        "path": file.path,
        "sampled_out": file.sampled_out,
        "recognised": dominant.descriptor if dominant and not dominant.inferred else None,
        "source": file.decision_source or None,
        "state": file.decision_state or None,
        "row": file.decision_row if file.decision_row >= 0 else None,
        "distance": distance_of(file),
        "pattern": file.decision_pattern or None,
        "message": file.decision_message or None,
        "settings": [vars(one) for one in reported_settings(file)],
        "actual_io": _actual_io(file),
        "seconds": file.io_seconds,
        "trained": _gain_as_json(effect.trained),
        "production": _gain_as_json(effect.production),
        "default_bytes_per_second": effect.default_rate,
        "default_runs": effect.default_runs,
        "tuned_bytes_per_second": effect.tuned_rate,
        "tuned_runs": effect.tuned_runs,
        "of_site": effect.of_site,
        "confirmed": effect.is_confirmed,
        "prefetch": vars(file.prefetch) if file.prefetch else None,
        "gather": vars(file.gather) if file.gather else None,
        "offered": effect.offered.as_json() if effect.offered else None,
    }


def _decided(file: FilePattern) -> Hashable:
    """All that is explained of a file but its times, and the numbers in what is said."""
    settings = tuple(
        (one.parameter, one.wanted, one.got, one.verdict, one.reason)
        for one in reported_settings(file)
    )
    return (
        *(patterns_of(file), file.sampled_out, file.decision_source, file.decision_row),
        *(file.decision_state, file.decision_pattern, masked(file.decision_message)),
        *(settings, file.prefetch.predictor if file.prefetch else None),
        frozenset(file.gather.not_held) if file.gather else None,
    )


def _outcome(file: FilePattern) -> Hashable:
    """What of it must not differ where files of a run with very many are explained together."""
    settings = tuple((one.parameter, one.wanted, one.verdict) for one in reported_settings(file))
    return (
        file.sampled_out,
        file.decision_source,
        file.decision_row,
        file.decision_state,
        settings,
    )


def _explain(
    run: RunSummary, file: FilePattern, effect: Comparison, training: str = "", named: bool = True
) -> None:
    if named:
        data(file.path)
    _say("recognised", recognised_text(run, file))
    _say_actual_io(file)
    _say("matched", *matched_lines(file))
    if training:
        _say("training", training)
    if file.settings:
        table(
            _SETTINGS,
            [
                [one.parameter, one.wanted or "–", one.got or "–", one.verdict, one.reason]
                for one in reported_settings(file)
            ],
            indent=4,
        )
    else:
        _say("settings", "none: the program's own were left alone")
    if not file.sampled_out:
        _say("effect", *effect_lines(file, effect))
    if effect.offered is not None:
        _say("offered", *effect.offered.lines())
    if file.prefetch is not None:
        _say("prefetch", *prefetched_lines(file.prefetch))
    if file.gather is not None:
        _say("gather", *gathered_lines(file.gather))
    data()


def _say(label: str, *lines: str) -> None:
    """What is said of a file under a label, each line below the one before."""
    for line in lines:
        paragraph(f"{label:<{_LABEL - 2}}{line}", indent=2, more=_LABEL - 2)
        label = ""


def _actual_io(file: FilePattern) -> Optional[dict[str, Any]]:
    reported = [one for one in file.datasets if one.actual_io]
    if not reported:
        return None
    done, causes = sum_of(reported)
    datasets = [
        {
            "dataset": one.dataset,
            "write": one.write,
            "done": one.actual_io,
            "causes": one.not_collective,
        }
        for one in reported
    ]
    return {"done": done, "causes": causes, "datasets": datasets}


def _say_actual_io(file: FilePattern) -> None:
    reported = [one for one in file.datasets if one.actual_io]
    if not reported:
        return
    _say("actual I/O", done_text(*sum_of(reported)))
    apart = [one for one in reported if taken_apart(one)]
    if len(reported) == 1 or not apart:
        return
    for one in apart[:_APART_SHOWN]:
        way = "written" if one.write else "read"
        _say("", f"{one.dataset} {way}: {done_text(one.actual_io, one.not_collective)}")
    if len(apart) > _APART_SHOWN:
        _say("", f"and {count_text(len(apart) - _APART_SHOWN, 'further dataset')}")


def _gain_as_json(gain: Optional[Gain]) -> Optional[dict[str, Any]]:
    return None if gain is None else vars(gain)
