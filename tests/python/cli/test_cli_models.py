"""Candidates by mechanism, paired rounds, and what may be stored."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from iotune.models import cases
from iotune.models.cases import Case
from iotune.models.contest import Contest, OutOfTime
from iotune.models.measuring.paired import compare, compare_ranks, measure_rounds
from iotune.models.measuring.race import most_runs
from iotune.models.options import Options
from iotune.models.outcome import Outcome
from iotune.models.replays.arm_bench import ArmBench
from iotune.models.replays.plan_cuts import cut_plan, only_direction
from iotune.models.settings.candidates import (
    Candidate,
    Shape,
    candidates,
    parse_candidate,
    refinements,
)

from iotune.replay.plan import Dataset, Plan, PlanFile, Selection, Transfer


def shape(**more: Any) -> Shape:
    fields: dict[str, Any] = {
        "write": True, "collective": True, "distributions": ("CYCLIC",), "ranks": 4,
        "file_bytes": 1 << 20,
    }  # fmt: skip
    return Shape(**{**fields, **more})


def names(found: list[Candidate]) -> set[str]:
    return {name for one in found for name in one.settings}


def test_an_interleaved_collective_write_first_tries_each_rank_for_itself() -> None:
    first = candidates(shape())[0]
    assert first.settings == {"romio_cb_write": "disable"}


def test_a_small_budget_tries_different_mechanisms() -> None:
    found = candidates(shape(ranks=2), 5)
    assert {"romio_cb_write", "cb_nodes", "dxpl_mpio_collective_opt", "cb_buffer_size"} <= names(
        found
    )
    assert sum(one.settings.get("romio_cb_write") == "disable" for one in found) <= 2
    assert [one.settings for one in refinements(shape(ranks=2))][0].keys() == {"ind_wr_buffer_size"}


@pytest.mark.parametrize(("collective", "budget"), [(False, 4), (True, 4)])
def test_a_small_budget_tries_to_reserve_a_large_file(collective: bool, budget: int) -> None:
    # given what a quarter of an exhaustive search allows for
    large = shape(collective=collective, ranks=2, file_bytes=1 << 28, filesystem="ext4")
    # then
    assert {"fallocate": str(1 << 28)} in [one.settings for one in candidates(large, budget)]
    striped = replace(large, filesystem="lustre")
    assert "fallocate" not in names(candidates(striped, 100))


def test_aggregators_come_with_a_list_that_allows_them() -> None:
    for one in candidates(shape()):
        if "cb_nodes" in one.settings:
            assert one.settings["cb_config_list"] == f"*:{one.settings['cb_nodes']}"


def test_there_are_never_more_aggregators_than_ranks() -> None:
    for one in candidates(shape(ranks=2)):
        assert int(one.settings.get("cb_nodes", 1)) <= 2


def test_small_files_are_not_aligned() -> None:
    assert "alignment" not in names(candidates(shape(file_bytes=1 << 20)))
    assert "alignment" in names(candidates(shape(file_bytes=1 << 30)))


def test_reads_get_settings_for_reads() -> None:
    found = names(candidates(shape(write=False, chunk=(1024,), element_bytes=8)))
    assert {"romio_cb_read", "romio_ds_read", "chunk_cache"} <= found
    assert not any("write" in name or "wr_" in name for name in found)


def test_a_chunk_cache_holds_a_row_of_chunks() -> None:
    def caches(**more: object) -> list[int]:
        fields = {"write": False, "ranks": 1, "chunk": (128, 1024), "element_bytes": 8, **more}
        found = candidates(shape(**fields))
        return [int(c.settings["chunk_cache"]) for c in found if "chunk_cache" in c.settings]

    # Chunks of 1 MiB: 100 beside each other, and the one that follows.
    assert caches(dimensions=(4096, 102400))[0] == 101 << 20
    assert caches(dimensions=(4096, 100 * 102400))[0] == 1 << 30
    assert caches(dimensions=())[0] == caches(dimensions=(4096, 1024))[0] == 32 << 20


def test_independent_writes_get_no_two_phase_settings() -> None:
    found = names(candidates(shape(collective=False)))
    assert "romio_ds_write" in found
    assert not found & {"cb_nodes", "cb_buffer_size"}
    # Only beside what needs it: some ROMIOs write wrong bytes else.
    for one in candidates(shape(collective=False)):
        assert ("romio_cb_write" in one.settings) == (
            one.settings.get("romio_ds_write") == "disable"
        )


@pytest.mark.parametrize("write", [True, False])
@pytest.mark.parametrize("collective", [True, False])
@pytest.mark.parametrize("ranks", [1, 2, 64])
def test_candidates_are_different_and_within_the_budget(
    write: bool, collective: bool, ranks: int
) -> None:
    found = candidates(
        shape(write=write, collective=collective, ranks=ranks, file_bytes=1 << 30), 12
    )
    assert 1 <= len(found) <= 12
    assert len({one.text for one in found}) == len(found)
    assert "chunk" not in names(found)  # layout is never changed unasked
    assert (
        candidates(shape(write=write, collective=collective, ranks=ranks), 2)
        == candidates(shape(write=write, collective=collective, ranks=ranks))[:2]
    )


def test_a_candidate_is_read_as_it_is_printed() -> None:
    one = parse_candidate(" cb_nodes=2; cb_config_list=*:2 ")
    assert one.text == "cb_config_list=*:2;cb_nodes=2"
    for wrong in ("", "cb_nodes", "cb_nodes=", "=2"):
        with pytest.raises(ValueError, match="name=value"):
            parse_candidate(wrong)


def test_every_arm_runs_once_a_round_in_changing_order() -> None:
    # given
    order: list[str] = []

    def arm(name: str) -> Any:
        def run() -> float:
            order.append(name)
            return float(len(order))

        return run

    # when
    times = measure_rounds({name: arm(name) for name in "abc"}, rounds=8, seed=1)
    # then
    rounds = ["".join(order[at : at + 3]) for at in range(0, 24, 3)]
    assert all(sorted(one) == ["a", "b", "c"] for one in rounds)
    assert len(set(rounds)) > 2
    assert {len(one) for one in times.values()} == {8}


def test_a_drift_that_both_arms_share_is_no_gain() -> None:
    # given a machine that becomes ten times slower
    default = [1.0, 2.0, 4.0, 8.0, 10.0]
    # then
    gain = compare(default, [time * 1.02 for time in default], seed=1)
    assert not gain.clears_one


def test_a_real_gain_is_seen_with_five_rounds() -> None:
    draw = random.Random(3)
    default = [2.0 * draw.uniform(0.9, 1.1) for _ in range(5)]
    candidate = [1.0 * draw.uniform(0.9, 1.1) for _ in range(5)]
    gain = compare(default, candidate, seed=1, comparisons=12)
    assert gain.clears_one
    assert gain.low <= gain.ratio <= gain.high
    assert gain.ratio == pytest.approx(2.0, rel=0.2)


def test_the_best_of_a_dozen_equals_seldom_wins() -> None:
    # given arms without any difference, times with a heavy tail
    draw = random.Random(7)
    won = 0
    for trial in range(15):
        default = [draw.lognormvariate(0, 0.2) for _ in range(5)]
        arms = [[draw.lognormvariate(0, 0.2) for _ in range(5)] for _ in range(12)]
        won += any(compare(default, arm, trial, comparisons=12).clears_one for arm in arms)
    # then five rounds of twelve arms still deceive at times: that is what the confirmation is for
    assert won < 8


def test_one_slow_run_of_six_hides_no_gain_from_the_ranks() -> None:
    # given a gain of a seventh; measured times
    default = [0.420, 0.406, 0.419, 0.419, 0.410, 0.394]
    candidate = [0.354, 0.357, 0.377, 0.359, 0.366, 0.537]
    # when
    gain = compare_ranks(default, candidate)
    # then
    assert gain.clears_one and gain.low <= gain.ratio <= gain.high
    assert gain.ratio == pytest.approx(1.14, abs=0.02)
    # but two of six do, and who is slower than the default is not taken for faster
    assert not compare_ranks(default, [*candidate[1:], 0.44]).clears_one
    assert compare_ranks(candidate, default).high < 1


@pytest.mark.parametrize("rounds", [3, 6, 8])
def test_ranks_deceive_as_seldom_as_they_say(rounds: int) -> None:
    # given arms without any difference, times with a heavy tail
    draw = random.Random(rounds)

    def times() -> list[float]:
        tail = [2 if draw.random() < 0.1 else 1 for _ in range(rounds)]
        return [slow * draw.lognormvariate(0, 0.2) for slow in tail]

    won = sum(compare_ranks(times(), times()).clears_one for _ in range(1000))
    # then 50 expected at most; more than 75 would be a one in thousands chance
    assert 10 < won < 75


def test_a_drift_is_no_gain_by_ranks() -> None:
    default = [1.0, 2.0, 4.0, 8.0, 10.0]
    assert not compare_ranks(default, [time * 1.02 for time in default]).clears_one


def test_rounds_that_differ_in_number_are_an_error() -> None:
    for default, candidate in (([], []), ([1.0], [1.0, 2.0])):
        with pytest.raises(ValueError, match="rounds"):
            compare(default, candidate, seed=1)
        with pytest.raises(ValueError, match="rounds"):
            compare_ranks(default, candidate)


class FakeBench(ArmBench):
    """An arm's seconds from a table; the second number is of the confirmation."""

    def __init__(self, seconds: dict[str, tuple[float, float]], effects: dict[str, str]):
        super().__init__(Case(1, {"descriptor": "<1D,(CYCLIC),(8)>"}, {}))
        self.seconds = seconds
        self.effects = effects
        self.runs: list[str] = []

    def settle(self) -> None:
        self.run("default", {})

    def run(self, name: str, settings: dict[str, str], limit_seconds: float = 0.0) -> float:
        self.runs.append(name)
        # Two rounds, where the lead is clear; the default settles in before.
        late = self.runs.count(name) > (3 if name == "default" else 2)
        return self.seconds[name][late] * random.Random(len(self.runs)).uniform(0.98, 1.02)

    def measured(
        self, name: str, candidate: Candidate, limit_seconds: float = 0.0
    ) -> tuple[float | None, str]:
        seconds = self.run(name, candidate.settings, limit_seconds)
        return seconds, self.effects.get(name, "applied")


