"""Data that is read again in each epoch, and waited for each time."""

from __future__ import annotations

from iotune.findings import thresholds as limit
from iotune.findings.facts import Facts, at_most
from iotune.findings.finding import Evidence
from iotune.findings.rule import Rule, Sighting
from iotune.findings.snippets import posix
from iotune.reports.tables import count_text, size_text
from iotune.traces.run_epochs import prefetched_in_all


def _waits_again(facts: Facts) -> Sighting | None:
    """Epochs behind the first one whose reads wait for storage, where nothing is read ahead."""
    later = facts.epochs.epochs[1:]
    able = sum(one.seconds * one.processes for one in later)
    inside = sum(one.read_seconds for one in later)
    reads, size = sum(one.reads for one in later), sum(one.bytes for one in later)
    if inside <= 0 or inside < limit.EPOCH_WAIT_SHARE * able:
        return None
    if inside < limit.WAITED_READ_SECONDS * reads or size > limit.MEMORY_RATE * inside:
        return None  # out of the page cache
    done = prefetched_in_all(facts.run)
    if done is not None and done.hits >= limit.EPOCH_AHEAD_SHARE * done.reads:
        return None
    same = sum(bool(one.repeats_order) for one in later)
    # As if all processes of an epoch waited alike: nobody knows whose reads the program waits for.
    seconds = sum(one.read_seconds / one.processes for one in later)
    again = count_text(len(later), "epoch")
    text = (
        f"{again} behind the first one read {size_text(size)} again, {same} of them in the order "
        f"of the one before; their processes are inside of reads for {inside / able:.0%} of the "
        "time"
    )
    shown = Evidence(text, _one_file(facts), "", (), reads, size, seconds)
    how = "of the later epochs' reads the time, divided by the processes that made them"
    order = "the same order" if same == len(later) else (
        "orders of which some are the same" if same else "another order each time"
    )  # fmt: skip
    summary = f"{again} wait for data that was read before, in {order}"
    return Sighting([shown], summary, at_most(seconds, facts, how))


def _one_file(facts: Facts) -> str:
    """The file with nearly all that was read; "" where there is none."""
    sizes = {one.path: one.bytes_read for one in facts.run.files}
    largest = max(sizes, key=lambda path: sizes[path], default="")
    return largest if sizes and sizes[largest] >= 0.9 * sum(sizes.values()) else ""


RULES = (
    Rule(
        "repeated-epochs",
        "each epoch waits for the same data again",
        "posix",
        "Where epochs have one order, let iotune read ahead by the plan of the epoch before "
        "(IOTUNE_PREFETCH=recorded); else more workers wait at the same time. Data that fits into "
        "the node's memory or onto its disk is copied there once, before the first epoch.",
        _waits_again,
        (posix.AHEAD, posix.WORKERS),
    ),
)
