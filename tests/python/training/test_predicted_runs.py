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

from bench.training import made_surfaces as made  # noqa: E402
from iotune import core  # noqa: E402

ROWS = 1024

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
    surfaces = made.made_surfaces(40, 1, ranks=(2,))
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
def test_a_prediction_is_confirmed_and_taken_back_where_the_storage_changes(
    tmp_path_factory, monkeypatch
):
    """Nobody ever measured the pattern: the user's own runs do."""
    # As if it had been surveyed where an exchange costs much, and a small write nothing.
    for name, seconds in (("exchanged_bytes", 1e-6), ("exchange_messages", 0.05),
                          ("system_calls", 1e-7)):  # fmt: skip
        monkeypatch.setitem(made.PRICES, name, seconds)
    home = Home(tmp_path_factory.mktemp("changed"))
    home.storage_may_slow_down()
    home.environment["IOTUNE_LEARN_MS"] = "5000"  # each run's end is to be learnt from at once
    home.record(ROWS)
    learn(home)
    home.run(ROWS)
    assert explained(home)["source"] == "predicted"
    path = home.folder / "data" / "iotune" / "patterns.db"

    def newest():
        with sqlite3.connect(path) as db:
            [row] = db.execute(
                "SELECT source, state, evidence FROM tunings ORDER BY made_at DESC, id DESC LIMIT 1"
            )
        db.close()
        return row

    home.run(ROWS)
    with sqlite3.connect(path) as db:  # one run in eight at the default takes some thirty runs
        db.execute("UPDATE tunings SET default_share = 0.5")
    db.close()
    for _ in range(5):
        home.run(ROWS)
    assert newest()[:2] == ("predicted", "tuned"), newest()
    (home.folder / "slow").touch()
    runs = 0
    while newest()[1] == "tuned" and runs < 60:
        home.run(ROWS)
        runs += 1
    source, state, evidence = newest()
    assert state == "reverted", (source, state, evidence)
    assert "at the default" in evidence
    print(f"taken back after {runs} runs on the slow storage: {evidence}")
    home.run(ROWS)
    file = explained(home)
    assert file["settings"] == [] and "taken back" in file["message"], file


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
