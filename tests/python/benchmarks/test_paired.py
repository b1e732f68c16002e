"""The paired runner, on numbers whose truth is known."""

from __future__ import annotations

import json
import math
import random
import re
import statistics
import subprocess
import sys

import pytest

from bench import native, paired, signed_rank
from support.repository import TESTS


def drifting(rounds: int, ratio: float, seed: int) -> paired.Comparison:
    """Two arms on a machine that becomes three times slower, with a heavy tail."""
    draw = random.Random(seed)
    numbers: dict[str, list[float]] = {"base": [], "arm": []}
    for index in range(rounds):
        slow = 1 + 2 * index / rounds
        for arm, true in (("base", 1.0), ("arm", ratio)):
            tail = 10 if draw.random() < 0.05 else 1
            numbers[arm].append(true * slow * tail * draw.lognormvariate(0, 0.05))
    return paired.Comparison("drift", numbers, [["base", "arm"]] * rounds, seed)


@pytest.mark.parametrize("ratio", [0.5, 1.0, 1.3])
def test_the_interval_holds_the_true_ratio_about_as_often_as_it_says(ratio):
    hits = 0
    for seed in range(60):
        found = drifting(40, ratio, seed).estimate(
            lambda rows: statistics.median(rows["arm"]) / statistics.median(rows["base"]),
            resamples=300,
        )
        assert found.low <= found.value <= found.high
        hits += found.low <= ratio <= found.high
    # 57 expected; fewer than 48 of 60 would be a one in thousands chance.
    assert hits >= 48


def test_pairing_keeps_what_drift_would_spoil():
    comparison = drifting(60, 1.3, 7)
    paired_width = comparison.ratio("arm", "base")
    # The same numbers with the pairs broken.
    random.Random(1).shuffle(comparison.numbers["arm"])
    broken = comparison.ratio("arm", "base")
    assert paired_width.high - paired_width.low < 0.7 * (broken.high - broken.low)


def test_a_difference_this_small_is_not_claimed():
    same = drifting(20, 1.0, 3).ratio("arm", "base")
    assert same.low < 1 < same.high


def test_the_same_rounds_give_the_same_interval():
    assert drifting(30, 1.2, 5).ratio("arm", "base") == drifting(30, 1.2, 5).ratio("arm", "base")


def test_difference_and_median():
    rows = {"a": [3.0, 5.0, 4.0], "b": [1.0, 1.0, 1.0]}
    comparison = paired.Comparison("x", rows, [], 1)
    assert comparison.difference("a", "b").value == 3
    assert comparison.median("a").value == 4
    assert comparison.median("b") == paired.Estimate(1, 1, 1)


def test_scaling_by_a_negative_number_turns_the_interval_round():
    assert paired.Estimate(2, 1, 4).scaled(-2) == paired.Estimate(-4, -8, -2)


def test_every_arm_runs_once_a_round_in_a_drawn_order():
    calls: list[str] = []

    def arm(name):
        return lambda: calls.append(name)

    found = paired.compare("order", {n: arm(n) for n in "abc"}, rounds=50, warmup=2, seed=11)
    assert len(calls) == 52 * 3
    turns = [calls[i : i + 3] for i in range(6, len(calls), 3)]
    assert turns == found.order
    assert all(sorted(turn) == ["a", "b", "c"] for turn in turns)
    # Every order is seen, and no arm sits in the first place much more than its share.
    assert len({tuple(turn) for turn in turns}) == 6
    assert all(sum(turn[0] == name for turn in turns) < 30 for name in "abc")
    assert all(len(row) == 50 for row in found.numbers.values())
    again = paired.compare("order", {n: arm(n) for n in "abc"}, rounds=50, warmup=2, seed=11)
    assert again.order == found.order


def test_a_drawn_seed_is_printed(capsys):
    found = paired.compare("seedless", {"a": lambda: 1.0}, rounds=1)
    assert f"seed {found.seed}" in capsys.readouterr().err


def test_before_each_runs_untimed_before_every_measurement():
    events: list[str] = []
    arms = {"a": lambda: events.append("run")}
    found = paired.compare("x", arms, 3, 1, 1, before_each=lambda: events.append("clear"))
    assert events == ["clear", "run"] * 4
    assert all(0 <= seconds < 1 for seconds in found.numbers["a"])


