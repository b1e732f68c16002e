"""Findings out of a log's totals: the same ids as of calls, as far as counters show them."""

from __future__ import annotations

from collections.abc import Callable

from iotune.findings.facts import Facts
from iotune.findings.rule import Sighting
from iotune.findings.totals import calls, files, ranks, requests

_LOOKS: dict[str, Callable[[Facts], Sighting | None]] = {
    **requests.LOOKS,
    **files.LOOKS,
    **ranks.LOOKS,
    **calls.LOOKS,
}
# What calls of a log cannot show, or not of all files.
_BESIDE_CALLS = ("imbalance", "metadata-time")


def look_at_totals(id: str, facts: Facts) -> Sighting | None:
    """What the totals show of a finding that the calls did not; None where the log has none."""
    if not facts.totals or (facts.run.has_calls and id not in _BESIDE_CALLS):
        return None
    look = _LOOKS.get(id)
    return look(facts) if look is not None else None
