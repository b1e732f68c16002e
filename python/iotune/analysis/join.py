"""The parts' results as one: `iotune analyze --json` (docs/commands.md)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from iotune.analysis.parts import Options, Part
from iotune.analysis.sources import Source
from iotune.core import native_part
from iotune.patterns import PLAIN_ENTRY_BYTES
from iotune.traces.summary import run_summary


def joined(
    sources: Sequence[Source], parts: Sequence[Part], options: Options, folder: Path
) -> dict[str, Any]:
    """All traces with their files, and of each file its descriptors and streams."""
    traces = []
    for number, source in enumerate(sources):
        own = [part for part in parts if part.source == number]
        traces.append(_trace(source, own, options, folder, number))
    return {
        "algorithm": options.algorithm,
        "predictor": options.chosen_predictor if options.ahead else None,
        "ahead": options.ahead,
        "traces": traces,
    }


def _trace(
    source: Source, parts: Sequence[Part], options: Options, folder: Path, number: int
) -> dict[str, Any]:
    results = {part.number: _load(part.done(folder)) for part in parts}
    summary = next(results[part.number] for part in parts if part.kind == "summary")
    of_streams = [part for part in parts if part.kind != "summary"]
    done = [results[part.number] for part in of_streams]
    result: dict[str, Any] = {
        "name": source.name,
        "format": source.format or "iotune",
        **{key: summary.get(key) for key in ("program", "mpi", "hdf5", "ranks", "nodes", "calls")},
        "processes": summary.get("processes"),
        "accesses": sum(one["accesses"] for one in done),
        "without_place": sum(one["without_place"] for one in done),
        "empty": sum(one["empty"] for one in done),
        "losses": _unique(
            [
                *source.notes,
                *summary.get("warnings", []),
                *(t for one in done for t in one["losses"]),
            ]
        ),
    }
    if options.algorithm == "he2013":
        names = [name for one in done for name in one["names"]]
        sizes = [
            name["local_bytes"] if name["global_bytes"] is None else name["global_bytes"]
            for name in names
        ]
        result["log_bytes"] = sum(sizes)
        streams = [_he2013_streams(name, options) for name in names]
    else:
        names = _grouped(of_streams, options, folder, number, result)
        streams = [_our_streams(name, options) for name in names]
    result["streams"] = sum(name["streams"] for name in names)
    result["rate"] = (
        PLAIN_ENTRY_BYTES * result["accesses"] / result["log_bytes"] if result["log_bytes"] else 0.0
    )
    result["files"] = _files(summary, list(zip((name["name"] for name in names), streams)))
    return result


def _load(path: Path) -> Any:
    return json.loads(path.read_text("ascii"))


def _unique(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))


def _grouped(
    parts: Sequence[Part], options: Options, folder: Path, number: int, result: dict[str, Any]
) -> list[dict[str, Any]]:
    """Join the logs of all parts; what they say is in `result`, what their streams are returned."""
    native = native_part()
    logs = [part.log(folder) for part in parts]
    log = folder / f"trace-{number}.patterns"
    if len(logs) == 1:
        os.replace(logs[0], log)
        result["log_bytes"] = log.stat().st_size
    else:
        result["log_bytes"], _ = native.merge_logs(logs, str(log))
        for part in logs:
            os.unlink(part)
    if result["accesses"] == 0:
        result["log_bytes"] = 0
    return list(
        native.group_streams(
            str(log),
            [part.records(folder) for part in parts],
            ahead=options.ahead,
            kept=options.shown,
            shown_terms=options.shown_terms,
        )
    )


def _our_streams(name: dict[str, Any], options: Options) -> dict[str, Any]:
    groups = []
    for one in name["shown"]:
        group = {
            "ranks": [list(run) for run in one["ranks"]],
            "more_ranks": one["more_ranks"],
            "streams": one["streams"],
            "accesses": one["accesses"],
            "bytes": one["bytes"],
            "first_offset": one["first_start"],
            "starts": one["starts"],
            "terms": one["terms"],
            "nests": [text for text in one["nests"] if text],
        }
        if options.ahead:
            group |= {"right": one["right"], "next": _next(one["next"])}
        groups.append(group)
    return {**_sums(name, options), "different": name["groups"], "groups": groups}


def _he2013_streams(name: dict[str, Any], options: Options) -> dict[str, Any]:
    row = _sums(name, options)
    for key in ("local_entries", "local_bytes", "global_entries", "global_bytes"):
        row[key] = name[key]
    row["entries"] = [{"text": text, "accesses": accesses} for text, accesses in name["shown"]]
    if options.ahead:
        row["next"] = _next(name["next"])
    return row


def _sums(name: dict[str, Any], options: Options) -> dict[str, Any]:
    layer, operation, _ = name["name"].split(" ", 2)
    row = {
        "layer": layer,
        "operation": operation,
        **{key: name[key] for key in ("streams", "accesses", "bytes")},
    }
    if options.ahead:
        row["right"] = name["right"]
    return row


def _next(predicted: Sequence[Sequence[float]]) -> list[dict[str, Any]]:
    """Until the first that no file has."""
    found = []
    for offset, length, confidence in predicted:
        if offset < 0 or length <= 0:
            break
        found.append(
            {"offset": offset, "length": length, "confidence": round(float(confidence), 4)}
        )
    return found


def _files(
    summary: dict[str, Any], streams: Sequence[tuple[str, dict[str, Any]]]
) -> list[dict[str, Any]]:
    """Files in the order in which they were opened, each with its descriptors and streams."""
    run = run_summary(summary)
    files: dict[str, dict[str, Any]] = {}
    for file, raw in zip(run.files, summary.get("files", [])):
        descriptors = []
        for dataset, whole in zip(file.datasets, raw.get("datasets", [])):
            is_dominant = file.is_dominant(dataset)
            descriptors.append({**whole, "descriptor": dataset.descriptor, "speaks": is_dominant})
        files[file.path] = {"path": file.path, "descriptors": descriptors, "streams": []}
    for name, one in streams:
        path = name.split(" ", 2)[2]
        entry = files.setdefault(path, {"path": path, "descriptors": [], "streams": []})
        entry["streams"].append(one)
    return [one for one in files.values() if one["descriptors"] or one["streams"]]
