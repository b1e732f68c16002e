"""What a site's user guide would have a user set: a comparator of the searches (docs/models.md).

A shared file that is written is spread over all storage targets in stripes of a mebibyte, what is
collective is buffered collectively with an aggregator a node, and large objects are aligned to the
stripe. Candidates that follow more of the rules, and set less beside them, run first.
"""

from __future__ import annotations

from iotune.models.search import Point, Problem, Search

_STRIPE_BYTES = str(1 << 20)
# Settings that no rule names cost half a rule: a user who follows a guide does not set them.
_BESIDE = 0.5


class ExpertSearch(Search):
    """Runs the candidates by how many rules they follow, each once."""

    def __init__(self, problem: Problem, targets: int, collective: bool):
        super().__init__(problem, 0)
        self._targets, self._collective = targets, collective
        order = sorted(
            range(len(problem.points)), key=lambda at: -self._followed(problem.points[at])
        )
        self._order = iter(order)

    def next(self) -> int | None:
        """The next one of the order."""
        return next(self._order, None)

    def _followed(self, point: Point) -> float:
        score, left = 0.0, dict(point)
        if self._targets and left.get("striping_factor") == str(self._targets):
            del left["striping_factor"]
            score += 1 + 0.5 * (left.pop("striping_unit", "") == _STRIPE_BYTES)
        if self._collective:
            on = [left.pop(name, "") == "enable" for name in ("romio_cb_write", "romio_cb_read")]
            score += 1.0 * any(on)
        if left.pop("alignment", "").endswith(f",{_STRIPE_BYTES}"):
            score += 0.5
        return score - _BESIDE * len(left)
