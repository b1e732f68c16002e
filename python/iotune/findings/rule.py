"""What a rule is: a look at the facts of a run, and what to say where it sees something."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from iotune.findings.facts import Facts
from iotune.findings.finding import Estimate, Evidence, Snippet
from iotune.findings.snippets.named import EXAMPLE, Named


@dataclass(frozen=True)
class Sighting:
    """What a rule saw."""

    evidence: list[Evidence]  # one at least
    summary: str
    estimate: Estimate | None = None
    severity: str = ""  # "": by the time that the calls took
    layer: str = ""  # "": the rule's own
    advice: str = ""  # "": the rule's own, with its lines; else this alone
    # (file, dataset) of the evidence -> what the rule's lines name there
    named: Mapping[tuple[str, str], Named] = field(default_factory=dict)


@dataclass(frozen=True)
class Rule:
    """One finding's id, words and look."""

    id: str
    title: str
    layer: str
    advice: str
    look: Callable[[Facts], Sighting | None]
    snippets: tuple[Snippet, ...] = ()
    parameters: tuple[str, ...] = ()  # that iotune sets against it
    # Lines that name a dataset, before `snippets`.
    lines: Callable[[Named], tuple[Snippet, ...]] | None = None

    def snippets_for(self, named: Named = EXAMPLE) -> tuple[Snippet, ...]:
        """All lines; those about a dataset name this one."""
        return (*(self.lines(named) if self.lines else ()), *self.snippets)
