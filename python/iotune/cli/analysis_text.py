"""An analysis for people: iotune.analysis.analyze()'s result as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from iotune.cli.output import Column, count_text, data, paragraph, say, size_text, table
from iotune.reports.losses import say_losses

_DESCRIPTORS = [
    Column("  dataset"),
    Column("descriptor"),
    Column("operation", bare=True),
    Column("ranks", number=True, spare=1),
    Column("calls", number=True, spare=3),
    Column("bytes", number=True, bare=True),
    Column("from", spare=2),
]
_NEXT_SHOWN = 4


def print_analysis(result: dict[str, Any]) -> None:
    """Print all traces, then what is missing of each."""
    for number, trace in enumerate(result["traces"]):
        if number:
            data()
        _trace(trace, result)


def _trace(trace: dict[str, Any], result: dict[str, Any]) -> None:
    ours = result["algorithm"] == "ours"
    parts = [
        trace["name"],
        count_text(trace["ranks"] or 1, "rank"),
        _accesses(trace["accesses"]),
        count_text(trace["streams"], "stream"),
    ]
    what = "pattern log" if ours else "index of He et al."
    size = f"{what} {_bytes(trace['log_bytes'])}"
    if trace["log_bytes"]:
        size += f" ({trace['rate']:,.1f}x of 56 bytes an access)"
    paragraph(", ".join([*parts, size]))
    say_losses(trace["losses"])
    if trace["without_place"]:
        say(f"{count_text(trace['without_place'], 'transfer')} without a known place in the file")
    if trace["empty"]:
        say(f"{count_text(trace['empty'], 'transfer')} failed or moved nothing, and left out")
    for file in trace["files"]:
        data()
        data(file["path"])
        if file["descriptors"]:
            table(_DESCRIPTORS, [_descriptor(one) for one in file["descriptors"]], indent=2)
        for streams in file["streams"]:
            (_our_streams if ours else _he2013_streams)(streams)


def _descriptor(one: dict[str, Any]) -> list[str]:
    return [
        ("* " if one["speaks"] else "  ") + one["dataset"],
        one["descriptor"],
        "write" if one["write"] else "read",
        str(one["ranks"]),
        str(one["calls"] or "–"),
        size_text(one["bytes"]),
        "inferred" if one.get("inferred") else "selections",
    ]


def _bytes(count: int) -> str:
    return f"{count} bytes" if count < 10000 else size_text(count)


def _accesses(count: int) -> str:
    return "1 access" if count == 1 else f"{count} accesses"


def _heading(streams: dict[str, Any], more: Sequence[str]) -> None:
    parts = [
        f"  {streams['layer']} {streams['operation']}: {count_text(streams['streams'], 'stream')}",
        _accesses(streams["accesses"]),
        size_text(streams["bytes"]),
        *more,
    ]
    if "right" in streams and streams["accesses"]:
        share = 100 * streams["right"] / streams["accesses"]
        parts.append(f"{share:.1f} % predicted")
    paragraph(", ".join(parts))


def _our_streams(streams: dict[str, Any]) -> None:
    _heading(streams, [])
    for group in streams["groups"]:
        data(f"    {_ranks(group)}: {' | '.join(group['nests'])}")
        if group["streams"] > 1:
            paragraph(f"      beginning at {group['starts']}")
        _next(group.get("next"))
    left = streams["different"] - len(streams["groups"])
    if left > 0:
        paragraph(f"    … and {left} other patterns")


def _he2013_streams(streams: dict[str, Any]) -> None:
    joined = streams["global_entries"]
    more = [f"{streams['local_entries']} local entries ({_bytes(streams['local_bytes'])})"]
    if joined is None:
        more.append("too many to be joined")
    else:
        more.append(f"{joined} global ({_bytes(streams['global_bytes'])})")
    _heading(streams, more)
    for entry in streams["entries"]:
        data(f"    {entry['text']}")
    left = (joined or 0) - len(streams["entries"])
    if left > 0:
        paragraph(f"    … and {left} other entries")
    _next(streams.get("next"))


def _next(predicted: Sequence[dict[str, Any]] | None) -> None:
    if predicted is None:
        return
    shown = [f"({one['offset']},{one['length']})" for one in predicted[:_NEXT_SHOWN]]
    if len(predicted) > _NEXT_SHOWN:
        shown.append("…")
    sure = f", confidence {predicted[0]['confidence']:.2f}" if predicted else ""
    paragraph(f"      next {' '.join(shown) or 'not known'}{sure}")


def _ranks(group: dict[str, Any]) -> str:
    runs = [_run(*run) for run in group["ranks"]]
    if group["more_ranks"]:
        runs.append(f"{group['more_ranks']} more")
    if runs == ["-1"]:
        return "no rank"
    return ("rank " if group["streams"] == 1 else "ranks ") + ", ".join(runs)


def _run(first: int, last: int, step: int) -> str:
    if first == last:
        return str(first)
    return f"{first}-{last}" if step == 1 else f"{first}-{last} by {step}"