def test_a_command_is_timed_with_its_environment(monkeypatch):
    monkeypatch.setenv("IOTUNE_TEST_GONE", "1")
    check = (
        "import os, sys, time; time.sleep(0.05);"
        "sys.exit(os.environ.get('SET') != 'yes' or 'IOTUNE_TEST_GONE' in os.environ)"
    )
    command = paired.Command(
        [sys.executable, "-c", check], {"SET": "yes", "IOTUNE_TEST_GONE": None}
    )
    found = paired.compare("command", {"a": command}, rounds=2, warmup=0, seed=1)
    assert all(0.05 <= seconds < 30 for seconds in found.numbers["a"])


def test_a_failing_command_ends_the_comparison_with_its_words():
    with pytest.raises(paired.ArmFailed, match="exit status 3\nbroken"):
        paired.compare("x", {"a": ["sh", "-c", "echo broken >&2; exit 3"]}, rounds=1, seed=1)


@pytest.mark.parametrize(
    ("goal", "number", "holds"),
    [
        (paired.at_most(120), paired.Estimate(100, 90, 119), True),
        (paired.at_most(120), paired.Estimate(100, 90, 121), False),
        (paired.at_most(120), 120.0, True),
        (paired.at_least(1), paired.Estimate(2, 0.9, 3), False),
        (paired.at_least(1), paired.Estimate(2, 1.1, 3), True),
        (paired.at_least(1), 0.5, False),
    ],
)
def test_a_goal_holds_only_with_its_whole_interval(goal, number, holds):
    table = paired.Table("goal")
    table.add("what", number, goal)
    assert table.rows[0]["holds"] is holds
    assert table.missed() == ([] if holds else ["what"])


@pytest.mark.parametrize(
    ("goal", "number", "verdict"),
    [
        (paired.at_least(0.97), paired.Estimate(1.0, 0.98, 1.02), "holds"),
        (paired.at_least(0.97), paired.Estimate(1.0, 0.96, 1.04), "undecided"),
        (paired.at_least(0.97), paired.Estimate(0.9, 0.85, 0.96), "fails"),
        (paired.at_most(3), paired.Estimate(2, 1, 3), "holds"),
        (paired.at_most(3), paired.Estimate(2, 1, 4), "undecided"),
        (paired.at_most(3), paired.Estimate(5, 4, 6), "fails"),
    ],
)
def test_what_rounds_leave_open_is_neither_kept_nor_missed(goal, number, verdict):
    table = paired.Table("verdicts")
    table.judge("what", number, goal)
    assert table.rows[0]["verdict"] == verdict
    word = {"holds": "holds", "undecided": "undecided", "fails": "MISSED"}[verdict]
    assert table.text().endswith(word)
    # Only what holds is a success of the benchmark.
    assert table.missed() == ([] if verdict == "holds" else ["what"])


# Of Wilcoxon's tables, 5 % at both sides together.
@pytest.mark.parametrize(
    ("count", "sum_of_ranks"),
    [(5, None), (6, 0), (7, 2), (8, 3), (10, 8), (12, 13), (15, 25), (20, 52), (25, 89), (30, 137)],
)
def test_critical_sums_are_those_of_the_tables(count, sum_of_ranks):
    assert signed_rank.critical(count, 0.025) == sum_of_ranks


def test_the_normal_distribution_takes_over_without_a_jump(monkeypatch):
    counted = [signed_rank.critical(count, 0.025) for count in (40, 50, 60)]
    monkeypatch.setattr(signed_rank, "COUNTED", 0)
    near = [signed_rank.critical(count, 0.025) for count in (40, 50, 60)]
    assert counted == [264, 434, 648]
    assert near == pytest.approx(counted, abs=1)


def alternating(
    pairs: int, ratio: float, draw: random.Random, drift: float = 0.0, wild: float = 0.03
) -> list[dict[str, float]]:
    """Rounds of two arms whose first one pays a tenth more, on a machine that becomes slower."""
    rounds = []
    for number in range(2 * pairs):
        one = {}
        for place, arm in enumerate(("base", "arm") if number % 2 == 0 else ("arm", "base")):
            true = ratio if arm == "arm" else 1.0
            late = math.exp(drift * (2 * number + place))
            tail = 3 if draw.random() < wild else 1
            one[arm] = true * late * tail * (1.1, 1.0)[place] * draw.lognormvariate(0, 0.04)
        rounds.append(one)
    return rounds


