"""Cases whose files a run wrote in a row: trained as a group, answered each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from iotune.models import case_groups, train
from iotune.models.case_groups import by_run_and_open_time, groups_of_cases, outcomes_of_group
from iotune.models.cases import Case
from iotune.models.measuring.paired import compare
from iotune.models.options import Options
from iotune.models.outcome import Measured, Outcome
from iotune.models.replays.preceding_files import PrecededPlan
from iotune.models.settings.candidates import Candidate
from iotune.models.train import train_cases

from iotune.errors import Error
from iotune.replay.mpi import find_mpi
from iotune.replay.plan import Dataset, Plan, PlanFile, Selection, Transfer
from iotune.replay.plan_build import plan_bytes
from iotune.traces.summary import DatasetPattern, FilePattern, RunSummary

pytestmark = pytest.mark.mpi


def a_case(name: str, opened: float, run: str = "r", write: bool = True) -> Case:
    """Of a run's file."""
    pattern = {"op": "write" if write else "read", "ranks": 2, "byte_key": name}
    return Case(1, pattern, {}, trace="t", run=run, file=name, opened_unix_seconds=opened)


def names(found: list[list[Case]]) -> list[list[str]]:
    return [[case.file for case in group] for group in found]


@pytest.fixture
def in_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file of /run was written right behind the one before it."""

    class OfRun:
        summary = RunSummary(
            files=[
                FilePattern(
                    path=f"/run/{name}.h5", opened_at_seconds=at, elapsed_seconds=1,
                    bytes_written=1, datasets=[DatasetPattern()],
                )
                for at, name in enumerate(["chk", "plt", "map"])
            ]
        )  # fmt: skip

    monkeypatch.setattr(case_groups, "trace_of_case", lambda case: OfRun())


def test_the_latest_run_is_first_and_its_cases_are_in_the_order_of_its_opens() -> None:
    cases = [a_case("c", 9, "new"), a_case("z", 5, "old"), a_case("a", 4, "new")]
    assert [one.file for one in by_run_and_open_time(cases)] == ["a", "c", "z"]


@pytest.mark.usefixtures("in_a_row")
def test_cases_whose_files_a_run_wrote_in_a_row_are_a_group() -> None:
    # given three files of a run, one of which was read too, and one that the trace does not have
    cases = [
        a_case("/run/map.h5", 12),
        a_case("/run/chk.h5", 10),
        a_case("/run/plt.h5", 11),
        a_case("/run/chk.h5", 10, write=False),
        a_case("/run/other.h5", 11.5),
        a_case("/run/plt.h5", 3, "old"),
    ]
    # then
    assert names(groups_of_cases(cases)) == [
        ["/run/chk.h5"],
        ["/run/other.h5"],
        ["/run/chk.h5", "/run/plt.h5", "/run/map.h5"],
        ["/run/plt.h5"],
    ]
    assert groups_of_cases(cases)[0][0].write is False
    assert groups_of_cases([]) == []


def test_without_the_trace_each_case_is_a_group_of_its_own() -> None:
    cases = [a_case("/run/chk.h5", 10), a_case("/run/plt.h5", 11)]
    assert names(groups_of_cases(cases)) == [["/run/chk.h5"], ["/run/plt.h5"]]


def an_outcome(won: bool) -> Outcome:
    """Of a group of three files."""
    winner = Measured(Candidate({"cb_nodes": "1"}), "applied", compare([3.0] * 4, [2.0] * 4, 1))
    outcome = Outcome(a_case("/run/chk.h5", 1), {}, [winner], [3.0] * 4, None)
    if won:
        outcome.winner, outcome.winning_arm, outcome.confirmed = winner, "c0", winner.gain
    return outcome


def answered(outcome: Outcome, default: list[float], tuned: Sequence[float] = ()) -> list[Outcome]:
    """Of three cases whose files take so many seconds."""
    members = [
        (outcome.case, [1]),
        (a_case("/run/plt.h5", 2), [0, 3]),
        (a_case("/run/map.h5", 3), [2]),
    ]
    # The default settled in, and ran on before the winner was tried.
    seconds = {"default": [[9.0] * 4] * 3 + [default] * 4, "c0": [list(tuned)] * 4}
    return outcomes_of_group(outcome, members, seconds, seed=1)


def test_a_group_s_gain_settles_the_cases_whose_own_files_gained() -> None:
    # given a file in two parts that gains in sum, and one that loses
    found = answered(an_outcome(True), [0.5, 2.0, 0.5, 0.5], [0.6, 1.0, 0.7, 0.1])
    # then
    assert [one.case.file for one in found] == ["/run/chk.h5", "/run/plt.h5"]
    tunings: list[dict[str, Any]] = [one.as_tuning() for one in found]
    assert all(one["settings"] == {"cb_nodes": "1"} for one in tunings)
    assert tunings[0]["gain"] == tunings[1]["gain"] == pytest.approx(1.5)
    assert "1.43x for its own file" in found[1].notes[0] and "chk.h5" in found[1].notes[0]
    # and how settings travel is learnt of the pattern that was most of it
    assert found[0].trials_json() is not None and found[1].trials_json() is None


def test_where_no_candidate_ran_to_its_end_no_case_is_settled() -> None:
    outcome = an_outcome(False)
    outcome.default_seconds = []
    assert answered(outcome, [0.1, 2.0, 0.5, 0.1]) == []


def test_without_a_gain_only_the_case_with_most_of_the_time_is_settled() -> None:
    found = answered(an_outcome(False), [0.1, 2.0, 0.5, 0.1])
    assert [one.case.file for one in found] == ["/run/chk.h5"]
    assert found[0].as_tuning()["state"] == "default-is-best"
    assert answered(an_outcome(False), [1.0, 1.0, 1.0, 1.0]) == []


def a_plan(*sizes: int) -> Plan:
    """Of files that take so many MiB."""
    whole = {0: Selection("all")}
    return Plan(2, [
        PlanFile(
            f"/run/{at}.h5", True, [Dataset("/d", 1 << 20, (size,))],
            [Transfer(True, 0, True, whole)],
        )
        for at, size in enumerate(sizes)
    ])  # fmt: skip


class Trained:
    """train_cases(), of which the replays behind another file fail."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path):
        self.folder = folder
        self.most_bytes = 0
        self.replays: list[PrecededPlan] = []
        monkeypatch.setattr(train, "plan_of_case", lambda case: a_plan(1))
        monkeypatch.setattr(train, "preceded_plan_of_case", self.preceded_plan)
        monkeypatch.setattr(train, "_train", self.train)

    def preceded_plan(self, case: Case, plan: Plan, *more: Any) -> PrecededPlan:
        self.most_bytes = more[-1]
        return PrecededPlan(a_plan(5, 1), frozenset([1]), {})

    def train(self, cases: list[Case], plan: Plan, replay: PrecededPlan, *_: Any) -> list[Outcome]:
        self.replays.append(replay)
        if replay.preceding_names:
            raise Error("0.h5 cannot be created")
        return []

    def __call__(self, *cases: Case) -> None:
        options = Options(directory=self.folder)
        train_cases(cases, find_mpi(), Path("replay"), options, lambda what, more: None)


