"""What `iotune train` says that it spent."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from iotune.models.cases import Case

from iotune.cli.train_cost import cost_text, program_seconds_of


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
