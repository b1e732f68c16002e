"""Many jobs of one user begin at once, and each folds what it saw into the one database: each has
the answer all the same, and no observation is lost.
"""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

from support.answers import answer, make_database
from support.place import Place, main

WANTED = "sieve_buf_size"


def observations(db: Path) -> int:
    with contextlib.closing(sqlite3.connect(db)) as opened:
        (count,) = opened.execute("SELECT count(*) FROM observations").fetchone()
        return int(count)


def jobs(count: int) -> Callable[[Place], None]:
    def test(place: Place) -> None:
        db = place.data / "iotune" / "patterns.db"
        make_database(db)

        def start(number: int) -> tuple[Path, subprocess.Popen[bytes]]:
            folder = place.scratch / f"job{number}"
            folder.mkdir()
            env = place.environment(preload=True, IOTUNE_TRACE=folder / "t.iotrace")
            command = [str(place.bin / "ask_settings"), "a.h5"]
            return folder, subprocess.Popen(
                command, cwd=folder, env=env, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip

        def end(folder: Path, job: subprocess.Popen[bytes]) -> str:
            """The settings that were applied, as the trace and the program have them."""
            out, err = job.communicate(timeout=150)
            assert job.returncode == 0 and b"iotune:" not in err, (folder.name, err)
            notes = [c for c in place.calls(folder / "t.iotrace") if c["name"] == "iotune_setting"]
            applied = {c["texts"][1]: c["texts"][3] for c in notes if c["numbers"][0] == 0}
            if WANTED in applied:
                assert f"{WANTED} {applied[WANTED]}" in out.decode(), out
            return str(applied.get(WANTED, ""))

        assert end(*start(0)) == ""
        assert answer(db, f"{WANTED}=131072") == 1 and observations(db) == 1
        started = [start(number) for number in range(1, count + 1)]
        got = [end(*job) for job in started]
        assert got.count("131072") == count, (got.count("131072"), count)
        # What was not learnt at once, since another job was learning, waits for the next run.
        kept = (place.state / "iotune" / "learn").glob("*.trace")
        spool = (place.data / "iotune" / "spool").glob("*")
        waiting = len({*kept, *spool})
        assert observations(db) + waiting == count + 1, (observations(db), waiting)
        end(*start(count + 1))
        assert observations(db) == count + 2, observations(db)

    return test


if __name__ == "__main__":
    main({"some": jobs(24), "many": jobs(200)})
