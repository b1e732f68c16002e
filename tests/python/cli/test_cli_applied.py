"""`iotune db applied`: the site's log of what was applied, as a support team reads it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from support.installed.user_home import Home

SETTING = {"name": "cb_nodes", "value": "4", "outcome": "applied", "count": 12}
REFUSED = {"name": "alignment", "value": "1,4096", "outcome": "refused", "count": 2,
           "why": "the program set it itself"}  # fmt: skip
KIND = {"name": "step#.h5", "files": 12, "source": "exact", "row": 7,
        "settings": [SETTING, REFUSED]}  # fmt: skip
NOVEMBER_27, NOVEMBER_28 = 1795780800, 1795867200  # 2026, 12:00 UTC


def line(**more: Any) -> str:
    line = {"iotune": "0.1.0", "at": NOVEMBER_28, "user": 4711, "ranks": 64, "run": "slurm-17-0",
            "node": "n1", "program": "vpic", "script": "", "kinds": [KIND],
            "left_out": 0}  # fmt: skip
    return json.dumps(line | more) + "\n"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def log_of(home: Home, *texts: str, name: str = "2026-11-n1-0123abcd.jsonl") -> Path:
    """The folder of all users' logs, with these lines of this user's in it."""
    users = home.root / "users"
    folder = users / str(os.getuid()) / "applied"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes("".join(texts).encode())
    return users


def test_runs_the_newest_first(home: Home) -> None:
    users = log_of(home, line(at=NOVEMBER_27, run="slurm-16-0"), line())
    log_of(home, line(run="slurm-18-0", at=NOVEMBER_28 + 5, program="python3.11",
                      script="train.py"), name="2026-11-n2-0123abcd.jsonl")  # fmt: skip
    answer = home.asked("db", "applied", str(users))
    assert [one["run"] for one in answer["runs"]] == ["slurm-18-0", "slurm-17-0", "slurm-16-0"]
    # Whose a line is says its file's owner, whatever stands in it.
    assert {one["user"] for one in answer["runs"]} == {os.getuid()}
    assert answer["faults"] == []
    [kind] = answer["runs"][1]["kinds"]
    assert kind == KIND | {"settings": [SETTING | {"why": ""}, REFUSED]}
    done = home.type("db", "applied", str(users))
    rows = done.stdout.splitlines()
    assert len(rows) == 4 and "train.py" in rows[1] and "cb_nodes=4" in rows[1]
    assert f"iotune db applied {users} --run slurm-18-0" in done.stderr


def test_one_run_in_full(home: Home) -> None:
    users = log_of(home, line(), line(run="other", left_out=3))
    reported = home.type("db", "applied", str(users), "--run", "slurm-17").stdout
    assert "step#.h5: 12 files, exact, row 7 of the user's database" in reported
    assert "the program set it itself" in reported and "other" not in reported
    assert "3 more had no place" in home.type("db", "applied", str(users), "--run", "oth").stdout


def test_what_is_asked_for(home: Home) -> None:
    users = log_of(home, line(at=NOVEMBER_27, run="a"), line(run="b", program="flash"))
    log_of(home, line(at=1, run="old"), name="2026-10-n1-0123abcd.jsonl")

    def asked(*words: str) -> set[str]:
        found = home.asked("db", "applied", str(users), *words)
        return {one["run"] for one in found["runs"]}

    assert asked() == {"a", "b", "old"}
    assert asked("--program", "flash") == {"b"}
    assert asked("--since", "2026-11-28") == {"b"}
    assert asked("--since", "2026-11-01") == {"a", "b"}
    assert asked("--user", str(os.getuid())) == {"a", "b", "old"}
    assert asked("--user", "nobody-of-that-name") == set()


def test_what_is_no_line_is_left_out_and_reported(home: Home) -> None:
    """Users own their files: nothing in them may end the command, or order a terminal about."""
    damaged = [line()[:100] + "\n", "[]\n", "7\n", "\n", line(at=-1), line(at=1 << 60),
               line(kinds=[KIND | {"row": "7"}]), line(ranks=True), line(program=["x"]),
               line(kinds=[KIND | {"settings": [SETTING | {"outcome": "won"}]}]),
               line(program="x" * 5000), "[" * 3000 + "\n", "\udcff\n", line()[:-1]]  # fmt: skip
    users = home.root / "users"
    folder = users / str(os.getuid()) / "applied"
    folder.mkdir(parents=True)
    content = "".join([line(program="\x1b[2Jevil"), *damaged])
    (folder / "2026-11-n1-0123abcd.jsonl").write_bytes(content.encode(errors="surrogateescape"))
    (folder / "2026-11-n2-0123abcd.jsonl").symlink_to("/etc/passwd")
    os.mkfifo(folder / "2026-11-n3-0123abcd.jsonl")
    (folder / "notes.txt").write_text("no log")
    done = home.type("db", "applied", str(users))
    assert len(done.stdout.splitlines()) == 2 and "\x1b" not in done.stdout, done.stdout
    assert f"a line that is none ({len(damaged)} times)" in done.stderr
    assert done.stderr.count("left out: ") == 3, done.stderr
    answer = home.asked("db", "applied", str(users))
    assert len(answer["runs"]) == 1 and len(answer["faults"]) == 3


def test_names_of_bytes_come_back(home: Home) -> None:
    users = log_of(home, line(program="\xc3\xa9t\xc3\xa9", script="\xff"))
    [run] = home.asked("db", "applied", str(users))["runs"]
    assert (run["program"], run["script"]) == ("été", "\xff")


def test_the_sites_own_folder(home: Home) -> None:
    users = log_of(home, line())
    conf = home.root / "site.conf"
    conf.write_text(f"applied_log = {users}/%u\n")
    conf.chmod(0o644)
    home.environment["IOTUNE_SITE_CONFIG"] = str(conf)
    answer = home.asked("db", "applied")
    assert answer["directory"] == str(users) and len(answer["runs"]) == 1
    conf.write_text("")
    said = home.type("db", "applied", status=1).stderr
    assert "has no applied_log" in said
    assert "no such directory" in home.type("db", "applied", "nowhere", status=1).stderr
    (home.root / "empty").mkdir()
    done = home.type("db", "applied", str(home.root / "empty"))
    assert done.stdout == "" and "no run that fits" in done.stderr
