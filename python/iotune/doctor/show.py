"""The checks as text of 80 cells, on a terminal and in a pipe alike."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence

from iotune.doctor.catalogue import GROUPS
from iotune.doctor.check import FAILS, PARTLY, VERDICTS, WORKS, Check
from iotune.doctor.visit import Visit
from iotune.reports.tables import count_text
from iotune.talk import data, printable

_WIDTH = 80
_ID, _VERDICT = 18, 15  # cells, the gap behind them included
_HEAD = _ID + _VERDICT + 2
_TITLES = {
    "install": "The install and its surroundings",
    "mpi": "MPIs of this node",
    "program": "The program",
    "directory": "The directory",
}
_OF_SEVERAL = {WORKS: "work", PARTLY: "work partly", FAILS: "do not work"}


def show_visit(found: Visit) -> None:
    """Print all checks by their groups, and a line of counts."""
    for group in GROUPS:
        checks = [one for one in found.checks if one.group == group]
        if checks:
            data(_TITLES[group])
            _print_group(checks)
            data()
    data(counts_text(found.checks))


def counts_text(checks: Sequence[Check]) -> str:
    """How many of each verdict: "12 work, 1 works partly"."""
    counts = Counter(one.verdict for one in checks)
    parts = [
        f"{number} {_OF_SEVERAL.get(verdict, verdict) if number > 1 else verdict}"
        for verdict in reversed(VERDICTS)
        if (number := counts[verdict])
    ]
    return f"{count_text(len(checks), 'check')}: {', '.join(parts)}"


def _print_group(checks: Iterable[Check]) -> None:
    subject = ""
    for one in checks:
        _print_text(one.evidence, f"  {one.id:<{_ID}}{one.verdict:<{_VERDICT}}")
        if one.subject not in ("", subject):
            _print_text(one.subject, " " * _HEAD)
            subject = one.subject
        if one.verdict != WORKS:
            _print_text(one.todo, " " * _HEAD + "do: ")


def _print_text(text: str, head: str) -> None:
    """Broken between words. What has a word that the column does not hold begins a line further
    left: a path is never broken.
    """
    words, later = printable(text), " " * _HEAD
    if any(len(word) > _WIDTH - max(_HEAD, len(head)) for word in words.split()):
        if head.strip() and not head.endswith("do: "):
            data(head.rstrip())
        head, later = "    do: " if head.endswith("do: ") else "    ", "    "
    for line in textwrap.wrap(
        words, _WIDTH, initial_indent=head, subsequent_indent=later, break_long_words=False,
        break_on_hyphens=False,
    ):  # fmt: skip
        data(line)
