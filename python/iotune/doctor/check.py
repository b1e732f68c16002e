"""What a check says. All values are plain: `as_json` is what `iotune doctor --json` prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from iotune.doctor.catalogue import KIND_OF

WORKS, PARTLY, FAILS, UNKNOWN = "works", "works partly", "does not work", "unknown"
VERDICTS = (FAILS, PARTLY, UNKNOWN, WORKS)  # the gravest first


@dataclass(frozen=True)
class Check:
    """One thing that was looked at: a fact, and what to do where it is not as it should be."""

    id: str  # of catalogue.py: also the section of the page
    verdict: str  # of VERDICTS
    evidence: str  # what was seen, in one line
    todo: str = ""  # in one line; never empty where the verdict is not `works`
    subject: str = ""  # of which program, library or directory; "": of the install

    def __post_init__(self) -> None:
        """One line each, and something to do where something is wrong."""
        assert self.id in KIND_OF and self.verdict in VERDICTS, self
        assert self.verdict == WORKS or self.todo, self
        for name in ("evidence", "todo", "subject"):
            object.__setattr__(self, name, " ".join(getattr(self, name).split()))

    @property
    def group(self) -> str:
        """The part of the output that it stands in."""
        return KIND_OF[self.id].group

    @property
    def page(self) -> str:
        """Where the documentation explains it."""
        return f"docs/howto/when-nothing-happens.md#{self.id}"

    def as_json(self) -> dict[str, str]:
        """Plain values (doctor.schema.json)."""
        return {
            "id": self.id, "group": self.group, "subject": self.subject, "verdict": self.verdict,
            "evidence": self.evidence, "todo": self.todo, "page": self.page,
        }  # fmt: skip


def worst_of(checks: Sequence[Check]) -> str:
    """The gravest verdict; WORKS of none."""
    return min((one.verdict for one in checks), key=VERDICTS.index, default=WORKS)