def measured(bench: Any, count: int) -> Outcome:
    tried = [Candidate({"cb_nodes": str(number + 1)}) for number in range(count)]
    options = Options(rounds=5)
    return Contest(bench, tried, [], frozenset(), options, lambda what, more: None).outcome()


def test_a_winner_is_confirmed_and_stored() -> None:
    # given
    bench = FakeBench({"default": (1.0, 1.0), "c0": (0.5, 0.5), "c1": (0.9, 0.9)}, {})
    # when
    outcome = measured(bench, 2)
    # then
    tuning = outcome.as_tuning()
    assert tuning["state"] == "tuned"
    assert tuning["settings"] == {"cb_nodes": "1"}
    assert outcome.confirmed is not None
    assert tuning["low"] == outcome.confirmed.low


@pytest.mark.parametrize("raced", [True, False])
@pytest.mark.parametrize(("together", "names"), [(0.5, {"a"}), (0.3, {"a", "b"})])
def test_two_settings_are_stored_only_where_both_are_needed(
    together: float, names: set[str], raced: bool
) -> None:
    # given two mechanisms, the second one raced or tried beside the winner alone
    times = {"default": 1.0, "c0": 0.5, **({"c1": 0.8} if raced else {})}
    times[f"c{len(times) - 1}"] = together
    bench: Any = FakeBench({name: (one, one) for name, one in times.items()}, {})
    both = [Candidate({"a": "1"}), Candidate({"b": "1"})]
    tried, partners = (both, []) if raced else (both[:1], both[1:])
    # when
    options, allowed = Options(rounds=5), frozenset(["a=1;b=1"])
    outcome = Contest(bench, tried, partners, allowed, options, lambda what, more: None).outcome()
    # then
    assert outcome.winner is not None
    assert set(outcome.winner.candidate.settings) == names


