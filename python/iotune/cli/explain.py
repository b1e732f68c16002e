"""Explain what was decided for a run's files: what was recognised, which row of the database
matched, what was applied, refused or without effect, and what it brought.

Without TRACE the last run's. What it brought is what training measured, with its interval, and
once there are several runs of the same workload with these settings and with default ones, what
those show.
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
    seconds_text,
    size_text,
    table,
)
from iotune.errors import Error
from iotune.models.measuring.paired import Gain
from iotune.reports.actual_io import done_text, sum_of, taken_apart, told_settings
from iotune.reports.alike import Alike, folded, masked, patterns_of
from iotune.reports.evidence import Comparison, compare_with_default, effective_settings
from iotune.reports.losses import SAMPLE, say_losses
from iotune.traces.chosen_trace import chosen_trace, words_for
from iotune.traces.summary import FilePattern, PrefetchOutcome, RunSummary

_SETTINGS = [
    Column("setting"),
    Column("wanted"),
    Column("got"),
    Column("verdict", bare=True),
    Column("reason", prose=True),
]
_LABEL = 14  # cells before what is said of a file
_APART_SHOWN = 8
_SOURCES = {
    "exact": "the same pattern",
    "similar": "a similar pattern",
    "predicted": "a model",
    "explore": "the same pattern, left at the default in this run to compare",
    "drift": "the workload changed: its answer is not trusted yet",
    "config": "IOTUNE_CONFIG",
    "series": "a series within this run",
    "untrained": "the pattern is known but was never trained",
    "unknown": "this workload was never seen before",
    "off": "tuning was off",
}


@errors_in_one_line
def command(
    trace: Annotated[
        Optional[Path], typer.Argument(metavar="TRACE", help="Default: the last run's.")
    ] = None,
    db: Annotated[
        Optional[Path], typer.Option("--db", metavar="FILE", help="Another database.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Each file of a series by itself.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Explain it."""
    run = chosen_trace(trace)
    summary = run.summary
    if not as_json:
        # Of files that a sample leaves out the end of the explanation tells.
        say_losses(one for one in summary.warnings if not one.endswith(SAMPLE))
    files = [file for file in summary.files if _is_explained(file)]
    database = _database(db)
    brought = [
        Comparison() if file.sampled_out else compare_with_default(database, summary, file)
        for file in files
    ]
    if as_json:
        print_json(
            {
                "trace": str(run.path),
                "warnings": summary.warnings,
                "files": [_as_json(file, one) for file, one in zip(files, brought)],
            }
        )
    else:
        of_file = dict(zip(map(id, files), brought))
        for group in [Alike([one]) for one in files] if everything else folded(files, _decided):
            if group.is_folded:
                first = group.files[0]
                data(f"{group.name}   {len(group.files)} files alike; the first one:")
                _explain(summary, first, of_file[id(first)], named=False)
                continue
            for file in group.files:
                _explain(summary, file, of_file[id(file)])
        others = sum(file.sampled_out and not _is_explained(file) for file in summary.files)
        if others:
            data()
            paragraph(
                f"not shown: {count_text(others, 'further file')} of a series, of which the calls "
                f"were not recorded {SAMPLE}"
            )
        if not files and not others:
            data("of no file there was anything to decide")
    _next(files, words_for(run, trace))


def _database(db: Optional[Path]) -> Optional[core.Database]:
    from iotune.cli.db import opened

    try:
        return opened(db, reads=True, own=True)
    except Error as problem:
        say(f"no comparison with earlier runs: {problem}")
        return None


def _next(files: list[FilePattern], trace: list[str]) -> None:
    if any(needs_training(file) for file in files):
        next_command("iotune", "train", why="measures settings for what is untrained")
    elif any(file.decision_row >= 0 for file in files):
        row = next(file.decision_row for file in files if file.decision_row >= 0)
        next_command("iotune", "db", "list", why=f"row {row} and all others")
    else:
        next_command("iotune", "show", *trace)


def _is_explained(file: FilePattern) -> bool:
    """Whether there is anything to say: of files that are not in the sample only what was set."""
    if file.sampled_out:
        return bool(file.settings) or file.decision_source == "series"
    return bool(file.declared or file.decision_source or file.prefetch)


