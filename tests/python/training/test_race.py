"""The trainer's race, among arms whose worth is known, and what one teaches the next."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from iotune.models.cases import Case
from iotune.models.contest import to_confirm
from iotune.models.lessons import Lessons
from iotune.models.measuring.paired import Gain
from iotune.models.measuring.race import (
    DEFAULT,
    FEWEST_ROUNDS,
    Mechanisms,
    Race,
    joinable,
    kind_of,
    most_runs,
)
from iotune.models.outcome import Measured, Outcome
from iotune.models.settings.candidates import (
    ALIGNMENT,
    Candidate,
    Shape,
    candidates,
    parse_candidate,
)
from iotune.models.settings.space import space


class Storage:
    """Arms of known seconds, up to 5 % slower by noise, now and then thrice as slow."""

    def __init__(self, seconds: dict[str, float], seed: int = 7, tail: float = 0.0) -> None:
        self.seconds = {DEFAULT: 1.0, **seconds}
        self.draw = random.Random(seed)
        self.tail = tail
        self.runs: list[str] = []

    def run(self, name: str) -> float | None:
        self.runs.append(name)
        if self.seconds[name] == 0:
            return None
        slow = 3 if self.draw.random() < self.tail else 1
        return self.seconds[name] * self.draw.uniform(1, 1.05) * slow

    def round(self, names: Sequence[str]) -> dict[str, float]:
        return {name: found for name in names if (found := self.run(name)) is not None}


def nothing(_winner: str, _others: Sequence[str]) -> list[str]:
    return []


@pytest.mark.parametrize("seed", range(20))
def test_the_fastest_of_many_is_a_finalist_with_all_its_rounds(seed: int) -> None:
    # given candidates 8 % apart, of which one is the fastest
    storage = Storage({f"c{number}": 1.6 - 0.08 * number for number in range(12)}, seed)
    race = Race(storage.round, seed)
    # when
    finalists = race.run_all([f"c{number}" for number in range(12)], 5, nothing)
    # then
    assert finalists[0] == "c11"
    gain = race.gain("c11", 12)
    assert gain is not None and gain.rounds >= 5 and gain.clears_one
    # and those that cannot win cost one run each
    assert storage.runs.count("c0") == 1
    assert race.rounds_of("c0")[0][DEFAULT] > 0


@pytest.mark.parametrize("seed", range(20))
def test_two_mechanisms_are_joined(seed: int) -> None:
    storage = Storage({"stripes": 0.6, "aggregators": 0.8, "sieve": 1.0, "both": 0.45}, seed)
    asked: list[tuple[str, list[str]]] = []

    def join(winner: str, others: Sequence[str]) -> list[str]:
        asked.append((winner, list(others)))
        return ["both"]

    race = Race(storage.round, seed)
    finalists = race.run_all(["sieve", "aggregators", "stripes"], 3, join)
    assert asked[0][0] == "stripes" and asked[0][1][0] == "aggregators"
    assert finalists[0] == "both"
    # A lead so clear needs no third round: rounds of its own follow anyway.
    assert len(race.rounds_of("both")) >= 2


@pytest.mark.parametrize("seed", range(20))
def test_who_was_lucky_is_not_who_is_fast(seed: int) -> None:
    """Where files fall on the storage decides a run: one arm is at times very fast."""

    class Placement(Storage):
        def run(self, name: str) -> float | None:
            lucky = name == "seldom" and self.draw.random() < 0.15
            return (super().run(name) or 0) * (0.6 if lucky else 1)

    storage = Placement({"steady": 0.4, "seldom": 0.52, "slow": 0.8}, 100 + seed)
    finalists = Race(storage.round, seed).run_all(["slow", "seldom", "steady"], 7, nothing)
    assert finalists[0] == "steady"


def test_of_those_that_are_close_none_runs_more_often_than_it_takes() -> None:
    """Which of equals is the best is worth no run."""
    storage = Storage({"a": 0.5, "b": 0.51, "far": 0.9})
    race = Race(storage.round, 1)
    assert set(race.run_all(["a", "b", "far"], 3, nothing)) == {"a", "b"}
    assert len(race.rounds_of("far")) == 1
    assert len(race.rounds_of("a")) == len(race.rounds_of("b")) == 2


def of_parameters(*texts: str) -> tuple[list[str], Mechanisms]:
    return list(texts), Mechanisms({one: kind_of(parse_candidate(one).settings) for one in texts})


def test_a_mechanism_that_is_far_behind_costs_two_runs_whatever_its_amounts() -> None:
    """Amounts of one parameter are one mechanism; and what adds amounts to it follows it."""
    names, kinds = of_parameters(
        "romio_cb_write=disable", "cb_nodes=2;cb_config_list=*:2", "cb_nodes=4;cb_config_list=*:4",
        "cb_nodes=8;cb_config_list=*:8", "cb_buffer_size=4",
        "cb_nodes=8;cb_config_list=*:8;cb_buffer_size=4",
        "romio_cb_write=disable;romio_ds_write=disable",
    )  # fmt: skip
    seconds = {name: 3.0 if "cb_nodes" in name else 1.0 for name in names}
    storage = Storage({**seconds, "romio_cb_write=disable": 0.3})
    race = Race(storage.round, 1)
    assert race.run_all(names, 5, nothing, kinds) == ["romio_cb_write=disable"]
    ran = [storage.runs.count(name) for name in names]
    assert ran[1:4] == [1, 1, 0] and ran[5] == 0, ran
    assert len(storage.runs) <= 12, storage.runs


@pytest.mark.parametrize("seed", range(10))
def test_one_unlucky_run_does_not_end_a_mechanism(seed: int) -> None:
    names, kinds = of_parameters("cb_nodes=2", "cb_nodes=4", "cb_nodes=8", "romio_cb_write=disable")

    class Unlucky(Storage):
        def run(self, name: str) -> float | None:
            slow = 9 if name == "cb_nodes=2" and name not in self.runs else 1
            return (super().run(name) or 0) * slow

    storage = Unlucky({"cb_nodes=2": 0.5, "cb_nodes=4": 0.45, "cb_nodes=8": 0.3,
                       "romio_cb_write=disable": 1.0}, seed)  # fmt: skip
    assert Race(storage.round, seed).run_all(names, 5, nothing, kinds)[0] == "cb_nodes=8"


def test_where_nobody_is_faster_three_rounds_are_enough() -> None:
    names = [f"c{number}" for number in range(6)]
    for seconds, rounds in ((1.0, FEWEST_ROUNDS), (1.5, 2)):
        storage = Storage({name: seconds for name in names})
        race = Race(storage.round, 1)
        race.run_all(names, 12, nothing)
        assert max(len(race.rounds_of(name)) for name in names) == rounds


def test_a_race_keeps_within_its_runs() -> None:
    for number in (1, 2, 3, 5, 8, 12, 17):
        for rounds in (3, 5, 9):
            names = [f"c{one}" for one in range(number)]
            joined = ["j0", "j1", "j2", "j3"]
            storage = Storage({name: 1.0 for name in [*names, *joined]})
            race = Race(storage.round, 1)
            race.run_all(names, rounds, lambda _winner, _others: joined)  # noqa: B023
            assert len(storage.runs) + 2 * rounds <= most_runs(number, rounds), (number, rounds)


def test_who_fails_is_out_and_the_default_is_not() -> None:
    storage = Storage({"a": 0.5, "b": 0, "c": 0.9})
    race = Race(storage.round, 1)
    assert race.run_all(["a", "b", "c"], 3, nothing)[0] == "a"
    assert storage.runs.count("b") == 1 and race.gain("b", 3) is None
    assert Race(Storage({"b": 0}).round, 1).run_all(["b"], 3, nothing) == []
    with pytest.raises(ValueError, match="default"):
        Race(lambda names: {}, 1).round(["a"])


@pytest.mark.parametrize("seed", range(20))
def test_where_nothing_helps_nothing_clears_one(seed: int) -> None:
    """Arms all as fast as the default, but for a tail: a gain would be luck."""
    names = [f"c{number}" for number in range(12)]
    storage = Storage({name: 1.1 for name in names}, seed, tail=0.1)
    race = Race(storage.round, seed)
    finalists = race.run_all(names, 5, nothing)
    gains = [race.gain(name, len(names)) for name in finalists]
    assert all(one is not None and one.rounds >= FEWEST_ROUNDS for one in gains)
    assert not any(one.clears_one and one.ratio > 1.05 for one in gains if one is not None)


def test_only_points_of_the_space_are_joined() -> None:
    shape = Shape(
        write=True, collective=True, distributions=("*", "BLOCK"), ranks=4,
        file_bytes=256 << 20, filesystem="cephfs", element_bytes=8,
    )  # fmt: skip
    allowed = frozenset(one.text for one in space(shape))
    striping, alone = {"striping_factor": "16", "striping_unit": "1048576"}, {
        "romio_cb_write": "disable"
    }  # fmt: skip
    assert joinable(striping, alone, allowed) == {**striping, **alone}
    assert joinable(alone, {"cb_buffer_size": "4194304"}, allowed) is None
    assert joinable(alone, {"romio_cb_write": "enable"}, allowed) is None


def test_striping_comes_first_where_files_are_made_on_many_targets() -> None:
    for write, filesystem, first in (
        (True, "cephfs", "striping_factor=64;striping_unit=262144"),
        (True, "lustre", "striping_factor=64;striping_unit=262144"),
        (False, "cephfs", None),
        (True, "ext4", None),
    ):
        shape = Shape(
            write=write, collective=True, distributions=("*", "BLOCK"), ranks=4,
            file_bytes=256 << 20, filesystem=filesystem, element_bytes=8,
        )  # fmt: skip
        found = [one.text for one in candidates(shape, 4)]
        assert (found[0] == first) == (first is not None), found
        assert ("striping" in "".join(found)) == (first is not None), found


def finalist(ratio: float, low: float, rounds: int = 3, **settings: str) -> Measured:
    return Measured(Candidate(settings), "applied", Gain(ratio, low, ratio * 1.2, rounds))


def test_the_fastest_finalist_is_confirmed_though_another_ones_interval_lies_higher():
    one, other = finalist(1.74, 0.98, a="1"), finalist(1.47, 1.2, b="1")
    speeds = {"one": 1.9, "other": 1.4}
    assert to_confirm({"one": one, "other": other}, speeds.__getitem__) == "one"


def test_of_finalists_as_fast_the_one_that_changes_least_is_confirmed():
    both, alone = finalist(1.5, 1.2, a="1", b="1"), finalist(1.48, 1.1, a="1")
    speeds = {"both": 1.5, "alone": 1.49}
    assert to_confirm({"both": both, "alone": alone}, speeds.__getitem__) == "alone"
    speeds["both"] = 1.6
    assert to_confirm({"both": both, "alone": alone}, speeds.__getitem__) == "both"


def test_nothing_is_confirmed_that_is_hardly_better():
    assert to_confirm({"one": finalist(1.1, 0.99, a="1")}, lambda _: 1.1) == "one"
    assert to_confirm({"one": finalist(1.01, 1.0, a="1")}, lambda _: 1.01) is None
    assert to_confirm({}, lambda _: 1.0) is None


def test_the_alignment_is_one_that_the_tuner_sets_as_it_stands():
    """It raises a threshold below four times the boundary (docs/safety.md)."""
    threshold, boundary = map(int, ALIGNMENT.split(","))
    assert threshold >= 4 * boundary
    shape = Shape(True, False, ("BLOCK",), 2, 1 << 30)
    assert any(one.settings.get("alignment") == ALIGNMENT for one in candidates(shape))


NAMES = ("cb_nodes", "romio_cb_write", "alignment", "cb_buffer_size")


def a_case(descriptor: str = "<1D,(CYCLIC),(8)>", mode: str = "collective") -> Case:
    return Case(1, {"descriptor": descriptor, "mode": mode, "op": "write"}, {})


def tried() -> list[Candidate]:
    return [Candidate({name: "1"}) for name in NAMES]


def learnt(**gains: float) -> Lessons:
    lessons = Lessons()
    measured = [
        Measured(Candidate({name: "1"}), "applied", Gain(gain, gain * 0.9, gain * 1.05, 3))
        for name, gain in gains.items()
    ]
    lessons.learn(Outcome(a_case(), {}, measured, [], None))
    return lessons


def order(lessons: Lessons, case: Case) -> list[str]:
    return [next(iter(one.settings)) for one in lessons.applied_to(case, tried())]


def test_what_won_is_first_and_what_was_far_slower_is_left_out_and_said() -> None:
    lessons, case = learnt(alignment=2.0, cb_nodes=0.3, romio_cb_write=0.9), a_case()
    assert order(lessons, case) == ["alignment", "cb_buffer_size", "romio_cb_write"]
    assert case.notes == [
        "1 of 4 candidates are not tried: for a pattern of this kind they were far slower than the"
        " default"
    ]


def test_patterns_of_other_kinds_are_taught_nothing() -> None:
    lessons = learnt(alignment=2.0, cb_nodes=0.3)
    for case in (a_case("<1D,(BLOCK),(8)>"), a_case(mode="independent")):
        assert order(lessons, case) == list(NAMES) and not case.notes


def test_one_candidate_is_measured_whatever_was_learnt() -> None:
    lessons = learnt(**dict.fromkeys(NAMES, 0.1))
    assert order(lessons, a_case()) == ["cb_nodes"]
