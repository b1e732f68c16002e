"""Databases in and out of other forms, two sites' merged, and answers shown with their evidence."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support.installed.user_home import Home

SECRETS = ["secretcode", "projectx", "annsmith", "/home/", "run-4711", "slurm", "Step#0",
           "proposal", "login.example", "4242"]  # fmt: skip
PATTERN: dict[str, Any] = {
    "id": 1, "descriptor": "<1D,(BLOCK),(8388608)>", "op": "write", "element_bytes": 4,
    "ranks": 4, "grid": [4], "mode": "independent", "chunk": [], "filters": 0,
    "dataset_dims": [33554432],
}  # fmt: skip
DAY = 86400


def document(**more: Any) -> dict[str, Any]:
    """A site's export with names in every place that takes text."""
    platform = {"id": 1, "filesystem": "ext4", "mpi": "MPICH 4.0.2", "hdf5": "1.10.8",
                "host_class": "x86_64"}  # fmt: skip
    observation = {
        "spool_file": "1-2-3-slurm-run-4711.observation.json", "item": 0, "run": "run-4711",
        "trace": "/home/annsmith/a.iotrace", "program": "/home/annsmith/bin/secretcode",
        "file": "/scratch/projectx/out4242.h5", "workload": 1, "platform": 1, "pattern": 1,
        "settings": "", "decision_source": "unknown", "decision_row": -1,
        "bytes_written": 1000000, "bytes_read": 0, "seconds": 2.5, "elapsed_seconds": 3.0,
        "observed_at": 100 * DAY + 12345.678,
    }  # fmt: skip
    return {
        "format": "iotune-patterns", "version": 2, "platforms": [platform],
        "workloads": [
            {"id": 1, "program": "secretcode", "file": "projectx#.h#", "ranks": 4, "nodes": 1}
        ],
        "patterns": [PATTERN],
        "uses": [{"workload": 1, "pattern": 1, "dataset": "/proposal/Step#0", "datasets": 8,
                  "repeats": 1, "speaker": True, "last_seen": 100 * DAY + 5.5}],
        "tunings": [{"id": 1, "pattern": 1, "platform": 1,
                     "settings": "cb_nodes=2;romio_cb_write=disable", "state": "tuned",
                     "gain": 2.0, "low": 1.5, "high": 2.5, "rounds": 5, "made_at": 101 * DAY + 0.5,
                     "source": "annsmith at login.example",
                     "evidence": "projectx was faster", "default_share": 0.125}],
        "observations": [observation],
        "drifts": [],
        "models": [{"name": "of annsmith", "kind": "coefficients", "platform": 1,
                    "payload": "secretcode", "made_at": 1.0}],
        **more,
    }  # fmt: skip


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A database that knows one pattern of another's."""
    user = Home(tmp_path_factory.mktemp("site"))
    (user.work / "site.json").write_text(json.dumps(document()))
    user.type("db", "import", "site.json")
    return (user.root / "data" / "iotune" / "patterns.db").read_bytes()


@pytest.fixture
def home(tmp_path: Path, database: bytes) -> Home:
    """A user with that database."""
    user = Home(tmp_path)
    path = tmp_path / "data" / "iotune" / "patterns.db"
    path.parent.mkdir(parents=True)
    path.write_bytes(database)
    path.chmod(0o600)
    return user


def test_an_anonymised_export_holds_no_name_and_can_be_imported(home: Home) -> None:
    plain = home.type("db", "export").stdout
    assert all(secret in plain for secret in SECRETS)
    home.type("db", "export", "--anonymise", "-o", "out.json")
    text = (home.work / "out.json").read_text()
    found = [secret for secret in [*SECRETS, str(home.root)] if secret in text]
    assert found == [], found
    rows = json.loads(text)
    assert all(row["observed_at"] % DAY == 0 for row in rows["observations"])
    assert rows["patterns"][0]["descriptor"] == PATTERN["descriptor"]
    assert rows["models"] == []
    home.type("db", "import", "out.json", "--db", "other.db")
    known = home.asked("db", "query", PATTERN["descriptor"], "--db", "other.db")["patterns"]
    assert known[0]["answers"][0]["settings"] == {"cb_nodes": "2", "romio_cb_write": "disable"}


