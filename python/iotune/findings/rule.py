"""What a rule is: a look at the facts of a run, and what to say where it sees something."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from iotune.findings.facts import Facts
from iotune.findings.finding import Estimate, Evidence, Snippet


@dataclass(frozen=True)
class Sighting:
    """What a rule saw."""

    evidence: list[Evidence]  # one at least
    summary: str
    estimate: Estimate | None = None
    severity: str = ""  # "": by the time that the calls took
    layer: str = ""  # "": the rule's own


@dataclass(frozen=True)
class Rule:
    """One finding's id, words and look."""

    id: str
    title: str
    layer: str
    advice: str
    look: Callable[[Facts], Sighting | None]
    snippets: tuple[Snippet, ...] = ()
    # Parameters that iotune sets against it, each with a value that stands for its class.
    parameters: tuple[tuple[str, str], ...] = ()


def c(code: str) -> Snippet:
    """Lines of C."""
    return Snippet("c", code.strip("\n"))


def python(code: str) -> Snippet:
    """Lines of Python."""
    return Snippet("python", code.strip("\n"))


def shell(code: str) -> Snippet:
    """Lines of a job script."""
    return Snippet("shell", code.strip("\n"))
