"""Paired measurements: every arm in every round, in a new random order each time.

A machine drifts (clocks, caches, neighbours), and it drifts for all arms of a round
alike; so arms are compared round by round, the order within a round is drawn anew, and
what is reported is a ratio of medians with an interval, beside every raw number.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import re
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Union

from iotune.models.measuring.bootstrap import bootstrap

CONFIDENCE = 0.95
RESAMPLES = 2000


class ArmFailed(RuntimeError):
    """An arm's command failed: there is nothing to compare."""


@dataclass(frozen=True)
class Command:
    """A program to time. `env` is added to the environment; None removes a name."""

    argv: Sequence[str]
    env: Mapping[str, str | None] = field(default_factory=dict)
    cwd: str | None = None

    def __call__(self) -> float:
        """Run it once and return its seconds."""
        env = dict(os.environ)
        for name, value in self.env.items():
            if value is None:
                env.pop(name, None)
            else:
                env[name] = value
        began = time.perf_counter()
        done = subprocess.run(
            list(self.argv), env=env, cwd=self.cwd, stdin=subprocess.DEVNULL, capture_output=True
        )
        seconds = time.perf_counter() - began
        if done.returncode != 0:
            tail = done.stderr.decode(errors="replace")[-2000:]
            raise ArmFailed(f"{' '.join(self.argv)}: exit status {done.returncode}\n{tail}")
        return seconds


# A callable returns what it measured, or None to have its own wall time taken.
Arm = Union[Callable[[], Union[float, None]], Command, Sequence[str]]


@dataclass(frozen=True)
class Estimate:
    """A number with the interval that holds it at CONFIDENCE."""

    value: float
    low: float
    high: float

    def scaled(self, factor: float) -> Estimate:
        """Return the same in another unit; a negative factor turns the interval round."""
        ends = sorted((self.low * factor, self.high * factor))
        return Estimate(self.value * factor, ends[0], ends[1])


Statistic = Callable[[Mapping[str, Sequence[float]]], float]


@dataclass
class Comparison:
    """The raw rounds of one comparison: numbers[arm][i] was measured in round i."""

    name: str
    numbers: dict[str, list[float]]
    order: list[list[str]]
    seed: int

    def estimate(self, statistic: Statistic, resamples: int = RESAMPLES) -> Estimate:
        """Return `statistic` of all rounds with its percentile bootstrap interval.

        Whole rounds are drawn: arms of one round share its luck, and drawing them
        apart would throw away what pairing bought.
        """
        count = len(next(iter(self.numbers.values())))

        def of_rounds(drawn: Sequence[Sequence[int]]) -> float:
            (rounds,) = drawn
            return statistic({arm: [row[i] for i in rounds] for arm, row in self.numbers.items()})

        # The seed again, so that one JSON file always gives one interval.
        low, high = bootstrap([range(count)], of_rounds, self.seed, CONFIDENCE, resamples)
        return Estimate(statistic(self.numbers), low, high)

    def median(self, arm: str) -> Estimate:
        """Return the median of one arm."""
        return self.estimate(lambda rows: statistics.median(rows[arm]))

    def ratio(self, arm: str, base: str) -> Estimate:
        """Return the median of `arm` over the median of `base`."""
        return self.estimate(
            lambda rows: statistics.median(rows[arm]) / statistics.median(rows[base])
        )

    def difference(self, arm: str, base: str) -> Estimate:
        """Return the median of `arm` less the median of `base`."""
        return self.estimate(
            lambda rows: statistics.median(rows[arm]) - statistics.median(rows[base])
        )

    def paired_difference(self, arm: str, base: str) -> Estimate:
        """Return the median over the rounds of `arm` less `base` of the same round.

        For small differences of two large numbers on a machine whose speed drifts: what both
        arms of a round share cancels.
        """
        return self.estimate(
            lambda rows: statistics.median(
                [mine - other for mine, other in zip(rows[arm], rows[base], strict=True)]
            )
        )

    def ratio_of_paired_differences(self, arm: str, other: str, base: str) -> Estimate:
        """Return how many times what `other` adds to `base` is added by `arm`."""

        def added(rows: Mapping[str, Sequence[float]], name: str) -> float:
            return statistics.median(
                [mine - floor for mine, floor in zip(rows[name], rows[base], strict=True)]
            )

        return self.estimate(lambda rows: added(rows, arm) / (added(rows, other) or 1e-9))