def test_measurements_of_chosen_candidates_are_as_many_as_were_announced() -> None:
    # given two candidates of which none is worth rounds of its own
    bench: Any = FakeBench({name: (1.0, 1.0) for name in ("default", "c0", "c1")}, {})
    reported: list[int] = []
    chosen = (Candidate({"cb_nodes": "1"}), Candidate({"cb_nodes": "2"}))
    options = Options(rounds=5, chosen=chosen)
    # when
    Contest(
        bench, chosen, [], frozenset(), options, lambda what, more: reported.append(more)
    ).outcome()
    # then
    assert sum(reported) == len(bench.runs) == 1 + 3 * 5


@pytest.mark.parametrize("until", [16.0, 3.0])
def test_where_the_time_ends_what_was_measured_is_confirmed_or_left(
    monkeypatch: pytest.MonkeyPatch, until: float
) -> None:
    # given a race of more than thirty seconds, and a candidate that is five times as fast
    slow = {f"c{number}": (1.0, 1.0) for number in range(1, 6)}
    bench: Any = FakeBench({"default": (1.0, 1.0), "c0": (0.2, 0.2), **slow}, {})
    made = bench.run
    clock = [0.0]

    def run(name: str, settings: dict[str, str], limit_seconds: float = 0.0) -> float:
        clock[0] += (seconds := made(name, settings, limit_seconds))
        return float(seconds)

    bench.run = run
    monkeypatch.setattr("iotune.models.contest.time.monotonic", lambda: clock[0])
    tried = [Candidate({"cb_nodes": str(number + 1)}) for number in range(6)]
    options = Options(rounds=5, until=until)
    # then
    if until < 6:  # not one round
        with pytest.raises(OutOfTime):
            Contest(bench, tried, [], frozenset(), options, lambda what, more: None).outcome()
    else:
        outcome = Contest(bench, tried, [], frozenset(), options, lambda what, more: None).outcome()
        assert outcome.as_tuning()["settings"] == {"cb_nodes": "1"}
        assert any("time ended" in note for note in outcome.notes)
    assert clock[0] < until + 1