def test_a_case_whose_preceding_files_fail_is_replayed_without_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    trained = Trained(monkeypatch, tmp_path)
    # when
    trained(a_case("/run/1.h5", 2))
    # then
    [_, by_itself] = trained.replays
    assert by_itself.preceding_names == []
    assert by_itself.notes == ("replayed without the files before it: 0.h5 cannot be created",)
    # but a group is not: its cases are tried one by one first
    with pytest.raises(Error, match="cannot be created"):
        trained(a_case("/run/0.h5", 1), a_case("/run/1.h5", 2))


def test_files_before_have_what_room_there_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    trained = Trained(monkeypatch, tmp_path)
    seen = []
    for free in (1000 << 20, 100 << 20, None):
        monkeypatch.setattr(train, "room_of", lambda folder, free=free: free)
        trained(a_case("/run/1.h5", 2))
        seen.append(trained.most_bytes >> 20)
    assert seen == [512, 36, 512]


def test_candidates_fit_one_file_of_a_series() -> None:
    # given a case of three files, and one of a file that is larger than each but not than all
    case, last = a_case("/run/2.h5", 2), a_case("/run/3.h5", 3)
    replay = PrecededPlan(a_plan(5, 5, 5, 6), frozenset(range(4)), {})
    plan = Plan(2, replay.plan.files[3:])
    # then
    largest, of_case = train.case_with_most_bytes([(case, [0, 1, 2]), (last, [3])], replay, plan)
    assert largest is case and plan_bytes(of_case) == 5 << 20
    assert train.case_with_most_bytes([(case, [0]), (last, [3])], replay, plan) == (last, plan)