def compare(
    name: str,
    arms: Mapping[str, Arm],
    rounds: int,
    warmup: int = 1,
    seed: int | None = None,
    before_each: Callable[[], object] | None = None,
) -> Comparison:
    """Measure every arm in each of `rounds` rounds; `warmup` rounds before are dropped.

    `before_each` runs before every single measurement, untimed: the place to drop
    caches or remove the last file, the same for all arms.
    """
    if len(arms) < 1 or rounds < 1:
        raise ValueError("at least one arm and one round")
    if seed is None:
        seed = random.SystemRandom().randrange(2**32)
    print(f"{name}: {rounds} rounds of {', '.join(arms)} (seed {seed})", file=sys.stderr)
    draw = random.Random(seed)
    numbers: dict[str, list[float]] = {arm: [] for arm in arms}
    order = []
    for index in range(-warmup, rounds):
        turn = list(arms)
        draw.shuffle(turn)
        for arm in turn:
            if before_each is not None:
                before_each()
            value = _measure(arms[arm])
            if index >= 0:
                numbers[arm].append(value)
        if index >= 0:
            order.append(turn)
    return Comparison(name, numbers, order, seed)


def _measure(arm: Arm) -> float:
    if not callable(arm):
        return Command(arm)()
    began = time.perf_counter()
    value = arm()
    return time.perf_counter() - began if value is None else float(value)


@dataclass(frozen=True)
class Goal:
    """What a number should be; see at_most and at_least."""

    limit: float
    sign: str
    unit: str

    def __str__(self) -> str:
        return f"{self.sign} {self.limit:g} {self.unit}".rstrip()

    def holds(self, value: float, low: float | None, high: float | None) -> bool:
        """Whether the whole interval keeps it: a goal met by luck is not met."""
        if self.sign == "<=":
            return (value if high is None else max(value, high)) <= self.limit
        return (value if low is None else min(value, low)) >= self.limit

    def verdict(self, number: Estimate) -> str:
        """What the interval says: "holds", "fails", or "undecided" where it has the limit in it."""
        if self.holds(number.value, number.low, number.high):
            return "holds"
        beyond = number.low > self.limit if self.sign == "<=" else number.high < self.limit
        return "fails" if beyond else "undecided"


def at_most(limit: float, unit: str = "") -> Goal:
    """Return the goal that a number be `limit` or less."""
    return Goal(limit, "<=", unit)


def at_least(limit: float, unit: str = "") -> Goal:
    """Return the goal that a number be `limit` or more."""
    return Goal(limit, ">=", unit)


def machine() -> dict[str, object]:
    """Say what the numbers were taken on, without naming the host."""
    cpu = memory = ""
    for path, key in (("/proc/cpuinfo", "model name"), ("/proc/meminfo", "MemTotal")):
        try:
            text = Path(path).read_text()
        except OSError:
            continue
        hit = re.search(rf"^{key}\s*:\s*(.*)$", text, re.M)
        if hit and key == "model name":
            cpu = hit[1]
        elif hit:
            memory = hit[1]
    return {
        "cpu": cpu or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory": memory,
        "kernel": platform.release(),
        "python": platform.python_version(),
        # A loaded machine widens every interval: say so beside the figure.
        "load": round(os.getloadavg()[0], 2),
    }


def taken() -> dict[str, str]:
    """Say when, and of which commit where this is a checkout; "+" where it is changed."""
    made = {"date": time.strftime("%Y-%m-%d", time.gmtime())}
    described = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
    try:
        done = subprocess.run(described, capture_output=True, text=True, check=False)
    except OSError:
        return made
    if done.returncode == 0:
        made["commit"] = done.stdout.strip()
    return made