def test_what_won_by_luck_is_not_stored() -> None:
    bench = FakeBench({"default": (1.0, 1.0), "c0": (0.5, 1.0)}, {})
    outcome = measured(bench, 1)
    assert outcome.as_tuning()["state"] == "default-is-best"
    assert any("not the second" in note for note in outcome.notes)


def test_a_small_gain_is_proven_by_all_rounds_together() -> None:
    # given a gain of a tenth, seen in each round but within the noise of a few
    bench = FakeBench({"default": (1.0, 1.0), "c0": (0.9, 0.91)}, {})
    # then
    outcome = measured(bench, 1)
    assert outcome.as_tuning()["state"] == "tuned"
    assert outcome.confirmed is not None and 6 <= outcome.confirmed.rounds <= 10


class TailedBench(FakeBench):
    """Every third run of an arm takes thrice as long."""

    def run(self, name: str, settings: dict[str, str], limit_seconds: float = 0.0) -> float:
        seconds = super().run(name, settings, limit_seconds)
        return seconds * (3 if self.runs.count(name) % 3 == 0 else 1)


def raced(arms: int, fastest: float) -> tuple[TailedBench, Outcome]:
    times = {"default": 1.0, "c0": fastest, **{f"c{number}": 1.3 for number in range(1, arms)}}
    bench = TailedBench({name: (one, one) for name, one in times.items()}, {})
    tried = [Candidate({"cb_nodes": str(number + 1)}) for number in range(arms)]
    options = Options(rounds=3)
    outcome = Contest(bench, tried, [], frozenset(), options, lambda what, more: None).outcome()
    return bench, outcome


def test_doubt_is_settled_by_the_runs_that_the_race_was_allowed_and_did_not_need() -> None:
    # given a gain of a fifth among tails that hide it from three rounds
    bench, outcome = raced(12, 0.8)
    # then
    assert outcome.as_tuning()["state"] == "tuned"
    assert outcome.confirmed is not None
    assert outcome.confirmed.rounds == bench.runs.count("c0")
    raced_rounds = len(outcome.default_seconds)
    assert bench.runs.count("default") > 1 + raced_rounds + 3
    assert len(bench.runs) <= 1 + most_runs(12, 3)


def test_without_doubt_or_hope_no_runs_are_spent_on_it() -> None:
    # given what is ten times as fast, and what is hardly faster
    for fastest, state in ((0.1, "tuned"), (1.2, "default-is-best")):
        bench, outcome = raced(12, fastest)
        # then
        assert outcome.as_tuning()["state"] == state
        confirming = 3 if state == "tuned" else 0
        assert bench.runs.count("default") == 1 + len(outcome.default_seconds) + confirming


def test_a_candidate_without_effect_is_not_measured() -> None:
    bench = FakeBench({"default": (1.0, 1.0), "c0": (0.5, 0.5)}, {"c0": "cb_nodes without effect"})
    outcome = measured(bench, 1)
    assert outcome.winner is None
    assert bench.runs.count("c0") == 1
    assert outcome.measured[0].effect == "cb_nodes without effect"


def a_plan() -> Plan:
    file = PlanFile(
        "/tmp/a.h5", True, [Dataset(f"/d{at}", 8, (1000,)) for at in range(4)],
        [Transfer(write, at, True, {0: Selection("all")}) for write in (True, False)
         for at in range(4)],
    )  # fmt: skip
    return Plan(1, [file])


def test_reads_are_replayed_without_the_run_s_writes() -> None:
    reads = only_direction(a_plan(), write=False)
    assert all(not one.write for one in reads.files[0].transfers)
    assert reads.prepares


def test_a_large_plan_is_cut_to_its_first_datasets() -> None:
    cut = cut_plan(a_plan(), 17000)
    assert [one.path for one in cut.files[0].datasets] == ["/d0", "/d1"]
    assert {one.dataset for one in cut.files[0].transfers} == {0, 1}
    assert len(cut_plan(a_plan(), 10).files[0].datasets) == 1
    whole = a_plan()
    assert cut_plan(whole, 1 << 20) is whole


def test_without_a_trace_the_stored_pattern_is_replayed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # given
    monkeypatch.setattr(cases, "distributions", lambda text: (("CYCLIC",), (4,)))
    pattern = {"descriptor": "<1D,(CYCLIC),(4)>", "op": "write", "element_bytes": 8, "ranks": 2,
               "grid": [2], "dataset_dims": [8], "mode": "collective"}  # fmt: skip
    case = Case(1, pattern, {}, trace=str(tmp_path / "gone.iotrace"), datasets=3)
    # when
    plan = cases.plan_of_case(case)
    # then
    assert len(plan.files[0].datasets) == 3
    assert any("trace is gone" in note for note in case.notes)