def needs_training(file: FilePattern) -> bool:
    """Whether the file's pattern has no answer yet.

    What MPI-IO or POSIX moved by itself is trained where it was asked for: small files are not.
    """
    asked = file.decision_source != "" and file.speaks is not None
    return (file.declared or asked) and file.decision_source in ("", "unknown", "untrained")


def _distance(file: FilePattern) -> Optional[float]:
    """Of the answer that held, or else of the nearest one; None where none is known."""
    told = file.decision_source and file.decision_distance >= 0
    return file.decision_distance if told else None


def _as_json(file: FilePattern, brought: Comparison) -> dict[str, Any]:
    speaker = file.speaks
    return {
        "path": file.path,
        "sampled_out": file.sampled_out,
        "recognised": speaker.descriptor if speaker and not speaker.inferred else None,
        "source": file.decision_source or None,
        "state": file.decision_state or None,
        "row": file.decision_row if file.decision_row >= 0 else None,
        "distance": _distance(file),
        "pattern": file.decision_pattern or None,
        "message": file.decision_message or None,
        "settings": [vars(one) for one in told_settings(file)],
        "actual_io": _actual_io(file),
        "seconds": file.io_seconds,
        "trained": _gain_as_json(brought.trained),
        "production": _gain_as_json(brought.production),
        "default_bytes_per_second": brought.default_rate,
        "default_runs": brought.default_runs,
        "tuned_bytes_per_second": brought.tuned_rate,
        "tuned_runs": brought.tuned_runs,
        "of_site": brought.of_site,
        "confirmed": brought.is_confirmed,
        "prefetch": vars(file.prefetch) if file.prefetch else None,
    }


def _decided(file: FilePattern) -> Hashable:
    """All that is explained of a file but its times, and the numbers in what is said."""
    settings = tuple(
        (one.parameter, one.wanted, one.got, one.verdict, one.reason) for one in told_settings(file)
    )
    return (
        *(patterns_of(file), file.sampled_out, file.decision_source, file.decision_row),
        *(file.decision_state, file.decision_pattern, masked(file.decision_message)),
        *(settings, file.prefetch.predictor if file.prefetch else None),
    )


def _explain(run: RunSummary, file: FilePattern, brought: Comparison, named: bool = True) -> None:
    if named:
        data(file.path)
    _say("recognised", _recognised(run, file))
    _say_actual_io(file)
    _say("matched", *_matched(file))
    if file.settings:
        table(
            _SETTINGS,
            [
                [one.parameter, one.wanted or "–", one.got or "–", one.verdict, one.reason]
                for one in told_settings(file)
            ],
            indent=4,
        )
    else:
        _say("settings", "none: the program's own were left alone")
    if not file.sampled_out:
        _say("brought", *_brought(file, brought))
    if file.prefetch is not None:
        _say("prefetch", *_prefetched(file.prefetch))
    data()


def _say(label: str, *lines: str) -> None:
    """What is said of a file under a label, each line below the one before."""
    for line in lines:
        paragraph(f"{label:<{_LABEL - 2}}{line}", indent=2, more=_LABEL - 2)
        label = ""


def _actual_io(file: FilePattern) -> Optional[dict[str, Any]]:
    told = [one for one in file.datasets if one.actual_io]
    if not told:
        return None
    done, causes = sum_of(told)
    datasets = [
        {
            "dataset": one.dataset,
            "write": one.write,
            "done": one.actual_io,
            "causes": one.not_collective,
        }
        for one in told
    ]
    return {"done": done, "causes": causes, "datasets": datasets}


def _say_actual_io(file: FilePattern) -> None:
    told = [one for one in file.datasets if one.actual_io]
    if not told:
        return
    _say("actual I/O", done_text(*sum_of(told)))
    apart = [one for one in told if taken_apart(one)]
    if len(told) == 1 or not apart:
        return
    for one in apart[:_APART_SHOWN]:
        way = "written" if one.write else "read"
        _say("", f"{one.dataset} {way}: {done_text(one.actual_io, one.not_collective)}")
    if len(apart) > _APART_SHOWN:
        _say("", f"and {count_text(len(apart) - _APART_SHOWN, 'further dataset')}")