class Table:
    """Rows for people and for a JSON file, and the rounds behind them."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rows: list[dict[str, object]] = []
        self.rounds: dict[str, object] = {}
        self.machine = machine()
        self.taken = taken()

    def keep(self, comparison: Comparison) -> None:
        """Keep the raw rounds of a comparison whose numbers stand in the rows."""
        self.rounds[comparison.name] = {
            "seed": comparison.seed,
            "order": comparison.order,
            "numbers": comparison.numbers,
        }

    def judge(self, what: str, number: Estimate, goal: Goal) -> None:
        """Add a row that tells a goal missed from one of which the rounds say nothing yet."""
        self.add(what, number, goal)
        self.rows[-1]["verdict"] = goal.verdict(number)

    def add(self, what: str, number: Estimate | float, goal: Goal | None = None) -> None:
        """Add a row. `what` names the unit too."""
        low = high = None
        if isinstance(number, Estimate):
            value, low, high = number.value, number.low, number.high
        else:
            value = number
        self.rows.append(
            {
                "what": what,
                "value": value,
                "low": low,
                "high": high,
                "goal": None if goal is None else str(goal),
                "holds": None if goal is None else goal.holds(value, low, high),
            }
        )

    def missed(self) -> list[str]:
        """Return the rows whose goal does not hold."""
        return [str(row["what"]) for row in self.rows if row["holds"] is False]

    def text(self) -> str:
        """Return the table for a terminal."""
        lines = [("", "value", "95 % interval", "goal", "")]
        for row in self.rows:
            low, high = row["low"], row["high"]
            interval = "" if low is None else f"{_short(low)} .. {_short(high)}"
            word = {None: "", True: "holds", False: "MISSED"}[row["holds"]]  # type: ignore[index]
            if row.get("verdict") == "undecided":
                word = "undecided"
            lines.append(
                (str(row["what"]), _short(row["value"]), interval, str(row["goal"] or ""), word)
            )
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        out = [self.name]
        for line in lines:
            cells = [line[0].ljust(widths[0]), line[1].rjust(widths[1])]
            cells += [cell.ljust(width) for cell, width in zip(line[2:], widths[2:])]
            out.append(("  " + "  ".join(cells)).rstrip())
        return "\n".join(out)

    def write(self, folder: Path) -> Path:
        """Write NAME.json into `folder`, whole or not at all."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}.json"
        content = {
            "name": self.name,
            "rows": self.rows,
            "machine": self.machine,
            "taken": self.taken,
            "rounds": self.rounds,
        }
        draft = path.with_suffix(".json.new")
        draft.write_text(json.dumps(content, indent=1) + "\n")
        draft.replace(path)
        return path

    def finish(self, folder: Path) -> int:
        """Print, write, and return the exit status: 1 where a goal was missed."""
        print(self.text())
        print(f"written: {self.write(folder)}")
        return 1 if self.missed() else 0


def _short(number: object) -> str:
    return f"{number:.4g}" if isinstance(number, float) else f"{number}"


def clean_up_when_stopped() -> None:
    """SIGTERM ends the benchmark as an exception does: nothing stays mounted or behind."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def parser(description: str | None, **defaults: int) -> argparse.ArgumentParser:
    """Return what knows all that tools/bench.sh passes, and --NAME for each default."""
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--build", type=Path, default=Path("build/dev"))
    made.add_argument("--out", type=Path, default=Path("build/bench"))
    made.add_argument("--seed", type=int, default=None, help="drawn and printed by default")
    for name, value in defaults.items():
        made.add_argument(f"--{name}", type=int, default=value)
    return made


def arguments(description: str | None, **defaults: int) -> argparse.Namespace:
    """Parse what tools/bench.sh passes to every benchmark, and --NAME for each default."""
    return parser(description, **defaults).parse_args()
