"""What became of a candidate's settings in a replay: all of them must be in effect."""

from __future__ import annotations

import pytest

from iotune.traces.summary import FilePattern, RunSummary, SettingOutcome

pytest.importorskip("scipy")
from iotune.models.replays.bench import effect_of  # noqa: E402

BOTH = {"cb_nodes": "4", "romio_cb_write": "enable"}


def outcome(parameter: str, verdict: str, reason: str = "") -> SettingOutcome:
    return SettingOutcome(
        parameter=parameter, wanted=BOTH.get(parameter, "1"), reason=reason, verdict=verdict
    )


def effect(*settings: SettingOutcome, wanted: dict[str, str] = BOTH, path: str = "/d/c.h5") -> str:
    run = RunSummary(files=[FilePattern(path=path, settings=list(settings))])
    return effect_of(run, {"c.h5"}, wanted)


@pytest.mark.parametrize("verdict", ["applied", "unverifiable"])
def test_a_combination_is_applied_where_all_of_it_is(verdict: str) -> None:
    assert effect(outcome("cb_nodes", "applied"), outcome("romio_cb_write", verdict)) == "applied"


@pytest.mark.parametrize("verdict", ["without effect", "refused"])
@pytest.mark.parametrize("lost, kept", [tuple(BOTH), tuple(BOTH)[::-1]])
def test_a_part_of_a_combination_is_not_the_combination(verdict: str, lost: str, kept: str) -> None:
    found = effect(outcome(kept, "applied"), outcome(lost, verdict, "4.1 reads it not"))
    assert found == f"only a part is in effect: {lost} {verdict} (4.1 reads it not)"


def test_a_setting_that_no_file_got_is_not_in_effect() -> None:
    found = effect(outcome("cb_nodes", "applied"))
    assert found == "only a part is in effect: romio_cb_write never reached a file"


def test_where_nothing_is_in_effect_each_setting_says_why() -> None:
    found = effect(outcome("romio_cb_write", "refused", "no"), outcome("cb_nodes", "refused"))
    assert found == "cb_nodes refused; romio_cb_write refused (no)"
    assert effect() == "never reached a file"
    assert effect(outcome("cb_nodes", "applied"), path="/d/other.h5") == "never reached a file"


def test_one_rank_in_effect_is_enough_and_further_datasets_do_not_count() -> None:
    fadvise = {"fadvise": "1"}
    reported = [outcome("fadvise", one) for one in ("without effect", "applied", "without effect")]
    assert effect(*reported, wanted=fadvise) == "applied"
    assert effect(outcome("fadvise", "not listed"), wanted=fadvise) == "never reached a file"


def test_of_several_files_one_with_the_setting_is_enough() -> None:
    in_effect = [outcome(name, "applied") for name in BOTH]
    run = RunSummary(
        files=[
            FilePattern(path="/d/a.h5", settings=[outcome("cb_nodes", "without effect")]),
            FilePattern(path="/d/c.h5", settings=in_effect),
        ]
    )
    assert effect_of(run, {"a.h5", "c.h5"}, BOTH) == "applied"
    assert effect_of(run, {"a.h5"}, BOTH).startswith("cb_nodes without effect")
