"""What trainings take: rounds that are one replay each, and what is said of it."""

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from iotune.models.cases import Case, stored_pattern
from iotune.models.replays.many import MOST_FILES
from iotune.models.replays.preceding_files import as_own_files
from iotune.models.replays.run_journal import RunJournal
from iotune.models.replays.shared_rounds import SharedRounds, can_share
from iotune.models.settings.candidates import Candidate

from iotune import Error
from iotune.cli.train_cost import cost_text, program_seconds_of
from iotune.replay.mpi import find_mpi
from iotune.replay.plan_build import plan_of_pattern
from iotune.replay.replayer import find_replayer, scratch_directory

needs_mpi = pytest.mark.skipif(shutil.which("mpirun.mpich") is None, reason="no MPICH here")
WRITE = {
    "descriptor": "<2D,(*,BLOCK),(512,64)>", "op": "write", "element_bytes": 8, "ranks": 2,
    "grid": [1, 2], "mode": "collective", "chunk": [], "filters": 0, "dataset_dims": [512, 128],
}  # fmt: skip
ARMS: Mapping[str, Candidate] = {
    "c0": Candidate({"romio_cb_write": "disable"}),
    "default": Candidate(),
    "c1": Candidate({"cb_nodes": "1"}),
}
TEXTS = [one.text for one in ARMS.values()]


@pytest.fixture(params=["write", "read"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SharedRounds]:
    """Of a small file, with a journal, settled."""
    case, mpi = Case(0, {**WRITE, "op": request.param}, {}), find_mpi()
    replay = as_own_files(plan_of_pattern(stored_pattern(case), 1))
    with scratch_directory(tmp_path, MOST_FILES << 19) as scratch:
        found = SharedRounds(case, replay, mpi, find_replayer(mpi), scratch, len(ARMS), 1)
        found.journal = RunJournal(tmp_path / "j", "key", resume=False)
        found.journal.begin(TEXTS)
        found.settle()
        yield found


def replays_of(bench: SharedRounds) -> int:
    """Those since it was asked last."""
    made, bench.runs = bench.runs, 0
    return made


@pytest.mark.mpi
@needs_mpi
def rounds_of_two(bench: SharedRounds) -> dict[str, list[float]]:
    two = {name: ARMS[name] for name in ("default", "c1")}
    return bench.measured_rounds(two, 3, 0, lambda: None)


def test_a_round_is_one_replay_and_so_are_the_rounds_that_confirm(bench: SharedRounds) -> None:
    replays_of(bench)
    # when
    found = bench.measured_together(ARMS)
    # then each has its own settings, which are read back
    assert replays_of(bench) == 1
    assert set(found) == set(ARMS)
    for seconds, effect in found.values():
        assert seconds is not None and seconds > 0
        assert effect == "applied"
    # and
    rounds = rounds_of_two(bench)
    assert replays_of(bench) <= (3 if bench.case.pattern["op"] == "read" else 1)
    assert {name: len(seconds) for name, seconds in rounds.items()} == {"default": 3, "c1": 3}
    # and what a training that was killed has measured is not run again
    assert bench.journal is not None
    bench.journal = RunJournal(bench.journal.path, "key", resume=True)
    assert bench.journal.candidates == TEXTS
    assert bench.measured_together(ARMS) == found
    assert rounds_of_two(bench) == rounds
    assert replays_of(bench) == 0


@pytest.mark.mpi
@needs_mpi
def test_who_fails_is_found_and_the_default_s_failure_ends_it(
    bench: SharedRounds, monkeypatch: pytest.MonkeyPatch
) -> None:
    replayed, failing = SharedRounds.replayed, "cb_nodes"

    def fails(self: SharedRounds, name: str, config: str, limit_seconds: float) -> float:
        if failing in config:
            raise Error("the replay failed (1): made up")
        return replayed(self, name, config, limit_seconds)

    monkeypatch.setattr(SharedRounds, "replayed", fails)
    found = bench.measured_together(ARMS)
    assert found["c1"] == (None, "failed: the replay failed (1): made up")
    assert found["c0"][0] and found["default"][0]
    with pytest.raises(Error, match="made up"):
        rounds_of_two(bench)
    failing = ""
    with pytest.raises(Error, match="made up"):
        bench.measured_together(ARMS)


def test_long_and_several_files_have_replays_of_their_own() -> None:
    case = Case(0, WRITE, {}, seconds=0.1)
    plan = plan_of_pattern(stored_pattern(case), 1)
    assert can_share(case, as_own_files(plan))
    assert not can_share(Case(0, WRITE, {}, seconds=3.0), as_own_files(plan))
    plan.files.append(plan.files[0])
    assert not can_share(case, as_own_files(plan))
    large = Case(0, {**WRITE, "dataset_dims": [1 << 17, 128],
                     "descriptor": "<2D,(*,BLOCK),(131072,64)>"}, {}, seconds=0.1)  # fmt: skip
    assert not can_share(large, as_own_files(plan_of_pattern(stored_pattern(large), 1)))


@dataclass
class Done:
    """What an outcome says of its cost."""

    seconds: float
    ratio: float | None
    runs: int = 58
    moved_bytes: int = 1 << 30

    @property
    def case(self):
        return SimpleNamespace(seconds=self.seconds)

    @property
    def winner(self):
        return None if self.ratio is None else self

    @property
    def confirmed(self):
        return None if self.ratio is None else SimpleNamespace(ratio=self.ratio)


def spent(seconds: float, ratio: float | None, *times: float) -> str:
    done: Any = Done(seconds, ratio)
    return cost_text([done], *times)


@pytest.mark.parametrize(
    ("program_seconds", "said"),
    [(4.0, "(as long as 15 runs of the program)"), (300.0, "(as long as 1 run of the program)")],
)
def test_what_was_spent_is_compared_with_the_programs_own_runs(program_seconds, said):
    assert said in spent(1.0, None, 60.0, program_seconds)


def test_without_a_trace_no_run_is_compared_with():
    assert program_seconds_of(Case(0, {}, {}, trace="/nowhere")) == 0
    assert "as long as" not in spent(1.0, None, 60.0)


def test_it_says_after_how_many_runs_that_pays():
    text = spent(2.0, 2.0, 60.0, 10.0)
    assert "(as long as 6 runs of the program); it saves" in text and "pays after 60 runs" in text
