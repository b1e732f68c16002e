"""Each finding of POSIX and stdio: a program that shows it, and its mended twin without any."""

from __future__ import annotations

import pytest

from support.installed.habits import Habits, ids, needs_the_library

pytestmark = needs_the_library

HABITS = {
    "small-writes": "small-writes",
    "small-reads": "small-reads",
    "random-reads": "random-reads",
    "random-writes": "random-writes",
    "redundant-reads": "repeated-reads",
    "redundant-writes": "repeated-writes",
    "misaligned": "misaligned",
    "syncs": "many-syncs",
    "seeks": "many-seeks",
    "stdio": "stdio-bulk",
    "opens": "many-opens",
    "stats": "many-queries",
    "many-files": "small-files",
}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Habits:
    return Habits(tmp_path_factory.mktemp("habits"), "posix_habits")


@pytest.mark.parametrize(("habit", "id"), HABITS.items())
def test_a_habit_is_found_and_its_mended_twin_has_nothing(
    programs: Habits, habit: str, id: str
) -> None:
    found = programs.findings(habit, good=False)
    assert id in ids(found), ids(found)
    assert ids(programs.findings(habit, good=True)) == []


def test_evidence_has_the_numbers(
    programs: Habits, tmp_path_factory: pytest.TempPathFactory
) -> None:
    again = Habits(tmp_path_factory.mktemp("again"), "posix_habits")
    (one,) = again.findings("small-writes", good=False).findings
    (shown,) = one.evidence
    assert (shown.calls, shown.bytes) == (4096, 4096 * 512)
    assert shown.file.endswith("/small-writes-bad/out.bin")
    assert shown.ranks == () and shown.seconds is not None and shown.seconds > 0
    assert one.layer == "posix" and one.estimate is not None
    assert one.estimate.seconds <= shown.seconds
    (again_read,) = again.findings("redundant-reads", good=False).findings
    assert again_read.evidence[0].bytes == 7 * 4 * 2**20