def _prefetched(done: PrefetchOutcome) -> tuple[str, ...]:
    vain = done.vain_bytes / done.requested_bytes if done.requested_bytes else 0.0
    late = f" ({done.late:,} of them late)" if done.late else ""
    served = f", {done.served:,} served from the cache" if done.served else ""
    return (
        f"{done.predictor}: {done.hits:,} of {count_text(done.reads, 'read')} hit{late}, "
        f"{done.reads - done.hits:,} missed{served}",
        f"{size_text(done.requested_bytes)} requested, {size_text(done.vain_bytes)} "
        f"in vain ({vain:.1%}), up to {done.depth} ahead, {count_text(done.streams, 'stream')}",
        f"{seconds_text(done.wait_seconds)} in reads, "
        f"some {seconds_text(done.saved_seconds)} saved",
    )


def _recognised(run: RunSummary, file: FilePattern) -> str:
    speaker = file.speaks
    if file.sampled_out:
        return "its calls were not recorded: it is not in the sample of its series"
    if speaker is None:
        return "no HDF5 transfer"
    if speaker.inferred:
        return f"no HDF5 transfer; its bytes are {speaker.descriptor} (inferred)"
    others = f", on {file.speaker_count} datasets" if file.speaker_count > 1 else ""
    return (
        f"{speaker.descriptor} of {speaker.element_bytes}-byte elements, "
        f"{'written' if speaker.write else 'read'} {_how(speaker.mode)} "
        f"by {speaker.ranks} of {count_text(run.ranks, 'rank')}{others}"
    )


def _how(mode: str) -> str:
    return {
        "collective": "collectively",
        "independent": "independently",
        "mixed": "collectively and independently",
    }.get(mode, "")


def _matched(file: FilePattern) -> list[str]:
    if not file.decision_source:
        return ["nothing was asked: no decision is in the trace"]
    words = [_SOURCES.get(file.decision_source, file.decision_source)]
    if file.decision_row >= 0:
        words.append(f"row {file.decision_row} at distance {file.decision_distance:.3g}")
    elif (_distance(file) or 0) > 0:
        words.append(f"the nearest answer lies at distance {file.decision_distance:.3g}")
    if file.decision_pattern:
        words.append(f"pattern {file.decision_pattern}")
    if file.decision_state:
        words.append(f"state {file.decision_state}")
    lines = [", ".join(words)]
    if file.decision_message:
        lines.append(file.decision_message)
    if needs_training(file):
        lines.append("untrained: iotune train measures settings for it")
    return lines


def _gain_as_json(gain: Optional[Gain]) -> Optional[dict[str, Any]]:
    return None if gain is None else vars(gain)


def _gain_text(gain: Gain) -> str:
    return f"{gain.ratio:.2f}x ({gain.low:.2f} to {gain.high:.2f}"


def _brought(file: FilePattern, brought: Comparison) -> list[str]:
    lines = [f"{size_text(file.bytes)} in {seconds_text(file.io_seconds)}"]
    if brought.trained is not None:
        rounds = count_text(brought.trained.rounds, "paired round")
        lines.append(f"trained: {_gain_text(brought.trained)}, {rounds})")
    elif not effective_settings(file):
        lines[0] += "; no settings were in effect"
    if brought.production is not None:
        lines.append(f"in production: {_gain_text(brought.production)}, not paired)")
    if brought.of_site:
        own = "your own runs confirm it" if brought.is_confirmed else (
            "your own runs have not confirmed it yet (with it and at the default: "
            f"{brought.tuned_runs} and {brought.default_runs})"
        )  # fmt: skip
        lines.append(f"the site's answer: {own}")
    rates = [
        f"{size_text(round(rate))}/s {how} (median of {count_text(runs, 'run')})"
        for rate, runs, how in (
            (brought.tuned_rate, brought.tuned_runs, "with these settings"),
            (brought.default_rate, brought.default_runs, "at the default"),
        )
        if rate is not None
    ]
    if rates:
        lines.append(", ".join(rates))
    else:
        lines.append("not yet known: no earlier run of this workload and size to compare")
    return lines
