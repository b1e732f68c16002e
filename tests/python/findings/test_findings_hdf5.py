"""Each finding of HDF5: a parallel program that shows it, and its mended twin without any."""

from __future__ import annotations

from pathlib import Path

import pytest

from iotune import core
from iotune.findings import datasets, findings_of
from support.installed.habits import Habits, ids, needs_the_library

pytestmark = [pytest.mark.mpi, needs_the_library]

RANKS = 4
HABITS = {
    "independent": "independent-transfers",
    "conversion": "type-conversion",
    "scattered": "scattered-selection",
    "small-transfers": "small-transfers",
    "filters": "shared-chunks",
    "chunk-shape": "chunk-shape",
    "chunk-cache": "chunk-cache",
    "small-datasets": "small-datasets",
    "attributes": "many-attributes",
    "fill": "fill-values",
    "metadata-reads": "metadata-reads",
}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Habits:
    return Habits(tmp_path_factory.mktemp("habits"), "hdf5_habits")


@pytest.mark.parametrize(("habit", "id"), HABITS.items())
def test_a_habit_is_found_and_its_mended_twin_has_nothing(
    programs: Habits, habit: str, id: str
) -> None:
    found = programs.findings(habit, good=False, ranks=RANKS)
    assert id in ids(found), ids(found)
    assert ids(programs.findings(habit, good=True, ranks=RANKS)) == []


def test_collectives_that_hdf5_took_apart_are_reported_with_their_cause(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    programs = Habits(tmp_path_factory.mktemp("habits"), "hdf5_habits")
    found = programs.findings("conversion", good=False, ranks=RANKS)
    (split,) = (one for one in found.findings if one.id == "split-collectives")
    assert "datatype conversion" in split.summary
    assert split.evidence[0].dataset == "/a" and split.evidence[0].calls == RANKS
    (converted,) = (one for one in found.findings if one.id == "type-conversion")
    assert "4 bytes in memory, 8 in the file" in converted.evidence[0].text


def test_beyond_a_number_of_transfers_selections_are_left_out_and_that_is_said(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given
    programs = Habits(tmp_path_factory.mktemp("habits"), "hdf5_habits")
    trace = programs.trace("chunk-cache", good=False, ranks=RANKS)
    assert ids(findings_of(trace)) == ["chunk-cache"] and findings_of(trace).limits == ()
    # when no more than the first are looked at
    monkeypatch.setattr(datasets, "MOST_TRANSFERS", 5)
    found = findings_of(trace)
    # then
    assert ids(found) == []
    assert found.limits == ("of HDF5's transfers the selections of the first 5 were looked at",)


def test_a_cache_that_is_too_small_names_one_that_is_not(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    programs = Habits(tmp_path_factory.mktemp("habits"), "hdf5_habits")
    (one,) = programs.findings("chunk-cache", good=False, ranks=RANKS).findings
    assert "2 chunks of 4.0 MiB read and unpacked 32.0 times each" in one.evidence[0].text
    assert "a cache of 32.0 MiB would hold them" in one.summary
    assert [(each.parameter, each.state) for each in one.settings] == [
        ("chunk_cache", "may be set")
    ]
    # and where iotune gave the dataset such a one, there is nothing to find
    config = tmp_path / "config.xml"
    config.write_text(core.config_xml({"chunk_cache": str(8 << 20)}))
    tuned = programs.trace("chunk-cache", good=False, ranks=RANKS, config=config)
    assert ids(findings_of(tuned)) == []
    # or, where it is still too small, iotune is said to have set it
    config.write_text(core.config_xml({"chunk_cache": str(2 << 20)}))
    programs = Habits(tmp_path, "hdf5_habits")
    still = findings_of(programs.trace("chunk-cache", good=False, ranks=RANKS, config=config))
    assert [(each.parameter, each.state) for each in still.findings[0].settings] == [
        ("chunk_cache", "set in this run")
    ]
    (evidence,) = still.findings[0].evidence
    assert "the cache has 2.0 MiB and 32.0 MiB would hold them" in evidence.text
