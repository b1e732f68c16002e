"""The commands on real runs: MPICH, parallel HDF5, the installed package, the built kernels."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from iotune import core
from iotune.launch import preload
from iotune.replay.mpi import find_mpi
from support import preloaded
from support.installed.user_home import Home
from support.repository import KERNELS

pytestmark = [
    pytest.mark.mpi,
    pytest.mark.skipif(
        preload.find_library(preload.LIBRARY) is None or not (KERNELS / "vpic-io").exists(),
        reason="libiotune.so is not installed, or the kernels are not built",
    ),
]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def cleaned(home: Home) -> bool:
    """No buffer is left behind."""
    return not list(home.buffers.rglob("*.iobuf"))


def test_a_run_is_recorded_and_shown(home: Home) -> None:
    # when
    said = home.run("vpic-io", "--collective", "--size", "1000")
    # then
    assert len(home.traces()) == 1
    assert str(home.traces()[0]) in said
    assert said.splitlines()[-1] == "iotune: next: iotune show"
    assert cleaned(home)
    dominant = home.dominant()
    assert dominant["descriptor"]["text"] == "<1D,(BLOCK),(1000)>"
    assert (dominant["mode"], dominant["ranks"], dominant["bytes"]) == ("collective", 2, 8000)
    text = home.type("show").stdout
    assert text.count("  * /Step#0/") == 8


def test_the_calls_of_a_rank_are_those_of_the_paper(home: Home) -> None:
    # given
    home.run("ph5example", ranks=4)
    # when
    calls = home.calls("--rank", "1", "--layer", "hdf5")
    # then
    names = [call["name"] for call in calls]
    assert [name for name in names if name in ("H5Fcreate", "H5Dcreate2", "H5Dwrite")][0] == (
        "H5Fcreate"
    )
    assert names.count("H5Dwrite") == 2
    (slab,) = [call for call in calls if call["name"] == "H5Sselect_hyperslab"][:1]
    assert "{6;0}" in slab["text"] and "{6;24}" in slab["text"]
    starts = [call["start"] for call in calls]
    assert starts == sorted(starts)
    lines = home.type("show", "--calls", "--rank", "1", "--layer", "hdf5").stdout.splitlines()
    assert len(lines) == len(calls)


def test_the_exit_status_is_the_program_s(home: Home) -> None:
    home.type("run", "--", "sh", "-c", "exit 3", status=3)
    home.type("run", "--", "sh", "-c", "kill -TERM $$", status=143)
    home.type("run", "--", "./no-such-program", status=127)
    home.type("run", "--", "/", status=126)


def test_mode_off_leaves_nothing(home: Home) -> None:
    home.type("run", "--mode", "off", "--", *home.mpi("vpic-io", "--size", "100"))
    assert home.traces() == []
    assert cleaned(home)


@pytest.mark.parametrize("forbidden", ["", "by the user", "by the site"])
def test_a_run_without_mpi_teaches_only_where_it_may(home: Home, forbidden: str) -> None:
    # `iotune run` observes it, for no rank 0 has done so at its end
    site = home.root / "site.conf"
    site.write_text("freeze = yes\n" if forbidden == "by the site" else "")
    site.chmod(0o644)
    home.environment["IOTUNE_SITE_CONFIG"] = str(site)
    words = ["--db", "none"] if forbidden == "by the user" else []
    home.type("run", *words, "--", str(KERNELS / "few_rows"), "make", "a.h5")
    assert len(home.traces()) == 1
    spool = home.root / "data" / "iotune" / "spool"
    assert len(list(spool.glob("*.observation.json"))) == (0 if forbidden else 1)


def test_a_killed_run_s_calls_are_kept(home: Home) -> None:
    # given a run that waits between two time steps
    words = home.mpi("vpic-io", "--size", "100", "--steps", "3", "--pause-ms", "20000")
    runner = subprocess.Popen(
        [sys.executable, "-m", "iotune", "run", "--", *words],
        cwd=home.work,
        env=home.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + 60
    while not (home.work / "vpic-io00000.h5").exists() and time.monotonic() < until:
        time.sleep(0.1)
    time.sleep(1.0)
    # when the batch system ends it
    runner.send_signal(signal.SIGTERM)
    # then it ends at once (MPICH's mpirun returns 15, at times 0)
    runner.communicate(timeout=15)
    calls = home.calls()
    assert sum(call["name"] == "H5Dwrite" for call in calls) == 16
    assert cleaned(home)


def test_the_next_command_joins_what_iotune_itself_could_not(home: Home) -> None:
    # given a bare preload without MPI, killed
    script = "open('data.bin', 'wb').write(b'x' * 1000); import os; os.kill(os.getpid(), 9)"
    preloaded.run(
        sys.executable, "-c", script, libraries=(preload.preload_path(),),
        environment=home.environment, cwd=home.work,
    )  # fmt: skip
    assert not cleaned(home)
    # when
    calls = home.calls("--file", "data.bin")
    # then
    assert {"open", "write"} <= {call["name"] for call in calls}
    assert cleaned(home)


@pytest.mark.parametrize(
    ("kernel", "options", "ranks"),
    [
        ("vpic-io", ["--size", "1000", "--collective"], 2),
        ("vorpal-io", ["--size", "4x5x6", "--datasets", "2", "--uneven"], 4),
        ("flash-io", ["--size", "4x4x4x4"], 2),
        ("block-cyclic-io", ["--size", "1000", "--block", "7", "--uneven"], 3),
        ("column-io", ["--size", "64x8", "--chunk", "16x4", "--deflate", "1"], 2),
        ("gcrm-io", ["--size", "1x1x30", "--steps", "2"], 2),
    ],
)
def test_a_replay_does_what_the_run_did(
    home: Home, kernel: str, options: Sequence[str], ranks: int
) -> None:
    # given
    options = list(options)
    if "--deflate" in options:
        options.append("--collective")  # HDF5 writes filtered chunks collectively only
    home.run(kernel, *options, ranks=ranks)
    trace = str(home.traces()[0])
    before = {path: path.read_bytes() for path in home.work.glob("*.h5")}
    plan = home.work / "the.plan"
    # when
    plan.write_text(home.type("replay", trace, "--plan-only").stdout)
    replayed = home.asked("replay", str(plan), "--verify")
    # then
    assert replayed["ranks"] == ranks
    moved = sum(
        dataset["bytes"]
        for file in home.asked("show", trace)["files"]
        for dataset in file["datasets"]
    )
    assert replayed["bytes"] == moved
    # and the run's own files are as they were, with nothing beside them
    assert {path: path.read_bytes() for path in home.work.glob("*.h5")} == before
    assert not list(home.work.glob(".iotune-replay-*"))


def test_reads_are_replayed_on_a_file_made_for_them(home: Home) -> None:
    subprocess.run(home.mpi("vpic-io", "--size", "500"), cwd=home.work, check=True)
    home.run("vpic-io", "--size", "500", "--read")
    replayed = home.asked("replay", str(home.traces()[0]), "--verify")
    assert replayed["bytes"] == 2 * 8 * 500 * 4


def test_a_plan_of_other_ranks_is_a_usage_error(home: Home) -> None:
    (home.work / "p.plan").write_text("iotune-plan 1\nranks 3\n")
    home.type("replay", "p.plan", "-n", "2", status=2)


def test_a_fault_of_the_plan_is_reported_in_one_line(home: Home) -> None:
    (home.work / "p.plan").write_text("iotune-plan 1\nranks 1\nfile x.h5 create\nnonsense\n")
    said = home.type("replay", "p.plan", status=1).stderr
    assert said.startswith("iotune: the replay failed (1)")
    assert len(said.splitlines()) == 1


def test_the_loop_closes(home: Home) -> None:
    # given a first run, of which nothing is known
    home.run("cyclic-io", "--collective", "--size", "100000")
    first = home.asked("explain")["files"][0]
    assert first["recognised"] == "<1D,(CYCLIC),(100000)>"
    assert first["source"] in (None, "unknown") and first["settings"] == []
    # when
    candidates = ["--candidates", "romio_cb_write=disable", "--candidates", "cb_buffer_size=8192"]
    (outcome,) = home.asked("train", "--rounds", "3", *candidates)
    # then every arm was measured and nothing is left on disk
    assert [one["effect"] for one in outcome["candidates"]] == ["applied", "applied"]
    assert len(outcome["default_seconds"]) == 3
    assert not list(home.work.glob(".iotune-replay-*"))
    assert cleaned(home)
    # and only what was confirmed is stored
    if outcome["state"] == "tuned":
        assert outcome["confirmed"]["low"] > 1
    else:
        assert outcome["settings"] == {}
    assert home.asked("train") == []
    # and the next run gets it
    home.run("cyclic-io", "--collective", "--size", "100000")
    second = home.asked("explain")["files"][0]
    assert (second["source"], second["state"]) == ("exact", outcome["state"])
    assert {one["parameter"]: one["got"] for one in second["settings"]} == outcome["settings"]


@pytest.mark.soak
def test_training_gives_up_on_settings_that_take_for_ever(home: Home) -> None:
    # given a replay that hangs under any settings, with a process of its own
    home.run("vpic-io", "--collective", "--size", "1000")
    launcher, pids = home.root / "mpirun", home.root / "pids"
    launcher.write_text(
        '#!/bin/sh\nif [ -n "$IOTUNE_CONFIG" ]; then\n'
        f"  sleep 900 & echo $! >> '{pids}'; wait\nfi\n"
        f'exec {find_mpi().command(1)[0]} "$@"\n'
    )
    launcher.chmod(0o755)
    home.environment["IOTUNE_MPIRUN"] = str(launcher)
    # when
    (outcome,) = home.asked("train", "--rounds", "3", "--candidates", "cb_buffer_size=8192")
    # then it is out, and nothing of it goes on
    (one,) = outcome["candidates"]
    assert one["effect"].startswith("failed: the replay did not end within")
    assert outcome["state"] != "tuned" and outcome["settings"] == {}
    (pid,) = pids.read_text().split()
    assert not Path("/proc", pid, "exe").exists()


@pytest.mark.parametrize("storage", ["ceph", pytest.param("lustre", marks=pytest.mark.soak)])
def test_a_read_is_trained_on_a_file_of_the_same_layout(home: Home, storage: str) -> None:
    # given a file of eight stripes that a program reads
    store = home.on_fake_storage(storage)
    config = home.root / "config.xml"
    config.write_text(core.config_xml({"striping_factor": "8", "striping_unit": "131072"}))
    program = home.mpi("vpic-io", "--size", "1000")
    home.type("run", "--config", str(config), "--", *program)
    home.type("run", "--", *program, "--read")
    log = store / "log"
    written = log.read_text()
    # when it is trained
    home.asked("train", "--rounds", "3", "--candidates", "romio_ds_read=enable")
    # then the replay's file was made so, once
    wide = [
        line for line in written.splitlines() if line.startswith(("setstripe", "ceph.file.layout"))
    ]
    assert len(wide) == 1
    assert log.read_text().removeprefix(written).count(wide[0]) == 1


def test_settings_by_hand_are_applied_and_read_back(home: Home) -> None:
    # given
    home.run("vpic-io", "--collective", "--size", "1000")
    (pattern,) = home.asked("db", "list")["patterns"]
    # when
    settings = "cb_buffer_size=1048576;romio_cb_write=enable"
    home.type("db", "add", str(pattern["id"]), settings)
    home.run("vpic-io", "--collective", "--size", "1000")
    # then
    file = home.asked("explain")["files"][0]
    assert {one["parameter"]: (one["got"], one["verdict"]) for one in file["settings"]} == {
        "cb_buffer_size": ("1048576", "applied"),
        "romio_cb_write": ("enable", "applied"),
    }
    assert file["tuned_runs"] == 1 and file["default_runs"] == 1
    # Nobody measured what was added by hand, and one run of each kind proves nothing.
    assert file["trained"] is None and file["production"] is None
    text = home.type("explain").stdout
    assert "applied" in text and "stored: by hand" in text and "trained" not in text
    assert settings in home.type("db", "query", "<1D,(BLOCK),(1000)>").stdout
    home.type("db", "add", str(pattern["id"]), "cb_nodes=none", status=2)
    home.type("db", "add", "<1D,(BLOCK),(1000)>", "", status=2)


def test_a_pattern_without_its_trace_is_trained_from_the_database(home: Home) -> None:
    # given a run whose trace is gone
    home.run("vorpal-io", "--collective", "--size", "4x5x6", "--datasets", "2", ranks=4)
    home.asked("db", "list")
    home.traces()[0].unlink()
    # when
    (outcome,) = home.asked(
        "train", "--rounds", "3", "--candidates", "cb_buffer_size=65536", "--dir", "."
    )
    # then
    assert any("trace is gone" in note for note in outcome["notes"])
    if (os.cpu_count() or 1) < 4:
        assert any("yield shim" in note for note in outcome["notes"])


def test_a_database_goes_from_one_place_to_another(home: Home) -> None:
    # given
    home.run("vpic-io", "--size", "1000")
    home.type("db", "export", "-o", "patterns.json")
    # when
    home.type("db", "import", "patterns.json", "--db", "other.db")
    # then
    mine, other = home.asked("db", "list"), home.asked("db", "list", "--db", "other.db")
    assert [one["descriptor"] for one in mine["patterns"]] == [
        one["descriptor"] for one in other["patterns"]
    ]
    assert home.type("db", "show", "1", "--db", "other.db").stdout.startswith("id")
    home.type("db", "show", "99", status=1)
    (home.work / "bad.json").write_text("{")
    assert "bad.json" in home.type("db", "import", "bad.json", status=1).stderr


def test_a_damaged_database_stops_no_run(home: Home) -> None:
    # given
    (home.work / "bad.db").write_bytes(b"not a database, but long enough to be one" * 100)
    # when
    said = home.type("run", "--db", "bad.db", "--", *home.mpi("vpic-io", "--size", "100")).stderr
    # then
    assert sum("bad.db" in line for line in said.splitlines()) == 1
    home.type("db", "list", "--db", "bad.db", status=1)
    assert "recognised" in home.type("explain", "--db", "bad.db").stdout


def test_a_static_program_runs_and_is_reported(home: Home) -> None:
    # given
    source = home.work / "hello.c"
    source.write_text('#include <stdio.h>\nint main(void) { return puts("hello") < 0; }\n')
    subprocess.run([str(shutil.which("gcc")), "-static", "hello.c", "-o", "hello"],
                   cwd=home.work, check=True)  # fmt: skip
    # when
    done = home.type("run", "--", "./hello")
    # then
    assert done.stdout == "hello\n"
    assert "statically linked" in done.stderr


def test_a_read_only_home_costs_no_run(home: Home) -> None:
    # given a place for state that is a file
    blocked = home.root / "blocked"
    blocked.write_text("")
    # when
    words = home.mpi("vpic-io", "--size", "100")
    said = home.type("run", "--", *words, state_home=blocked).stderr
    # then
    place = next(line for line in said.splitlines() if line.startswith("iotune: trace: "))
    assert f"/tmp/iotune-{os.getuid()}/traces/" in place
    Path(place.split()[2]).unlink()


def test_python_reads_a_trace(home: Home) -> None:
    import iotune

    home.run("vpic-io", "--size", "100")
    trace = iotune.open_trace(home.traces()[0])
    assert trace.summary.program_name == "vpic-io"
    assert trace.summary.files[0].datasets[0].descriptor == "<1D,(BLOCK),(100)>"
    assert next(trace.each_call(rank=0, layer="hdf5", limit=3)).text.startswith("H5P")
    with pytest.raises(iotune.Error):
        iotune.open_trace(home.work)


@pytest.mark.skipif(not (KERNELS / "ask_settings").exists(), reason="tests/mpi is not built")
def test_a_file_that_one_of_several_ranks_opens_is_known_again(home: Home) -> None:
    # given a run of two ranks, of which one opens a file for itself
    home.run("ask_settings", "a.h5", "--serial")
    (pattern,) = home.asked("db", "list")["patterns"]
    # when it has an answer
    home.type("db", "add", str(pattern["id"]), "sieve_buf_size=131072")
    home.run("ask_settings", "a.h5", "--serial")
    # then
    file = home.asked("explain")["files"][0]
    assert file["source"] == "exact"
    assert {one["got"] for one in file["settings"]} == {"131072"}
