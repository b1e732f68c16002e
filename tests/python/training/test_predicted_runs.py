"""A run whose pattern was never measured gets what a model of its platform is sure of."""

import base64
import sqlite3

import pytest

from support.installed.columns_program import Home, needs_mpi
from support.installed.json_schemas import conforming

pytest.importorskip("sklearn")
from iotune.models.gains.fit import fit  # noqa: E402
from iotune.models.gains.rows import rows_of  # noqa: E402
from iotune.models.gains.store import candidates_of  # noqa: E402
from iotune.models.survey.stored import PLATFORM_NAMES  # noqa: E402

from bench.training.made_surfaces import made_surfaces  # noqa: E402
from iotune import core  # noqa: E402

pytestmark = [pytest.mark.mpi, needs_mpi]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    found = Home(tmp_path_factory.mktemp("home"))
    found.record()
    return found


def learn(home, **changed):
    """Fit a model to made surfaces, as if this platform had been surveyed."""
    assert home.iotune("db", "list").returncode == 0  # folds what the runs left
    database = core.Database(home.folder / "data" / "iotune" / "patterns.db")
    [case] = database.untrained()
    platform = {name: case["platform"][name] for name in PLATFORM_NAMES}
    surfaces = made_surfaces(40, 1, ranks=(2,))
    database.add_gain_model(
        {
            "platform": {**platform, **changed},
            "payload": base64.b64encode(fit(rows_of(surfaces)).payload).decode(),
            "candidates": "\n".join(candidates_of(surfaces)),
            "archive": "", "score": {}, "patterns": 40, "rows": 1600, "made_at": 1.0e9,
        }
    )  # fmt: skip


def explained(home):
    done = home.iotune("explain", "--json")
    assert done.returncode == 0, done.stderr
    [file] = [
        one
        for one in conforming("explain", done.stdout)["files"]
        if one["path"].endswith("columns.h5")
    ]
    return file


def test_a_prediction_is_applied_and_becomes_the_users_answer(home):
    learn(home, mpi="MPICH 1.2")
    home.run()
    assert explained(home)["source"] == "untrained", "another platform's model"
    learn(home)
    home.run()
    file = explained(home)
    assert file["source"] == "predicted"
    applied = [one for one in file["settings"] if one["verdict"] == "applied"]
    assert applied and all(one["got"] == one["wanted"] for one in applied)
    assert "predicted from 40 measured patterns" in file["message"]
    # Folded with the next question.
    home.run()
    rows = sqlite3.connect(home.folder / "data" / "iotune" / "patterns.db").execute(
        "SELECT t.source, t.state, s.text FROM tunings t JOIN settings s ON s.id = t.settings"
    )
    [(source, state, text)] = rows
    assert (source, state) == ("predicted", "tuned") and text
    assert explained(home)["source"] in ("exact", "explore")


@pytest.mark.soak
def test_predict_says_what_a_run_would_get(home):
    words = ("predict", "<2D,(*,BLOCK),(4096,32)>", "--ranks", "2", "--collective",
             "--on", str(home.folder))  # fmt: skip
    done = home.iotune(*words, "--json")
    assert done.returncode == 0, done.stderr
    said = conforming("predict", done.stdout)
    assert said["applied"]["sure"] > 1 and said["outside"] == ""
    assert said["settings"][0]["gain"] >= said["settings"][-1]["gain"]
    reported = home.iotune(*words).stdout
    assert "A run without a measured answer gets" in reported
    # Of one byte each: no survey had such pieces, and what settings make of them is counted.
    outside = home.iotune("predict", "<1D,(CYCLIC),(4096)>", "--ranks", "2", "--element-bytes",
                          "1", "--collective", "--on", str(home.folder), "--json")  # fmt: skip
    assert outside.returncode == 0, outside.stderr
    said = conforming("predict", outside.stdout)
    assert said["outside"].startswith("piece bytes is 1, and what was measured has")
    widths = [one["high"] / one["low"] for one in said["settings"]]
    assert max(widths) > 1.5, widths


@pytest.mark.soak
def test_a_damaged_model_is_left_alone_and_reported(tmp_path_factory):
    home = Home(tmp_path_factory.mktemp("damaged"))
    home.record()
    learn(home)
    path = home.folder / "data" / "iotune" / "patterns.db"
    with sqlite3.connect(path) as db:
        [(payload,)] = db.execute("SELECT payload FROM gain_models")
        damaged = payload[:999] + bytes([payload[999] ^ 4]) + payload[1000:]
        db.execute("UPDATE gain_models SET payload = ?", (damaged,))
    db.close()
    assert "fault" not in home.run()
    file = explained(home)
    assert file["source"] == "untrained" and file["settings"] == []
    assert "left alone" in file["message"] and "iotune train --survey" in file["message"]
