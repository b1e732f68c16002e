"""Candidates against the default: a race of all, then rounds of its own for the one that won."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from iotune.models.measuring.paired import AS_GOOD, STORED, compare_ranks
from iotune.models.measuring.race import (
    DEFAULT,
    FEWEST_ROUNDS,
    MOST_JOINED,
    WORTHWHILE,
    Mechanisms,
    Race,
    joinable,
    kind_of,
    most_runs,
)
from iotune.models.options import Options, Progress
from iotune.models.outcome import Measured, Outcome, trials_of
from iotune.models.replays.arm_bench import TIMEOUT_SECONDS, ArmBench
from iotune.models.settings.candidates import Candidate

from iotune.errors import Error

# A replay under settings that are as far behind the fastest so far must not hold up the others: its
# start has so many seconds to itself.
_HOPELESS, _START_SECONDS = 4.0, 10.0


class OutOfTime(Error):
    """Options.until has passed."""

    def __init__(self) -> None:
        super().__init__("the time that it may take is over")


class Contest:
    """One of a bench's candidates. Chosen ones are all run in every round."""

    def __init__(
        self, bench: ArmBench, tried: Sequence[Candidate], partners: Sequence[Candidate],
        allowed: frozenset[str], options: Options, progress: Progress,
    ):  # fmt: skip
        """The best may be joined by others and by `partners`, where `allowed` has both together."""
        self._bench, self._options, self._progress = bench, options, progress
        self._partners, self._allowed = partners, allowed
        self._measured = {f"c{at}": Measured(one, "") for at, one in enumerate(tried)}
        self._race = Race(self._run, options.seed)
        self._race_began, self._runs_made, self._hopeless_seconds = 0.0, 0, TIMEOUT_SECONDS
        self._in_time = True

    def outcome(self) -> Outcome:
        """Race the candidates, then confirm the best.

        Where the time ends the race, what is fastest so far is confirmed in the time that was kept
        for that. Raises OutOfTime where that proves nothing.
        """
        race, measured, options = self._race, self._measured, self._options
        self._settle()
        # At most, without those that confirm.
        race_runs = most_runs(len(measured), options.rounds) - 2 * options.rounds
        if options.chosen:
            race_runs = (1 + len(measured)) * options.rounds
        self._progress("measuring", race_runs)
        finalists = self._finalists()
        for name, one in measured.items():
            if one.effect == "applied":
                one.gain = race.gain(name, len(measured))
        times = [one[DEFAULT] for one in race.rounds]
        outcome = Outcome(
            self._bench.case,
            {},
            list(measured.values()),
            times,
            None,
            notes=list(self._bench.notes),
        )
        outcome.trials = trials_of(race.rounds, measured)
        best = to_confirm({name: measured[name] for name in finalists}, race.speed)
        if best is not None:
            spare_rounds = max(0, race_runs - race.runs) // 2
            if not self._in_time:
                outcome.notes.append(
                    "the time ended the race: what was fastest so far was confirmed"
                )
                spare_rounds = 0
            self._confirm(outcome, best, spare_rounds)
        if not self._in_time and outcome.winner is None:
            raise OutOfTime
        return outcome

    def _settle(self) -> None:
        self._progress("settling in", 1)
        began = time.monotonic()
        self._bench.settle()
        self._race_began = time.monotonic()
        self._limit_to(self._race_began - began)
        self._progress("", 0)

    def _limit_to(self, passed_seconds: float) -> None:
        """A replay that is raced for the first time may take some times as long as this one."""
        limit_seconds = _START_SECONDS + _HOPELESS * passed_seconds
        self._hopeless_seconds = min(self._hopeless_seconds, limit_seconds)

    def _finalists(self) -> Sequence[str]:
        names = list(self._measured)
        if self._options.chosen:
            for _ in range(self._options.rounds):
                names = self._race.round(names)
                if not names:
                    break
            return names
        try:
            kinds = {name: kind_of(self._measured[name].candidate.settings) for name in names}
            return self._race.run_all(names, self._options.rounds, self._join, Mechanisms(kinds))
        except OutOfTime:
            if not self._race.rounds:
                raise
            self._in_time = False
            return [name for name in self._measured if self._race.rounds_of(name)]

    def _time_is_over(self) -> bool:
        now = time.monotonic()
        a_run = (now - self._race_began) / max(1, self._runs_made)
        confirming = 0 if self._options.chosen else 2 * self._options.rounds * a_run
        return now + confirming > self._options.until

    def _run(self, order: Sequence[str]) -> dict[str, float]:
        found: dict[str, float] = {}
        for names in self._bench.parts_of(order):
            found |= self._replayed(names)
        return found

    def _replayed(self, names: Sequence[str]) -> dict[str, float]:
        """One replay of these arms; those that failed or did not take effect are left out."""
        if self._time_is_over():
            raise OutOfTime
        self._runs_made += len(names)
        began = time.monotonic()
        reported = self._reported(names)
        found: dict[str, float] = {}
        for name, (seconds, effect) in reported.items():
            if name != DEFAULT:
                one = self._measured[name]
                # The first of its runs tells: all of them carry the same settings.
                if seconds is None or not one.effect:
                    one.effect = effect
                effect = one.effect
            if seconds is not None and effect == "applied":
                found[name] = seconds
        if any(seconds is not None for seconds, _ in reported.values()):
            self._limit_to(time.monotonic() - began)
        for _ in names:
            self._progress("", 0)
        leader = self._race.leader()
        if leader is not None:
            text = self._measured[leader[0]].candidate.text
            self._progress(f"measuring; best so far {leader[1]:.2f}x {text}", 0)
        return found

    def _reported(self, names: Sequence[str]) -> Mapping[str, tuple[float | None, str]]:
        # Who was not hopeless once may meet a tail.
        known = all(name == DEFAULT or self._measured[name].effect for name in names)
        limit_seconds = TIMEOUT_SECONDS if known else self._hopeless_seconds
        return self._bench.measured_together(self._candidates(names), limit_seconds)

    def _candidates(self, names: Sequence[str]) -> dict[str, Candidate]:
        known = self._measured
        return {name: known[name].candidate if name in known else Candidate() for name in names}

    def _join(self, winner: str, others: Sequence[str]) -> list[str]:
        names: list[str] = []
        settings = self._measured[winner].candidate.settings
        for other in [*(self._measured[name].candidate for name in others), *self._partners]:
            both = joinable(settings, other.settings, self._allowed)
            if both is not None and len(names) < MOST_JOINED:
                names.append(f"c{len(self._measured)}")
                self._measured[names[-1]] = Measured(Candidate(both, "the best two together"), "")
        return names

    def _confirm(self, outcome: Outcome, name: str, spare_rounds: int) -> None:
        """Measure the best candidate again, alone against default: what won by luck falls back.

        It is proven where it is better in these rounds, which did not choose it, and where all that
        it ran, those of the race included, leave no doubt. The race alone flatters the best of
        many. A few fresh rounds are enough where each of them says the same; where they leave
        doubt, others follow: at most those that are asked for, and those that the race was allowed
        and did not need.
        """
        best, options = self._measured[name], self._options
        raced = self._race.rounds_of(name)
        times: dict[str, list[float]] = {DEFAULT: [], name: []}
        rounds, wanted = 0, min(FEWEST_ROUNDS, options.rounds)
        while wanted:
            self._progress("confirming", 2 * wanted)
            seed = options.seed + 1 + rounds
            arms = self._candidates([DEFAULT, name])
            more = self._bench.measured_rounds(arms, wanted, seed, lambda: self._progress("", 0))
            for arm, seconds in more.items():
                times[arm] += seconds
            rounds += wanted
            fresh = compare_ranks(times[DEFAULT], times[name], STORED)
            default, own = ([one[arm] for one in raced] + times[arm] for arm in (DEFAULT, name))
            gain = compare_ranks(default, own, STORED)
            is_early = rounds < options.rounds
            proven = fresh.ratio >= WORTHWHILE and gain.clears_one
            proven = proven and (fresh.clears_one or not is_early)
            hopeless = gain.ratio < WORTHWHILE or fresh.ratio < 1
            is_last = rounds >= options.rounds + spare_rounds
            wanted = 0 if proven or hopeless or is_last else 1
        outcome.confirmed = gain
        if proven:
            outcome.winner, outcome.winning_arm = best, name
        else:
            outcome.notes.append(
                f"{best.candidate.text} won its first rounds and not the second "
                f"({fresh.ratio:.2f}x; of all {gain.rounds} {gain.low:.2f} to {gain.high:.2f})"
            )


def to_confirm(finalists: Mapping[str, Measured], speed: Callable[[str], float]) -> str | None:
    """The finalist worth rounds of its own; None where none was better than default by far enough.

    The fastest, not the one whose interval lies highest: after a few rounds that is luck, and
    the rounds to come prove it anyway.
    """
    raced = [name for name, one in finalists.items() if one.gain is not None]
    fastest = max(map(speed, raced), default=0.0)
    if fastest < WORTHWHILE:
        return None
    least = max(WORTHWHILE, fastest * AS_GOOD)
    # Of those as good as the best the one that changes least: a setting needs a reason.
    return min(
        (len(finalists[name].candidate.settings), -speed(name), name)
        for name in raced
        if speed(name) >= least
    )[2]
