"""Files that ranks share, of a log's totals: independent access, aggregators, stripes."""

from __future__ import annotations

from collections.abc import Callable

from iotune.findings import thresholds as limit
from iotune.findings.facts import Facts, at_most, counted, slowest
from iotune.findings.finding import Evidence
from iotune.findings.rule import Sighting
from iotune.findings.totals.use import VERBS, Use, mpi_io_of, uses
from iotune.reports.tables import size_text

_HOW = "all the time of these requests; exchanging the data first costs some of it again"


# What is said of a file's transfers in one direction, how many they are, and whose time they took.
_Said = tuple[str, int, dict[int, float]]


def _look(
    facts: Facts, layer: str, judge: Callable[[Use, bool], _Said | None], what: str
) -> Sighting | None:
    """All files, both directions; `what` has the number of requests in it."""
    found: list[Evidence] = []
    for one in uses(facts, layer):
        for writes in (True, False):
            said = judge(one, writes)
            if said is not None:
                text, calls, times = said
                found.append(counted(text, one.file, "", (), calls, one.bytes(writes), times))
    if not found:
        return None
    summary = what.format(calls=sum(one.calls for one in found))
    return Sighting(found, summary, at_most(slowest(found), facts, _HOW))


def _independent(facts: Facts) -> Sighting | None:
    """Of a file of which the log counts independent transfers, and few collective ones."""

    def judge(one: Use, writes: bool) -> _Said | None:
        verb = VERBS[writes]
        calls, together, size = one.alone(writes), one.together(writes), one.bytes(writes)
        if one.ranks < 2 or calls < limit.FEW_INDEPENDENT_CALLS or together >= calls:
            return None
        if size > limit.INDEPENDENT_BYTES * (calls + together):
            return None
        text = (
            f"{calls:,} independent {verb}s and {together:,} collective ones of "
            f"{size_text(size / (calls + together))} on average, by {one.ranks:,} ranks; "
            "where they lie the log does not say"
        )
        # Beside collective ones, in which ranks wait for each other, their time is not known.
        return text, calls, {} if together else one.part_of_slowest(f"{verb}_seconds")

    what = "{calls:,} independent requests that MPI-IO may be able to gather"
    return _look(facts, "mpiio", judge, what)


def _ungathered(facts: Facts) -> Sighting | None:
    def judge(one: Use, writes: bool) -> _Said | None:
        above = mpi_io_of(one)
        together = above.together(writes) if above else 0
        calls, size = one.transfers(writes), one.bytes(writes)
        if above and above.alone(writes) >= 0.5 * calls:
            return None  # they are of independent ones
        few = max(limit.FEW_INDEPENDENT_CALLS, limit.UNGATHERED_REQUESTS * together)
        if not together or calls < few or size > limit.SMALL_BYTES * calls:
            return None
        text = (
            f"{calls:,} {VERBS[writes]}s of {size_text(size / calls)} on average for "
            f"{together:,} collective calls"
        )
        return text, calls, one.part_of_slowest(f"{VERBS[writes]}_seconds")

    what = "MPI-IO made {calls:,} small requests of collective calls, and gathered nothing"
    return _look(facts, "posix", judge, what)


def _narrow(facts: Facts) -> Sighting | None:
    found: list[Evidence] = []
    for one in uses(facts, "posix"):
        size = one.bytes(True) + one.bytes(False)
        if size < limit.NARROW_BYTES or one.ranks < 2:
            continue
        if facts.striping(one.file).get("striping_factor") != "1":
            continue
        text = f"{size_text(size)} through one storage target, for {one.ranks:,} ranks"
        times = {int(one.slowest["rank"]): one.seconds} if one.slowest else {}
        calls = one.transfers(True) + one.transfers(False)
        found.append(counted(text, one.file, "", (), calls, size, times))
    if not found:
        return None
    summary = f"{size_text(sum(one.bytes for one in found))} go to files of one stripe"
    return Sighting(found, summary)


LOOKS = {
    "independent-transfers": _independent,
    "ungathered-collectives": _ungathered,
    "narrow-striping": _narrow,
}
