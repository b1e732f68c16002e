"""What is known of a run's files, in sentences: what was recognised, matched, gained and done."""

from __future__ import annotations

from iotune.models.measuring.paired import Gain
from iotune.models.settings.prospects import Prospect
from iotune.reports.evidence import Comparison, effective_settings
from iotune.reports.tables import count_text, seconds_text, size_text
from iotune.traces.summary import FilePattern, GatherOutcome, PrefetchOutcome, RunSummary

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


def is_explained(file: FilePattern) -> bool:
    """Whether there is anything to say: of files that are not in the sample only what was set."""
    if file.sampled_out:
        return bool(file.settings) or file.decision_source == "series"
    return bool(_is_settable(file) or file.decision_source or file.prefetch or file.gather)


def _is_settable(file: FilePattern) -> bool:
    """Whether it went through a library that settings are passed to."""
    return file.declared or (file.dominant is not None and file.dominant.layer == "mpiio")


def needs_training(file: FilePattern) -> bool:
    """Whether the file's pattern has no answer yet.

    What MPI-IO or POSIX moved by itself is trained where it was asked for: small files are not.
    """
    asked = file.decision_source != "" and file.dominant is not None
    return (_is_settable(file) or asked) and file.decision_source in ("", "unknown", "untrained")


def distance_of(file: FilePattern) -> float | None:
    """Of the answer that held, or else of the nearest one; None where none is known."""
    reported = file.decision_source and file.decision_distance >= 0
    return file.decision_distance if reported else None


def prefetched_lines(done: PrefetchOutcome) -> tuple[str, ...]:
    """What prefetching did for a file."""
    unread = done.unused_bytes / done.requested_bytes if done.requested_bytes else 0.0
    late = f" ({done.late:,} of them late)" if done.late else ""
    served = f", {done.served:,} served from the cache" if done.served else ""
    return (
        f"{done.predictor}: {done.hits:,} of {count_text(done.reads, 'read')} hit{late}, "
        f"{done.reads - done.hits:,} missed{served}",
        f"{size_text(done.requested_bytes)} requested, {size_text(done.unused_bytes)} "
        f"of it never read ({unread:.1%}), up to {done.depth} ahead, "
        f"{count_text(done.streams, 'stream')}",
        f"{seconds_text(done.wait_seconds)} in reads, "
        f"some {seconds_text(done.saved_seconds)} saved",
    )


def gathered_lines(done: GatherOutcome) -> tuple[str, ...]:
    """What gathering did for a file, and why something of it was left alone."""
    lines = []
    if done.held_calls:
        served = (
            f", {count_text(done.reads_served, 'read')} served from them"
            if done.reads_served
            else ""
        )
        lines.append(
            f"{count_text(done.held_calls, 'write')} ({size_text(done.held_bytes)}) waited; "
            f"bytes went out at {count_text(done.flushes, 'collective call')}{served}"
        )
    ways = [
        (
            done.exchange_bytes,
            f"exchanged in {count_text(done.exchange_calls, 'collective write')}",
        ),
        (done.piece_bytes, f"piece by piece in {count_text(done.piece_writes, 'write')}"),
        (done.alone_bytes, f"by a rank alone in {count_text(done.alone_writes, 'write')}"),
        (done.waiting_bytes, "at the end of the run"),
    ]
    lines += [f"{size_text(size)} {way}" for size, way in ways if size]
    for reason, calls in done.not_held.items():
        what = f"{count_text(calls, 'write')} not held" if calls else "not gathered"
        lines.append(f"{what}: {reason}")
    return tuple(lines)


def recognised_text(run: RunSummary, file: FilePattern) -> str:
    """What the file's pattern is, and who moved it how."""
    dominant = file.dominant
    if file.sampled_out:
        return "its calls were not recorded: it is not in the sample of its series"
    if dominant is None:
        return "no HDF5 transfer"
    if dominant.inferred:
        return f"no HDF5 transfer; its bytes are {dominant.descriptor} (inferred)"
    others = f", on {file.speaker_count} datasets" if file.speaker_count > 1 else ""
    return (
        f"{dominant.descriptor} of {dominant.element_bytes}-byte elements, "
        f"{'written' if dominant.write else 'read'} {_how(dominant.mode)} "
        f"by {dominant.ranks} of {count_text(*run.members)}{others}"
    )


def _how(mode: str) -> str:
    return {
        "collective": "collectively",
        "independent": "independently",
        "mixed": "collectively and independently",
    }.get(mode, "")


def matched_lines(file: FilePattern) -> list[str]:
    """What of the database the file's pattern matched, or why nothing did."""
    if not file.decision_source:
        return ["no settings were looked for: the run was only recorded, or had no database"]
    words = [_SOURCES.get(file.decision_source, file.decision_source)]
    if file.decision_row >= 0:
        far = f" at distance {file.decision_distance:.3g}" if file.decision_distance > 0 else ""
        words.append(f"row {file.decision_row}{far}")
    elif (distance_of(file) or 0) > 0:
        words.append(f"the nearest answer lies at distance {file.decision_distance:.3g}")
    if file.decision_pattern:
        words.append(f"pattern {file.decision_pattern}")
    if file.decision_state:
        words.append(f"state {file.decision_state}")
    lines = [", ".join(words)]
    if file.decision_message:
        lines.append(file.decision_message)
    return lines


def training_line(file: FilePattern, prospect: Prospect) -> str:
    """What training may do for a file that has no answer; "" for one that has."""
    if not needs_training(file):
        return ""
    if prospect.candidates:
        return "no answer yet: iotune train measures settings for it"
    return f"no answer, and training has nothing to try: {prospect.why_not}"


def _gain_text(gain: Gain) -> str:
    return f"{gain.ratio:.2f}x ({gain.low:.2f} to {gain.high:.2f}"


def effect_lines(file: FilePattern, effect: Comparison) -> list[str]:
    """The effect of the settings that were applied, with intervals, as far as it is known."""
    lines = [f"{size_text(file.bytes)} in {seconds_text(file.io_seconds)}"]
    if effect.trained is not None:
        rounds = count_text(effect.trained.rounds, "paired round")
        lines.append(f"trained: {_gain_text(effect.trained)}, {rounds})")
    elif not effective_settings(file):
        lines[0] += "; no settings were in effect"
    if effect.production is not None:
        lines.append(f"in production: {_gain_text(effect.production)}, not paired)")
    if effect.of_site:
        own = "your own runs confirm it" if effect.is_confirmed else (
            "your own runs have not confirmed it yet (with it and at the default: "
            f"{effect.tuned_runs} and {effect.default_runs})"
        )  # fmt: skip
        lines.append(f"the site's answer: {own}")
    rates = [
        f"{size_text(round(rate))}/s {how} (median of {count_text(runs, 'run')})"
        for rate, runs, how in (
            (effect.tuned_rate, effect.tuned_runs, "with these settings"),
            (effect.default_rate, effect.default_runs, "at the default"),
        )
        if rate is not None
    ]
    if rates:
        lines.append(", ".join(rates))
    else:
        lines.append("not yet known: no earlier run of this workload and size to compare")
    return lines
