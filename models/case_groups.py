"""Cases whose files a run wrote one right after the other: trained as a group, answered each.

One replay of a checkpoint and its plot files measures all three. Three replays would write the
checkpoint three times. What one file's settings do to the next file is in the group's time.
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
from iotune.models.replays.preceding_files import files_written_before

# Where no setting gains for the group, "default is best" holds for the case whose files take more
# than this part of the group's time. The others may still gain by themselves.
_MOST_OF_THE_TIME = 0.5


def by_run_and_open_time(cases: Sequence[Case]) -> list[Case]:
    """The latest run's cases first; those of one run in the order in which it opened their files.

    So the answer for a file is there when that file is replayed before the next one.
    """
    latest: dict[str, float] = {}
    for case in cases:
        latest[case.run] = max(latest.get(case.run, 0.0), case.opened_unix_seconds)
    return sorted(cases, key=lambda one: (-latest[one.run], one.run, one.opened_unix_seconds))


def groups_of_cases(cases: Sequence[Case]) -> list[list[Case]]:
    """All cases, by_run_and_open_time(). A group is of one run, which wrote its files in a row."""
    waiting, found = by_run_and_open_time(cases), []
    while waiting:
        last = waiting.pop()
        before = _paths_written_before(last)
        group = [last]
        for case in reversed(waiting):
            if (case.run, case.ranks, case.layer) != (last.run, last.ranks, last.layer):
                continue
            if not case.write:
                continue
            if case.file in before:
                before.remove(case.file)
                group.insert(0, case)
        waiting = [case for case in waiting if not any(case is one for one in group)]
        found.append(group)
    return found[::-1]


def _paths_written_before(case: Case) -> set[str]:
    # Calls of MPI-IO and POSIX are replayed by another program, which replays one file.
    is_alone = not (case.write and case.file) or case.layer != "hdf5"
    trace = None if is_alone else trace_of_case(case)
    return {one.path for one in files_written_before(trace.summary, case.file)} if trace else set()


def outcomes_of_group(
    outcome: Outcome, members: Sequence[tuple[Case, list[int]]],
    file_seconds: Mapping[str, Sequence[Sequence[float]]], seed: int,
) -> list[Outcome]:  # fmt: skip
    """The outcomes of the cases that a group's measurement settles.

    `outcome` is of the whole group. `members`: each case with the numbers of its files in the
    replay. `file_seconds`: by arm and run, each file's seconds; the last runs of two arms are of
    the same rounds. Where the group gained, a case is settled if its own files got no slower
    (within AS_GOOD). Where it did not, _MOST_OF_THE_TIME decides. A case that is not settled has to
    be measured again.
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
            is_settled = median(own) > _MOST_OF_THE_TIME * median(seconds(DEFAULT, every))
            note = f"measured together with {others}"
        else:
            gain = compare(own, seconds(outcome.winning_arm, parts), seed)
            is_settled = gain.ratio >= AS_GOOD
            note = f"measured together with {others}; {gain.ratio:.2f}x for its own file"
        if is_settled:
            is_dominant = case is outcome.case
            found.append(
                replace(outcome, case=case, is_dominant=is_dominant, notes=[*outcome.notes, note])
            )
    return found
