"""The features of a pattern from Python are those of the native function."""

import pytest

from iotune import Error, core

PATTERN = {
    "descriptor": "<2D,(*,BLOCK),(16384,64)>", "op": "write", "element_bytes": 8, "ranks": 4,
    "grid": [1, 4], "mode": "collective", "chunk": [], "filters": 0, "dataset_dims": [16384, 256],
}  # fmt: skip


def named(row):
    return dict(zip(core.feature_names(), row))


def test_each_settings_has_a_row():
    rows = core.features(
        PATTERN, [{}, {"romio_cb_write": "disable"}, {"cb_nodes": "4", "cb_config_list": "*:4"}]
    )
    assert rows is not None and len(rows) == 3
    default, sieved, four = map(named, rows)
    assert default["is_two_phase"] == 1 and default["log2_aggregators"] == 0
    assert sieved["is_sieved"] == 1 and sieved["is_two_phase"] == 0
    assert four["log2_aggregators"] == 2
    assert default["log2_piece_bytes"] == 9 and default["log2_pieces"] == 14


def test_what_it_runs_on_counts():
    [row] = core.features(PATTERN, [{}], {"nodes": 4, "striped": 1, "stripe_count": 8}) or [[]]
    assert named(row)["log2_aggregators"] == 2
    assert named(row)["log2_stripe_count"] == 3


def test_an_irregular_pattern_has_none():
    assert core.features({**PATTERN, "descriptor": "<2D,(IRREGULAR,*),(9,9)>"}, [{}]) is None


@pytest.mark.parametrize("settings", [{"cb_nodes": "many"}, {"no_such": "1"}])
def test_settings_that_are_none_are_refused(settings):
    with pytest.raises(Error):
        core.features(PATTERN, [settings])