def test_hosts_that_settings_name_are_hashed_too(home: Home) -> None:
    hosts = "login.example:2,*:1,node17"
    named = document()
    named["tunings"][0]["settings"] = f"cb_config_list={hosts};cb_nodes=2"
    named["observations"][0]["settings"] = f"cb_config_list={hosts}"
    named["observations"][0]["decision_source"] = "series"
    (home.work / "named.json").write_text(json.dumps(named))
    home.type("db", "import", "named.json", "--db", "named.db")
    home.type("db", "export", "--anonymise", "-o", "out.json", "--db", "named.db")
    text = (home.work / "out.json").read_text()
    assert "login.example" not in text and "node17" not in text, text
    rows = json.loads(text)
    (tuned,), (observed,) = rows["tunings"], rows["observations"]
    first, second, third = observed["settings"].removeprefix("cb_config_list=").split(",")
    assert first.endswith(":2") and second == "*:1" and ":" not in third, observed
    assert tuned["settings"] == observed["settings"] + ";cb_nodes=2"
    assert observed["decision_source"] == "series"
    assert home.asked("db", "import", "out.json", "--db", "other.db")["tunings"] == 1


def test_hashes_agree_under_one_salt_only(home: Home) -> None:
    def program(*words: str) -> str:
        text = home.type("db", "export", "--anonymise", *words).stdout
        return str(json.loads(text)["workloads"][0]["program"])

    (home.work / "salt").write_bytes(b"0123456789abcdef")
    assert program() != program()
    assert program("--salt-file", "salt") == program("--salt-file", "salt")
    (home.work / "short").write_bytes(b"1")
    said = home.type("db", "export", "--anonymise", "--salt-file", "short", status=1).stderr
    assert "16 bytes" in said


def test_settings_go_out_as_xml_and_hints_and_come_back(home: Home) -> None:
    for form, name in (("xml", "a.xml"), ("hints", "hints")):
        home.type("db", "export", "--format", form, "--pattern", "1", "-o", name)
    assert (home.work / "hints").read_text() == "cb_nodes 2\nromio_cb_write disable\n"
    xml = (home.work / "a.xml").read_text()
    assert "<cb_nodes>2</cb_nodes>" in xml
    (home.work / "a.xml").write_text(xml.replace(">2<", ">3<"))
    home.type("db", "import", "a.xml", "--pattern", "1")
    assert newest(home)["settings"] == {"cb_nodes": "3", "romio_cb_write": "disable"}
    (home.work / "hints").write_text("# mine\ncb_nodes 4\nIBM_io_mode 7\n")
    said = home.type("db", "import", "hints", "--pattern", "1").stderr
    assert "IBM_io_mode is left out" in said
    assert newest(home)["settings"] == {"cb_nodes": "4"}
    assert newest(home)["source"] == "import"


