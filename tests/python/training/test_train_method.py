"""`iotune train --method`: a search looks at cheap files, and what it finds is raced."""

import json

import pytest
from typer.testing import CliRunner

from support.installed.columns_program import Home, needs_mpi

pytest.importorskip("sklearn")
from iotune.models import shortlist  # noqa: E402

from iotune import core  # noqa: E402
from iotune.cli import app  # noqa: E402

pytestmark = [pytest.mark.mpi, needs_mpi]
ROWS = 4096


@pytest.mark.parametrize("method", [pytest.param("random", marks=pytest.mark.soak), "ours"])
def test_a_search_of_a_large_file_looks_at_smaller_ones(tmp_path, method, monkeypatch):
    home = Home(tmp_path)
    home.record(ROWS)
    for name, value in home.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("IOTUNE_DB", raising=False)
    # Files of 2 MiB are large here: real ones take minutes.
    monkeypatch.setattr(shortlist, "SEARCH_BYTES", 1 << 20)
    words = ["train", "--method", method, "--rounds", "3", "--budget", "2", "--json"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    [outcome] = json.loads(done.stdout)
    [note] = [one for one in outcome["notes"] if one.startswith(f"{method} looked at ")]
    assert note.endswith("each with 50 % of the file's bytes")
    assert len(outcome["candidates"]) <= 3, "the budget, and the best two together"
    database = core.Database(home.folder / "data" / "iotune" / "patterns.db")
    sizes = {one["pattern"]["dataset_dims"][0]: one for one in database.surfaces()}
    assert set(sizes) == {ROWS, ROWS // 2}, "both files' times are kept, each by itself"
    assert all(any(trial["settings"] for trial in one["trials"]) for one in sizes.values())
    assert len({json.dumps(one["platform"]) for one in sizes.values()}) == 1
