"""A database's export without names, for others to learn from.

Built up from what is known to say nothing of who and where, never by taking names out: a member
that this file does not list does not leave the site.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from typing import Any

from iotune import core

_DAY_SECONDS = 86400
_SOURCES = ("train", "runs", "import", "by hand", "site")
_DECISIONS = (
    "",
    "exact",
    "similar",
    "predicted",
    "explore",
    "held",
    "drift",
    "series",
    "config",
    "untrained",
    "unknown",
    "off",
)
_PATTERN = ("id", "descriptor", "op", "element_bytes", "ranks", "grid", "mode", "chunk", "filters",
            "dataset_dims")  # fmt: skip
_PLATFORM = ("id", "filesystem", "mpi", "hdf5", "host_class")
_TUNING = ("id", "pattern", "platform", "state", "gain", "low", "high", "rounds",
           "default_share", "replaces")  # fmt: skip
_LONGEST_TEXT = 255  # of a setting


def anonymised(document: str, salt: bytes) -> str:
    """The export `document` with salted hashes instead of names, and days instead of times.

    What was equal stays equal, so that runs of one program still belong together; under one
    salt also between exports. The salt is not in the result.
    """
    rows = json.loads(document)

    def hashed(kind: str) -> Callable[[Any], str]:
        def one(name: Any) -> str:
            if name == "":
                return ""
            text = f"{kind}\0{name}".encode("utf-8", "surrogateescape")
            return f"{kind}-" + hmac.new(salt, text, hashlib.sha256).hexdigest()[:16]

        return one

    program, file, run = hashed("program"), hashed("file"), hashed("run")
    dataset, observed, other = hashed("dataset"), hashed("observation"), hashed("other")
    host = hashed("h")
    texts = {one["name"] for one in core.parameters() if one["kind"] == "text"}

    def settings(text: str) -> str:
        """Values in words may name hosts, as in cb_config_list's node17:2,*:0."""
        named = (item.partition("=") for item in text.split(";") if item)
        return ";".join(
            f"{name}={_without_hosts(value, host) if name in texts else value}"
            for name, _, value in named
        )

    def kept(row: Mapping[str, Any], *names: str) -> dict[str, Any]:
        return {name: row[name] for name in names if name in row}

    result = {
        "format": rows["format"],
        "version": rows["version"],
        "platforms": [kept(row, *_PLATFORM) for row in rows["platforms"]],
        "workloads": [
            {
                **kept(row, "id", "ranks", "nodes"),
                "program": program(row["program"]),
                "file": file(row["file"]),
            }
            for row in rows["workloads"]
        ],
        "patterns": [kept(row, *_PATTERN) for row in rows["patterns"]],
        "uses": [
            {
                **kept(row, "workload", "pattern", "datasets", "repeats", "speaker", "settled"),
                "dataset": dataset(row["dataset"]),
                "last_seen": _day(row["last_seen"]),
            }
            for row in rows["uses"]
        ],
        "tunings": [
            {
                **kept(row, *_TUNING),
                "settings": settings(row["settings"]),
                # Whole days would make the older of two answers of a day the one that holds.
                "made_at": _day(row["made_at"]) + position / (len(rows["tunings"]) + 1),
                "source": row["source"] if row["source"] in _SOURCES else other(row["source"]),
            }
            for position, row in enumerate(rows["tunings"], start=1)
        ],
        "observations": [
            {
                **kept(row, "item", "workload", "platform", "pattern", "decision_row",
                       "bytes_written", "bytes_read", "seconds", "elapsed_seconds", "files"),
                "settings": settings(row["settings"]),
                "spool_file": observed(row["spool_file"]),
                "run": run(row["run"]),
                "trace": "",
                "program": program(row["program"]),
                "file": file(row["file"]),
                "decision_source": (
                    row["decision_source"]
                    if row["decision_source"] in _DECISIONS
                    else other(row["decision_source"])
                ),
                "observed_at": _day(row["observed_at"]),
            }
            for row in rows["observations"]
        ],
        "sightings": [
            {
                **kept(row, "workload", "platform", "pattern", "runs"),
                "first_at": _day(row["first_at"]),
                "last_at": _day(row["last_at"]),
            }
            for row in rows["sightings"]
        ],
        "totals": [
            {
                **kept(row, "workload", "platform", "pattern", "explored", "size", "rate", "files",
                       "runs", "bytes", "seconds"),
                "settings": settings(row["settings"]),
                "last_at": _day(row["last_at"]),
            }
            for row in rows["totals"]
        ],
        "drifts": [
            {
                **kept(row, "workload", "before", "after", "times"),
                "run": run(row["run"]),
                "observed_at": _day(row["observed_at"]),
            }
            for row in rows["drifts"]
        ],
        "models": [],  # a model's payload may hold anything
    }  # fmt: skip
    return json.dumps(result, indent=1)


def _without_hosts(value: str, host: Callable[[Any], str]) -> str:
    """A list of NAME:COUNT with hashes for names, cut where it would be too long for a setting."""
    parts = []
    for part in value.split(","):
        name, colon, count = part.partition(":")
        parts.append((name if name in ("", "*") else host(name)) + colon + count)
    while len(parts) > 1 and len(",".join(parts)) > _LONGEST_TEXT:
        parts.pop()
    return ",".join(parts)


def _day(seconds: float) -> int:
    return int(seconds // _DAY_SECONDS) * _DAY_SECONDS
