"""The small programs, run by an MPI and recorded with their order: the brute force and
`iotune verify` say of each what the standards say.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tomllib

from support.installed.brute_force import MODELS, judge
from support.installed.order_runs import compiled_programs, recorded, verdicts_of, verified
from support.mpis import Mpi, find_mpi

pytestmark = pytest.mark.mpi

EXPECTED: dict[str, Any] = tomllib.loads((Path(__file__).parent / "expected.toml").read_text())
Programs = dict[str, Path]


@pytest.fixture(
    scope="module",
    params=[
        "mpich-4",
        *(pytest.param(name, marks=pytest.mark.soak)
          for name in ("openmpi-4", "mpich-5", "standard-abi", "openmpi-5")),
    ],
)  # fmt: skip
def built(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Mpi, Programs]:
    mpi = find_mpi(request.param)
    if mpi is None:
        pytest.skip(f"NOT VERIFIED: {request.param} is not here")
    return mpi, compiled_programs(mpi, list(EXPECTED), tmp_path_factory.mktemp("programs"))


@pytest.mark.parametrize("form", ["race", "ordered"])
@pytest.mark.parametrize("name", EXPECTED)
def test_a_small_program(name: str, form: str, built: tuple[Mpi, Programs], tmp_path: Path) -> None:
    # given a run of the program
    mpi, programs = built
    trace, shared = recorded(mpi, EXPECTED[name]["ranks"], programs[name], form, tmp_path)
    # when both judges read its trace
    said = {word: EXPECTED[name][form][word] for word in ("pairs", *MODELS)}
    by_brute_force = judge(trace)[str(shared)]
    by_iotune = [found(trace).get(str(shared), dict.fromkeys(said, 0))
                 for found in (verdicts_of, verified)]  # fmt: skip
    # then they say what the standards say; a file without conflicts need not be listed
    assert by_brute_force == said
    assert by_iotune == [said, said]
