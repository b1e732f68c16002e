"""Cases whose files a run wrote one right after the other: measured together, answered each.

One replay of a checkpoint and its plot files tells of all three, where three would run the
checkpoint three times; and what one file's settings do to the next is in the sum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

from iotune.models.cases import Case, trace_of_case
from iotune.models.measuring.paired import AS_GOOD, compare
from iotune.models.measuring.race import DEFAULT
from iotune.models.outcome import Outcome
from iotune.models.replays.surroundings import files_before

# Who takes more of the time is judged by it: where the files together gain nothing, it does not.
_MOST = 0.5


def in_order(cases: Sequence[Case]) -> list[Case]:
    """By run, those of the latest first; of a run in the order in which it opened their files.

    What is found for one file holds where it is replayed before the next.
    """
    latest: dict[str, float] = {}
    for case in cases:
        latest[case.run] = max(latest.get(case.run, 0.0), case.opened_unix_seconds)
    return sorted(cases, key=lambda one: (-latest[one.run], one.run, one.opened_unix_seconds))


def groups(cases: Sequence[Case]) -> list[list[Case]]:
    """All cases, in order; together are those of one run that it wrote in a row."""
    waiting, found = in_order(cases), []
    while waiting:
        last = waiting.pop()
        near = _written_before(last)
        group = [last]
        for case in reversed(waiting):
            if (case.run, case.ranks, case.layer) != (last.run, last.ranks, last.layer):
                continue
            if not case.write:
                continue
            if case.file in near:
                near.remove(case.file)
                group.insert(0, case)
        waiting = [case for case in waiting if not any(case is one for one in group)]
        found.append(group)
    return found[::-1]


def _written_before(case: Case) -> set[str]:
    # Calls of MPI-IO and POSIX are replayed by another program.
    alone = not (case.write and case.file) or case.layer != "hdf5"
    trace = None if alone else trace_of_case(case)
    return {one.path for one in files_before(trace.summary, case.file)} if trace else set()


def shared(
    outcome: Outcome, members: Sequence[tuple[Case, list[int]]],
    file_seconds: Mapping[str, Sequence[Sequence[float]]], seed: int,
) -> list[Outcome]:  # fmt: skip
    """The answers of several cases, each with its files' numbers in the replay.

    `file_seconds`: by arm and run; the last runs of two arms are of the same rounds. What was
    proven is the gain of all files; a case has part in it whose own were AS_GOOD at least. Who is
    left out has to be measured again.
    """
    if not outcome.default_seconds:
        return []  # no candidate ran to its end, for whichever file's sake
    arms = (DEFAULT, outcome.winning_arm) if outcome.winner else (DEFAULT,)
    rounds = min(len(file_seconds[arm]) for arm in arms)

    def seconds(arm: str, parts: Sequence[int]) -> list[float]:
        return [sum(run[at] for at in parts) for run in file_seconds[arm][-rounds:]]

    found: list[Outcome] = []
    every = [at for _, parts in members for at in parts]
    for case, parts in members:
        own = seconds(DEFAULT, parts)
        others = ", ".join(Path(one.file).name for one, _ in members if one is not case)
        if outcome.winner is None:
            has_part = median(own) > _MOST * median(seconds(DEFAULT, every))
            note = f"measured together with {others}"
        else:
            gain = compare(own, seconds(outcome.winning_arm, parts), seed)
            has_part = gain.ratio >= AS_GOOD
            note = f"measured together with {others}; {gain.ratio:.2f}x for its own file"
        if has_part:
            speaks = case is outcome.case
            found.append(replace(outcome, case=case, speaks=speaks, notes=[*outcome.notes, note]))
    return found
