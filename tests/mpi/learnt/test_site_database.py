"""A site's database beneath the user's: what loses in one user's runs is taken back for him alone.

As in test_learning.py the test only runs the program, and reads the databases.
"""

from __future__ import annotations

import json
from pathlib import Path

from support.answers import make_database
from support.place import Place, main, not_verified
from support.repository import IOTUNE
from support.slow_storage import SETTINGS, Storage


def shipped(storage: Storage) -> Path:
    """Trains the program's pattern into a database that the site ships, and forgets the user's."""
    storage.run()
    storage.train()
    database = storage.place.scratch / "site" / "patterns.db"
    database.parent.mkdir(mode=0o755)
    storage.db.rename(database)
    database.chmod(0o444)
    conf = storage.place.scratch / "site.conf"
    conf.write_text(f"database = {database}\n")
    conf.chmod(0o644)
    storage.env["IOTUNE_SITE_CONFIG"] = conf
    make_database(storage.db)
    storage.arms.clear()
    return database


def outcome(storage: Storage) -> dict[str, object]:
    """What explain says of the last run's file."""
    place = storage.place
    done = place.run(IOTUNE, "explain", "--json", place.trace, preload=False, **storage.env)
    files = json.loads(place.right(done).out)["files"]
    return dict(files[0])


def taken_back(place: Place) -> None:
    """By the user's own runs on storage that became slow; another user still gets it."""
    storage = Storage(place)
    site = shipped(storage)
    before = (site.read_bytes(), site.stat().st_mtime_ns)
    storage.run()
    assert storage.arms == ["exact"], storage.arms
    rows = storage.rows("SELECT t.source, s.text FROM tunings t JOIN settings s ON t.settings=s.id")
    assert rows == [("site", SETTINGS)], rows
    while storage.arms.count("exact") < 7 or storage.arms.count("explore") < 3:
        storage.run()
        assert len(storage.arms) < 40, storage.arms
    assert storage.newest()[0] == "tuned", storage.newest()
    if IOTUNE.exists():
        said = outcome(storage)
        assert said["of_site"] is True, said
    storage.slow.touch()
    while storage.newest()[0] == "tuned" and len(storage.arms) < 100:
        storage.run()
    state, evidence, _ = storage.newest()
    assert state == "reverted" and "at the default" in str(evidence), (state, storage.arms)
    print(f"taken back after {len(storage.arms)} runs: {evidence}")
    storage.arms.clear()
    storage.run()
    storage.run()
    assert storage.arms == ["exact"] * 2, storage.arms
    last = (
        "SELECT s.text FROM observations o JOIN settings s ON s.id = o.settings "
        "ORDER BY o.id DESC LIMIT 1"
    )
    assert storage.rows(last) == [("",)]
    assert (site.read_bytes(), site.stat().st_mtime_ns) == before
    # Another user's runs.
    storage.db = place.scratch / "other" / "iotune" / "patterns.db"
    storage.env["XDG_DATA_HOME"] = place.scratch / "other"
    make_database(storage.db)
    storage.slow.unlink()
    storage.run()
    assert storage.rows(last) == [(SETTINGS,)]
    assert storage.newest()[0] == "tuned"
    if not IOTUNE.exists():
        not_verified("what explain says of a site's answer: iotune is not in .venv")


if __name__ == "__main__":
    main({"taken-back": taken_back})
