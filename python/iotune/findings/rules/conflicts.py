"""The same bytes of several processes, and whether anything orders their accesses."""

from __future__ import annotations

from iotune.findings.facts import Facts, counted
from iotune.findings.finding import HIGH, LOW, MEDIUM, Evidence
from iotune.findings.rule import Rule, Sighting
from iotune.findings.snippets import mpiio
from iotune.reports.tables import count_text, size_text
from iotune.verify.conflicts import WRITE_WRITE, FileConflicts, Place, who_both
from iotune.verify.verdicts import FileVerdict, Violation
from iotune.verify.words import calls_text

_POSIX = "posix"


def _overlapping(facts: Facts) -> Sighting | None:
    """Bytes that two ranks wrote, however few. Commands of a script, which are no ranks, write the
    same file one after the other.
    """
    if not _are_shared(facts, 2):
        return None
    found = [one for file, said in facts.conflicts if (one := _overlap(facts, file, said))]
    if not found:
        return None
    summary = f"two ranks write the same bytes of {count_text(len(found), 'file')}"
    if facts.order_recorded:
        return Sighting(found, f"{summary}, in an order that the program makes", severity=LOW)
    summary += "; iotune run --order records whether the program orders them"
    return Sighting(found, summary, severity=MEDIUM)


def _overlap(facts: Facts, file: FileConflicts, said: FileVerdict | None) -> Evidence | None:
    """None: nothing, or what unordered-accesses says."""
    races = {(one.first, one.second) for one in _races(said) if one.kind == WRITE_WRITE}
    sites = [
        one
        for one in file.sites
        if one.kind == WRITE_WRITE
        and _is_of_program(one.example)
        and (one.first, one.second) not in races
    ]
    if not sites or facts.is_sieved(file.path):
        return None
    first, end = sites[0].bytes_of_example
    pairs = sum(site.pairs for site in sites)
    more = "" if pairs == 1 else f", the first of {pairs:,} pairs of writes"
    who = " and ".join(who_both(sites[0].example))
    text = f"{who} both write the {size_text(end - first)} at {first:,}{more}"
    ranks = tuple(sorted({each.rank for site in sites for each in site.example}))
    return counted(text, file.path, "", ranks, 0, end - first, {})


def _unordered(facts: Facts) -> Sighting | None:
    """Conflicts that nothing orders, where the trace has what orders processes."""
    if not _are_shared(facts, 1) or not facts.order_recorded:
        return None
    found, layers = [], []
    for file, said in facts.conflicts:
        races = [one for one in _races(said) if one.example and _is_of_program(one.example)]
        if races and not facts.is_sieved(file.path):
            found.append(_race(file.path, races))
            layers.append(_layer_of(races[0]))
    if not found:
        return None
    summary = f"nothing orders accesses to the same bytes of {count_text(len(found), 'file')}"
    if not facts.knows_all_order:
        more = "; iotune verify says what was recorded and counts as no order"
        return Sighting(found, summary + more, severity=MEDIUM, layer=layers[0])
    return Sighting(found, summary, severity=HIGH, layer=layers[0])


def _races(said: FileVerdict | None) -> list[Violation]:
    return [one for one in said.sites if one.model == _POSIX] if said is not None else []


def _race(path: str, races: list[Violation]) -> Evidence:
    example = races[0].example
    assert example is not None  # chosen so
    one, other = example
    wrong, pairs = sum(each.violations for each in races), sum(each.pairs for each in races)
    names = who_both(example)
    calls = calls_text(races[0].first, races[0].second)
    text = (
        f"{names[0]} {one.deed} and {names[1]} {other.deed}, of {wrong:,} unordered "
        f"{'pair' if wrong == 1 else 'pairs'} of {pairs:,}, by {calls}"
    )
    shared = min(one.offset + one.length, other.offset + other.length)
    places = {place.rank for each in races if each.example for place in each.example}
    ranks = tuple(sorted(places))
    return counted(text, path, "", ranks, 0, shared - max(one.offset, other.offset), {})


def _layer_of(one: Violation) -> str:
    """Of the program's own call."""
    return "hdf5" if one.first.startswith("H5") else (
        "mpiio" if one.first.startswith("MPI_") else _POSIX
    )  # fmt: skip


def _are_shared(facts: Facts, writers: int) -> bool:
    """Whether two processes use a file, and so many of them write it."""
    for streams in facts.by_file(lambda one: one.meaning.transfer and one.bytes > 0).values():
        writing = {one.process for one in streams if one.meaning.writes}
        if len(writing) >= writers and len({one.process for one in streams}) > 1:
            return True
    return False


def _is_of_program(example: tuple[Place, Place]) -> bool:
    """Not HDF5's own metadata, nor aggregators of collective transfers, which MPI-IO orders."""
    if any(each.metadata or each.rank < 0 for each in example):
        return False
    return not all(each.collective for each in example)


RULES = (
    Rule(
        "unordered-accesses",
        "ranks touch the same bytes in no order",
        "mpiio",
        "Order them: a message or a barrier behind the first access, before the other one. Where "
        "MPI-IO moves the bytes it takes MPI_File_sync on both sides of it as well. `iotune "
        "verify` names all of them, and the call that is missing.",
        _unordered,
        mpiio.ORDER,
    ),
    Rule(
        "overlapping-writes",
        "ranks write the same bytes",
        "mpiio",
        "Let one rank write what all have, and each only its own part. Without messages between "
        "them it is not defined which rank's bytes stay, and the file system orders them by locks.",
        _overlapping,
        mpiio.OWN_BYTES,
    ),
)
