"""The table of what `iotune verify` says of others' tests, beside what was published of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench.results.pivot import chosen
from bench.results.tables import MarkdownTable, short

MODELS = {"posix": "POSIX", "commit": "commit", "session": "session", "mpiio": "MPI-IO"}
LIBRARIES = ("hdf5", "netcdf", "pnetcdf")
COLUMNS = ("test", "published: pairs, POSIX, commit, session, MPI-IO", "here", "verdicts")


def _figures(numbers: Sequence[int]) -> str:
    return "; ".join(short(number) for number in numbers)


def _outcome(found: dict[str, Any]) -> str:
    """Each answer once, with the models that it is about."""
    models: dict[str, list[str]] = {}
    for model, title in MODELS.items():
        if found[model] != "same":
            models.setdefault(found[model], []).append(title)
    return "; ".join(f"{', '.join(of)}: {said}" for said, of in models.items()) or "equal"


def written(content: dict[str, Any], note: str) -> dict[str, MarkdownTable]:
    """Return a line a test, those with published figures first, and the counts."""
    tests, left_out = MarkdownTable(COLUMNS, note=note), MarkdownTable(("test", "why"), note=note)
    for library in LIBRARIES:
        for found in content["rounds"].get(f"published {library}", []):
            if "ours" not in found:
                left_out.rows.append([found["test"], found["left out"]])
                continue
            figures = [_figures(found["published"]), _figures(found["ours"])]
            tests.rows.append([found["test"], *figures, _outcome(found)])
    rows = content["rows"]
    return {
        "published": tests, "left-out": left_out,
        "counts": chosen(rows, ": tests ", note), "speed": chosen(rows, "^(?!.*: tests )", note),
    }  # fmt: skip
