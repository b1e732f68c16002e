"""iotune.PatternDB: patterns, answers, history and distances, read only."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import iotune
from iotune import core
from iotune.database.pattern_db import KnownPattern
from iotune.database.tunings import pattern_json, tuning_json
from iotune.traces.summary import DatasetPattern

PLATFORM = {"filesystem": "ext4", "mpi": "MPICH 4.0.2", "hdf5": "1.10.8"}
BLOCK = 1 << 20


def block(count: int, ranks: int = 8, write: bool = True, mode: str = "collective") -> dict:
    return pattern_json(f"<1D,(BLOCK),({count})>", write, 4, [count * ranks], [ranks], mode)


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    found = tmp_path / "patterns.db"
    database = core.Database(found)
    for pattern, settings, gain in (
        (block(BLOCK), {"romio_cb_write": "disable"}, (2.0, 1.8, 2.2)),
        (block(2 * BLOCK), {"cb_nodes": "2"}, None),
        (block(BLOCK, write=False), {}, None),
        (block(BLOCK, mode="independent"), {}, None),
    ):
        database.add_tuning(tuning_json(pattern, PLATFORM, settings, "by hand", gain))
    yield found


def test_patterns_and_answers(path: Path) -> None:
    with iotune.PatternDB(path) as database:
        known = database.patterns()
        assert len(database) == len(known) == len(list(database)) == 4 and database
        first = known[0]
        assert (first.descriptor, first.operation, first.mode) == (
            f"<1D,(BLOCK),({BLOCK})>", "write", "collective",
        )  # fmt: skip
        assert (first.ranks, first.process_grid, first.dataset_dims) == (8, (8,), (8 * BLOCK,))
        (tuning,) = first.tunings
        assert tuning.settings == {"romio_cb_write": "disable"} and tuning.state == "tuned"
        assert (tuning.gain, tuning.low, tuning.high) == (2.0, 1.8, 2.2)
        assert tuning.platform.filesystem == "ext4" and tuning.source == "by hand"
        assert database.tunings(first) == database.tunings(first.id) and database.tunings(first)
        (move,) = database.history(first)
        assert move.kind == "answer" and move.reported["gain"] == 2.0
        assert database.pattern(first.id).descriptor == first.descriptor


def test_queries(path: Path) -> None:
    database = iotune.PatternDB(path)
    assert len(database.query(f"<1D,(BLOCK),({BLOCK})>")) == 3
    # Eight bytes an element: the same bytes as twice the elements of four.
    (same,) = database.query(f"<1D,(BLOCK),({BLOCK})>", 8)
    assert same.descriptor == f"<1D,(BLOCK),({2 * BLOCK})>"
    assert database.query(f"<1D,(BLOCK),({BLOCK})>", 16) == []
    with pytest.raises(iotune.Error, match="descriptor"):
        database.query("1D BLOCK")


def test_distances(path: Path) -> None:
    database = iotune.PatternDB(path)
    found = database.match(
        f"<1D,(BLOCK),({BLOCK})>", element_bytes=4, dataset_dims=[8 * BLOCK], process_grid=[8]
    )
    assert [one.distance for one in found] == [0, 0.5]
    assert found[0].is_similar and found[0].pattern.tunings[0].gain == 2.0
    # Twice the ranks is 1; the same of a pattern of the database, and of a run's dataset.
    shape: dict[str, Any] = {"element_bytes": 4, "dataset_dims": [16 * BLOCK], "process_grid": [16]}
    far = database.match(f"<1D,(BLOCK),({BLOCK})>", **shape)
    assert [one.distance for one in far] == [1, 1.5]
    assert database.match(f"<1D,(BLOCK),({BLOCK})>", within=1.25, **shape) == far[:1]
    read = database.match(f"<1D,(BLOCK),({BLOCK})>", operation="read", **shape)
    assert [one.pattern.operation for one in read] == ["read"]
    assert database.match(found[1].pattern)[0].distance == 0
    dataset = DatasetPattern(
        descriptor=f"<1D,(BLOCK),({BLOCK})>", element_bytes=4, dataset_dims=[8 * BLOCK],
        process_grid=[8], ranks=8, mode="independent",
    )  # fmt: skip
    assert [one.pattern.mode for one in database.match(dataset)] == ["independent"]


def test_wrong_questions_are_reported(path: Path) -> None:
    database = iotune.PatternDB(path)
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({}, "element_bytes is needed"),
        ({"element_bytes": 4}, "dataset_dims has 0 numbers"),
        ({"element_bytes": 4, "dataset_dims": [8], "process_grid": [2, 2]}, "process_grid has 2"),
        ({"element_bytes": 4, "dataset_dims": [8], "process_grid": [2], "operation": "copy"},
         "'copy' is neither"),
    )  # fmt: skip
    for words, named in cases:
        with pytest.raises(iotune.Error, match=named):
            database.match("<1D,(BLOCK),(4)>", **words)
    with pytest.raises(iotune.Error, match="is irregular"):
        database.match(KnownPattern(descriptor="<1D,(IRREGULAR),(7)>", element_bytes=4))
    for number in (99, -1, 2**70):
        with pytest.raises(iotune.Error):
            database.pattern(number)


def test_it_is_only_read(path: Path) -> None:
    before = path.read_bytes(), path.stat().st_mtime_ns, sorted(path.parent.iterdir())
    with iotune.PatternDB(path) as database:
        database.patterns()
        with pytest.raises(iotune.Error, match="is only read"):
            database.ingest()
    assert (path.read_bytes(), path.stat().st_mtime_ns, sorted(path.parent.iterdir())) == before
    with iotune.PatternDB(path, read_only=False) as database:
        assert database.ingest()["faults"] == []


def test_what_is_closed_says_so(path: Path) -> None:
    database = iotune.PatternDB(path)
    database.close()
    database.close()
    with pytest.raises(iotune.Error, match="was closed"):
        database.patterns()
    assert "patterns.db" in repr(database)


def test_a_missing_database_is_not_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(iotune.Error, match="there is no database"):
        iotune.PatternDB(tmp_path / "none.db")
    assert not (tmp_path / "none.db").exists()
    monkeypatch.setenv("IOTUNE_DB", "none")
    with pytest.raises(iotune.Error, match="named 'none'"):
        iotune.PatternDB()
    monkeypatch.setenv("IOTUNE_DB", str(tmp_path / "other.db"))
    with pytest.raises(iotune.Error, match=r"other\.db: there is no database"):
        iotune.PatternDB()
    (tmp_path / "text.db").write_text("no database, but a text that is longer than its head" * 9)
    with pytest.raises(iotune.Error, match=r"text\.db"):
        iotune.PatternDB(tmp_path / "text.db").patterns()