@pytest.mark.parametrize("pairs", [6, 9, 30])
@pytest.mark.parametrize("ratio", [0.5, 1.0])
def test_the_paired_interval_holds_the_true_ratio_as_often_as_it_says(pairs, ratio):
    draw = random.Random(pairs)
    hits = 0
    for _ in range(200):
        found = signed_rank.times_faster(alternating(pairs, ratio, draw), "arm", "base")
        assert found is not None
        assert found.low <= found.value <= found.high
        hits += found.low <= 1 / ratio <= found.high
    # 190 expected, and with six pairs 194; less than 181 would be a one in thousands chance.
    assert hits >= 181


def test_neither_the_order_nor_an_even_drift_is_in_a_pair():
    draw = random.Random(3)
    rounds = alternating(30, 1.0, draw, drift=0.01, wild=0)
    found = signed_rank.times_faster(rounds, "arm", "base")
    assert found is not None
    assert 0.97 < found.low < 1 < found.high < 1.03
    # Of rounds in one order all the order's tenth is in it.
    same = [one for one in alternating(60, 1.0, draw) for _ in range(2)][::4]
    once = signed_rank.times_faster(same, "arm", "base")
    assert once is not None
    assert once.low > 1.05


def test_a_round_without_its_partner_waits():
    rounds = alternating(6, 1.0, random.Random(1))
    whole = signed_rank.times_faster(rounds, "arm", "base")
    assert signed_rank.times_faster([*rounds, {"arm": 9.0, "base": 1.0}], "arm", "base") == whole
    assert signed_rank.times_faster(rounds[:1], "arm", "base") is None
    few = signed_rank.times_faster(rounds[:10], "arm", "base")
    assert few is not None
    assert (few.low, few.high) == (0, math.inf)


def test_the_json_has_the_agreed_shape(tmp_path, capsys):
    comparison = paired.compare("ones", {"a": lambda: 1.0, "b": lambda: 2.0}, 4, 0, 9)
    table = paired.Table("shape")
    table.keep(comparison)
    table.add("b over a", comparison.ratio("b", "a"), paired.at_most(3))
    table.add("plain", 5)
    assert table.finish(tmp_path / "new" / "folder") == 0
    printed = capsys.readouterr().out
    assert "b over a" in printed and "holds" in printed

    content = json.loads((tmp_path / "new" / "folder" / "shape.json").read_text())
    assert list(content) == ["name", "rows", "machine", "taken", "rounds"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", content["taken"]["date"])
    assert content["name"] == "shape"
    assert content["rows"][0] == {
        "what": "b over a",
        "value": 2.0,
        "low": 2.0,
        "high": 2.0,
        "goal": "<= 3",
        "holds": True,
    }
    assert list(content["rows"][1]) == list(content["rows"][0])
    assert content["rows"][1]["holds"] is None
    assert content["rounds"]["ones"]["numbers"] == {"a": [1.0] * 4, "b": [2.0] * 4}
    assert content["rounds"]["ones"]["seed"] == 9
    assert len(content["rounds"]["ones"]["order"]) == 4
    assert content["machine"]["cores"] >= 1
    assert [path.name for path in (tmp_path / "new" / "folder").iterdir()] == ["shape.json"]


def test_a_missed_goal_is_the_exit_status(tmp_path, capsys):
    table = paired.Table("missed")
    table.add("too much", 2.0, paired.at_most(1))
    assert table.finish(tmp_path) == 1
    assert "MISSED" in capsys.readouterr().out


def test_startup_bench_runs_on_any_library(tmp_path):
    library = native.shared("empty_preload.c", tmp_path / "build" / "lib")
    library.rename(library.with_name("libiotune.so"))
    bench = TESTS / "bench" / "recording" / "bench_startup.py"
    command = [sys.executable, str(TESTS / "run.py"), str(bench), "--rounds", "20", "--seed", "4"]
    done = subprocess.run(
        [*command, "--build", str(tmp_path / "build"), "--out", str(tmp_path / "out")],
        capture_output=True,
        text=True,
    )
    content = json.loads((tmp_path / "out" / "startup.json").read_text())
    assert [row["what"] for row in content["rows"] if row["goal"]] == [
        "libiotune.so against an empty preload, both less bare",
        "size of libiotune.so, KB",
    ]
    # Twenty rounds settle nothing about the goal: only that the status is the table's.
    missed = any(row["holds"] is False for row in content["rows"])
    assert done.returncode == int(missed), done.stderr
    assert {len(row) for row in content["rounds"]["startup"]["numbers"].values()} == {20}
