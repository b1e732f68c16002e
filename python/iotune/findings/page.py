"""docs/findings.md, and of it what `iotune advise --explain ID` prints.

`python -m iotune.findings.page > docs/findings.md` writes it anew.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from iotune.findings import thresholds
from iotune.findings.rule import Rule
from iotune.findings.rules import RULES
from iotune.findings.words import WORDS

_WIDTH = 100
_LAYERS = {"posix": "POSIX", "stdio": "stdio", "mpiio": "MPI-IO", "hdf5": "HDF5"}

_HEAD = (
    "`iotune advise` looks at a trace for what is known to be slow. Each finding has an id, which "
    "is a heading of this page; `iotune advise --explain ID` prints its part. A program that does "
    "nothing of this has no finding, however slow it is.",
    "**Severity** is the share of the run's time that the slowest rank spent in the calls that "
    f"show it: high from {thresholds.HIGH_SHARE:.0%}, medium from "
    f"{thresholds.MEDIUM_SHARE:.0%}, else low. Where the log has no times it is medium. Some "
    "findings have one severity whatever they took, where their part says so.",
    "**What it may be worth** is an upper bound: the calls do not become free. How it was "
    "reckoned is said beside it. Where nothing is known there is no number. Times are as true as "
    "the trace's (`iotune run --timing exact`).",
    "**What iotune sets** are parameters that its gates allow for this file, MPI, HDF5 and file "
    "system (docs/safety.md). They are set once training has measured that they help; *set in "
    "this run* is what the trace says. Where none is named, the program has to change.",
    "Paths below /proc, /sys, /dev (but not /dev/shm), /etc, /lib and /usr, and files of Python, "
    "Java and shared libraries, are no data and are left out. Thresholds stand in one file, "
    "python/iotune/findings/thresholds.py, with their reasons. Nobody looks whether transfers "
    "could overlap with computing.",
    "From Python: `iotune.findings.findings_of(iotune.open_trace(path))` gives the same as "
    "dataclasses. `--json` prints what [json.md](json.md) describes.",
)


def section(rule: Rule) -> str:
    """One id's part of the page."""
    words = WORDS[rule.id]
    parts = [
        f"## {rule.id}",
        f"**{rule.title[0].upper()}{rule.title[1:]}** ({_LAYERS[rule.layer]}). {words.means}",
        f"*How it is measured.* {words.measured}",
        f"*What to do.* {rule.advice}",
    ]
    text = [_wrapped(part) for part in parts]
    text += [f"```{one.language}\n{one.code}\n```" for one in rule.snippets_for()]
    if rule.parameters:
        names = ", ".join(f"`{name}`" for name in rule.parameters)
        text.append(_wrapped(f"*What iotune may set.* {names}."))
    text.append(_wrapped(f"*When it does not matter.* {words.leave}"))
    return "\n\n".join(text) + "\n"


def page(rules: Iterable[Rule] = RULES) -> str:
    """The whole page."""
    rules = tuple(rules)
    rows = "\n".join(
        f"| [{one.id}](#{one.id}) | {_LAYERS[one.layer]} | {one.title} |" for one in rules
    )
    table = f"| id | layer | what |\n| --- | --- | --- |\n{rows}\n"
    head = [f"# Findings\n\n{_wrapped(one)}\n" if one is _HEAD[0] else f"{_wrapped(one)}\n"
            for one in _HEAD]  # fmt: skip
    return "\n".join([*head, table, *(section(one) for one in rules)])


def _wrapped(text: str) -> str:
    return textwrap.fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    print(page(), end="")