def newest(home: Home) -> Any:
    return home.asked("db", "show", "1")["answers"][0]


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("h", "cb_nodes 2\ncb_nodes 3\n", "h:2: cb_nodes is given twice"),
        ("h", "cb_nodes $(touch gone)\n", "h:1: cb_nodes $(touch gone): the value"),
        ("x.xml", "<Parameters><Middleware_Layer><cb_nodes>`id`</cb_nodes></Middleware_Layer>"
         "</Parameters>", "the value"),
        ("x.xml", '<!DOCTYPE p [<!ENTITY x SYSTEM "file:///etc/passwd">]><Parameters/>',
         "DOCTYPE"),
        ("h", "nothing_known 1\n", "no setting in it"),
        ("h", "cb_nodes 2\0 5\n", "h:1: cb_nodes 2? 5: the value holds a zero byte"),
        ("h", f"cb_nodes {'9' * 9999}\n", f"h:1: cb_nodes {'9' * 61}...: the value"),
        ("h", b"cb_nodes \xe9\n", "h: not UTF-8 (byte 10)"),
        ("d.json", b'{"format": "\xff"}', "d.json: not UTF-8 (byte 13)"),
        ("d.json", "", "d.json:1: not JSON"),
        ("d.json", '{"format": "iotune-patterns", "version": 9, "new": []}', "version 9"),
        ("d.db", b"SQLite format 3\0", "iotune db merge"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_file_is_said_and_nothing_stored(
    home: Home, name: str, text: str | bytes, fault: str
) -> None:
    before = newest(home)
    (home.work / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    said = home.type("db", "import", name, "--pattern", "1", status=1).stderr
    assert fault in said, said
    assert name in said, said
    assert newest(home) == before
    assert not (home.work / "gone").exists()


def test_documents_may_begin_with_a_mark_and_xml_names_its_encoding(home: Home) -> None:
    (home.work / "hints").write_bytes(b"\xef\xbb\xbfcb_nodes 5\n")
    home.type("db", "import", "hints", "--pattern", "1")
    assert newest(home)["settings"] == {"cb_nodes": "5"}
    (home.work / "latin").write_bytes(
        b'<?xml version="1.0" encoding="ISO-8859-1"?><!-- f\xfcr uns --><Parameters>'
        b"<Middleware_Layer><cb_nodes>6</cb_nodes></Middleware_Layer></Parameters>"
    )
    home.type("db", "import", "latin", "--pattern", "1")
    assert newest(home)["settings"] == {"cb_nodes": "6"}


def test_what_cannot_be_is_one_line(home: Home) -> None:
    for words in (
        ["db", "show", str(2**63)], ["db", "history", "0"], ["db", "history", str(2**80)],
        ["db", "query", "<1D,BLOCK,8>", "--element-bytes", str(2**64)],
        ["db", "export", "--format", "xml", "--pattern", str(2**64)],
        ["db", "export", "--format", "hints", "--pattern", "1", "--anonymise"],
    ):  # fmt: skip
        home.type(*words, status=2)
    home.type("db", "add", str(2**64), "cb_nodes=2", status=1)
    home.type("db", "add", "²", "cb_nodes=2", status=2)
    name = os.fsdecode(b"\xff.db")
    assert "UTF-8" in home.type("db", "list", "--db", name, status=1).stderr
    assert "no such directory" in home.type("db", "ingest", "nowhere", status=1).stderr


def test_an_answer_by_hand_is_for_a_platform_that_runs_have(home: Home) -> None:
    words = ["db", "add", PATTERN["descriptor"], "cb_nodes=3", "--element-bytes", "4",
             "--dims", "33554432", "--grid", "4", "--mode", "independent"]  # fmt: skip
    for option, value in (("--filesystem", "ext4"), ("--hdf5", "1.10.8"), ("--mpi", "MPICH 4.0.2")):
        said = home.type(*words, status=2).stderr
        assert option in said, said
        words += [option, value]
    home.type(*words)
    assert newest(home)["settings"] == {"cb_nodes": "3"}
    assert len(home.asked("db", "show", "1")["answers"]) == 1, "another platform"
    for dims in ("4x", "x", "0", "-1", "²"):
        said = home.type(*[dims if word == "33554432" else word for word in words], status=2).stderr
        assert "sizes joined by x" in said, said


def test_a_command_that_reads_makes_no_database(home: Home) -> None:
    for words in (["list"], ["show", "1"], ["history", "1"], ["ledger"], ["export"],
                  ["query", PATTERN["descriptor"]]):  # fmt: skip
        said = home.type("db", *words, "--db", "new/typo.db", status=1).stderr
        assert "typo.db: no pattern database there" in said, said
    assert not (home.work / "new").exists()


def test_a_sites_database_is_read_by_those_who_may_not_write_it(home: Home) -> None:
    if os.getuid() != 0:
        pytest.skip("NOT VERIFIED: another user's database: needs root to make one")
    # A read-only mount: permissions mean nothing to root.
    site = home.root / "site"
    site.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", site], check=False)
    if mounted.returncode != 0:
        pytest.skip("NOT VERIFIED: a read-only database: no right to mount")
    try:
        own = home.root / "data" / "iotune" / "patterns.db"
        shutil.copy(own, site / "patterns.db")
        subprocess.run(["mount", "-o", "remount,ro", site], check=True)
        home.environment["IOTUNE_DB"] = str(site / "patterns.db")
        for words in (["list"], ["show", "1"], ["history", "1"], ["ledger"], ["export"]):
            done = home.type("db", *words)
            assert "stay in the spool" not in done.stderr and done.stdout, done
        # What its user adds goes into his own.
        held = (site / "patterns.db").read_bytes()
        home.type("db", "add", "1", "cb_nodes=9")
        assert (site / "patterns.db").read_bytes() == held
        del home.environment["IOTUNE_DB"]
        assert "cb_nodes=9" in home.type("db", "list").stdout
    finally:
        subprocess.run(["umount", site], check=True)


def test_what_becomes_of_the_spool_is_reported_by_any_command(home: Home) -> None:
    spool = home.root / "data" / "iotune" / "spool"
    spool.mkdir()
    (spool / "1.observation.json").write_text("{")
    said = home.type("db", "list").stderr
    assert "1.observation.json: JSON:1: not JSON" in said and "1.observation.json.bad" in said
    assert "observation.json" not in home.type("db", "list").stderr


def test_on_a_frozen_site_only_who_asks_for_it_folds_the_spool(home: Home) -> None:
    waiting = home.root / "data" / "iotune" / "spool" / "1.observation.json"
    waiting.parent.mkdir()
    waiting.write_text("{")
    site = home.root / "site.conf"
    home.environment["IOTUNE_SITE_CONFIG"] = str(site)
    # One that is not understood allows nothing.
    for text in ("freeze = yes\n", "freeze = jes\n"):
        site.write_text(text)
        site.chmod(0o644)
        home.type("db", "list")
        assert waiting.exists()
    home.type("db", "ingest")
    assert not waiting.exists()


def test_two_sites_are_merged_by_platform(home: Home, tmp_path: Path) -> None:
    other = document()
    other["platforms"][0]["filesystem"] = "lustre"
    (home.work / "other.json").write_text(json.dumps(other))
    home.type("db", "import", "other.json", "--db", "other.db")
    assert home.asked("db", "merge", "other.db", "--filesystem", "ext4")["tunings"] == 0
    assert home.asked("db", "merge", "other.db", "--filesystem", "lustre")["tunings"] == 1
    assert home.asked("db", "merge", "other.db")["tunings"] == 0
    platforms = {one["platform"]["filesystem"] for one in home.asked("db", "show", "1")["answers"]}
    assert platforms == {"ext4", "lustre"}
    (home.work / "bad.db").write_bytes(b"no database" * 1000)
    (home.work / "bad.db").chmod(0o600)
    said = home.type("db", "merge", "bad.db", status=1).stderr
    assert "bad.db" in said and "damaged or no database" in said, said


def test_history_and_ledger_tell_what_happened(home: Home) -> None:
    said = home.type("db", "history", "1").stdout
    assert "first seen" in said and "tuned: cb_nodes=2;romio_cb_write=disable" in said, said
    assert "projectx was faster" in said and "2.00x (1.50 to 2.50)" in said, said
    home.type("db", "history", "99", status=1)
    ledger = home.asked("db", "ledger")
    assert (ledger["files"], ledger["reverts"]) == (0, 0)
    assert "taken back  0 answers" in home.type("db", "ledger").stdout


def test_a_pattern_is_named_by_its_descriptor_too(home: Home) -> None:
    descriptor = home.asked("db", "show", "1")["descriptor"]
    assert home.asked("db", "history", descriptor) == home.asked("db", "history", "1")
    assert home.asked("db", "show", descriptor)["id"] == 1
    said = home.type("db", "history", "<1D,(BLOCK),(7)>", status=1).stderr
    assert "nothing is known of" in said and "(7)" in said, said
    said = home.type("db", "history", "<1D,BLOCK", status=1).stderr
    assert "<1D,BLOCK" in said and len(said.splitlines()) == 1, said
    # The same, read: only the ID tells which is meant.
    home.type("db", "add", descriptor, "cb_nodes=2", "--element-bytes", "4", "--dims",
              str(4 * 8388608), "--grid", "4", "--op", "read", "--filesystem", "ext4",
              "--mpi", "MPICH 4.0.2", "--hdf5", "1.10.8")  # fmt: skip
    said = home.type("db", "history", descriptor, status=1).stderr
    assert "name one by its ID: 1 (" in said and "(read " in said, said


def test_a_database_that_others_may_write_is_refused_unless_asked_for(home: Home) -> None:
    path = Path(home.environment["XDG_DATA_HOME"]) / "iotune" / "patterns.db"
    path.chmod(0o666)
    said = home.type("db", "list", status=1).stderr
    assert str(path) in said and "IOTUNE_DB_SHARED" in said, said
    home.environment["IOTUNE_DB_SHARED"] = "1"
    home.type("db", "list")


def test_a_newer_database_is_named_and_left_as_it_is(home: Home) -> None:
    path = Path(home.environment["XDG_DATA_HOME"]) / "iotune" / "patterns.db"
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    db.close()
    before = path.read_bytes()
    said = home.type("db", "list", status=1).stderr
    assert f"{path}: pattern database of version 99" in said, said
    assert path.read_bytes() == before
