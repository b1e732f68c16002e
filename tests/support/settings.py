"""Settings given by a configuration, and what a trace says became of them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

VERDICTS = ("applied", "without effect", "refused", "unverifiable", "not listed")


def write_config(path: Path, **settings: object) -> Path:
    """H5Tuner's XML at `path`, which is given back; None leaves a setting out."""
    leaves = "".join(
        f"<{name}>{value}</{name}>" for name, value in settings.items() if value is not None
    )
    path.write_text(
        f"<Parameters><Parallel_File_System>{leaves}</Parallel_File_System></Parameters>"
    )
    return path


def outcomes(calls: Iterable[dict[str, Any]]) -> dict[str, tuple[str, str, str]]:
    """Parameter: verdict, what was read back, reason; of the first open."""
    found: dict[str, tuple[str, str, str]] = {}
    for call in calls:
        if call["name"] == "iotune_setting":
            _, parameter, _, got, reason = call["texts"]
            found.setdefault(parameter, (VERDICTS[call["numbers"][0]], got, reason))
    return found
