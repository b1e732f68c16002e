"""Buffers that processes left behind, joined once their run has ended."""

from __future__ import annotations

import mmap
import os
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import iotune
from iotune import core, locations
from iotune.launch.preload import preload_path
from iotune.traces import leftovers
from support import preloaded


@pytest.fixture
def joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], Path]]:
    """A root for buffers and traces of its own, and a join that notes what it was asked."""
    asked: list[tuple[list[str], Path]] = []

    def join(buffers: list[Path], out: Path, remove: bool = False) -> dict[str, Any]:
        asked.append(([path.name for path in buffers], Path(out)))
        Path(out).write_bytes(b"IOTUNE-TRACE\1\0\0\0")
        for path in buffers:
            path.unlink()
        return {}

    monkeypatch.setenv("IOTUNE_BUFFER_DIR", str(tmp_path / "buffers"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(core, "join", join)
    one = {"program": "/bin/vpic-io", "rank": "0", "calls": 0}
    monkeypatch.setattr(core, "processes", lambda path: [one])
    monkeypatch.setattr(core, "observe", lambda trace: None)
    return asked


def buffer(
    run: str, pid: int, state: int = 1, host: str | None = None, started: float | None = None
) -> Path:
    directory = locations.make_private(locations.buffer_root() / run)
    path = directory / f"{host or locations.host_label()}.{pid}.99.ab12.iobuf"
    wall = int((time.time() if started is None else started) * 1e9)
    path.write_bytes(struct.pack("<8sIIIIQQ", b"IOTBUF", 1, 8192, pid, state, 99, wall) + bytes(96))
    return path


def dead_pid() -> int:
    done = subprocess.Popen(["true"])
    done.wait()
    return done.pid


def test_a_dead_run_is_joined_and_its_directory_removed(joined: list[Any]) -> None:
    # given two ranks, one of which began earlier
    late = buffer("run1", dead_pid(), started=200.0)
    early = buffer("run1", dead_pid(), state=0, started=100.0)
    # when
    written = leftovers.collect_all()
    # then
    assert [names for names, _ in joined] == [[early.name, late.name]]
    assert written == [joined[0][1]]
    assert written[0].name.endswith("-vpic-io-run1.iotrace")
    assert not late.parent.exists()


def test_a_living_run_is_left_whole(joined: list[Any]) -> None:
    # given a dead and a living process of one run, the living one with its buffer mapped
    dead, alive = buffer("run1", dead_pid()), buffer("run1", os.getpid())
    with alive.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ):
        # when
        assert leftovers.collect_all() == []
    # then
    assert joined == []
    assert dead.exists() and alive.exists()


def test_a_process_that_called_exec_has_left_its_buffer(joined: list[Any]) -> None:
    # given a living process that has not mapped the buffer of its pid
    buffer("run1", os.getpid())
    # then
    assert len(leftovers.collect_all()) == 1


def test_what_rank_0_joined_is_only_removed(joined: list[Any]) -> None:
    path = buffer("run1", dead_pid(), state=2)
    assert leftovers.collect_all() == []
    assert joined == []
    assert not path.parent.exists()


def test_another_host_s_buffers_are_left_alone(joined: list[Any]) -> None:
    path = buffer("run1", dead_pid(), host="node17")
    assert leftovers.collect_all() == []
    assert path.exists()


@pytest.mark.parametrize(
    ("name", "label"),
    [("n1.cluster.org", "n1"), ("login_1", "login-1"), ("", "node"), ("größe", "gr----e")],
)
def test_a_host_s_buffers_are_joined_whatever_its_name(
    joined: list[Any], monkeypatch: pytest.MonkeyPatch, name: str, label: str
) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: name)
    buffer("run1", dead_pid(), host=label)
    assert len(leftovers.collect_all()) == 1
    buffer("run2", dead_pid(), host=label + "x")
    assert leftovers.collect_all() == []


def test_a_file_that_is_no_buffer_harms_nothing(joined: list[Any]) -> None:
    # given
    path = buffer("run1", dead_pid())
    (path.parent / f"{locations.host_label()}.1.2.3.iobuf").write_bytes(b"torn")
    # when
    written = leftovers.collect_all()
    # then
    assert len(written) == 1
    assert (path.parent / f"{locations.host_label()}.1.2.3.iobuf").exists()


def test_a_run_with_a_known_trace_goes_there(joined: list[Any], tmp_path: Path) -> None:
    path = buffer("run1", dead_pid())
    assert leftovers.collect_run(path.parent, tmp_path / "t.iotrace") == tmp_path / "t.iotrace"


def test_a_run_joined_late_is_not_the_last_run(joined: list[Any]) -> None:
    # given a trace of now, and the buffer of a run that began and died long ago
    buffer("run1", dead_pid(), started=1e9)
    traces = locations.make_private(locations.traces_dir())
    (traces / "new.iotrace").touch()
    # when
    leftovers.collect_all()
    # then
    assert [path.stem for path in locations.kept_traces()][0] == "new"
    assert len(locations.kept_traces()) == 2


@pytest.mark.parametrize(("ranks", "learnt"), [((0, 1), True), ((0,), False)])
def test_a_run_of_which_ranks_are_missing_teaches_nothing(
    joined: list[Any], monkeypatch: pytest.MonkeyPatch, ranks: tuple[int, ...], learnt: bool
) -> None:
    observed: list[Path] = []
    monkeypatch.setattr(core, "observe", observed.append)
    rows = [{"program": "/bin/vpic-io", "rank": rank, "size": 2, "calls": 0} for rank in ranks]
    monkeypatch.setattr(core, "processes", lambda path: rows)
    buffer("run1", dead_pid())
    traces = leftovers.collect_all()
    assert observed == (traces if learnt else []), observed


@pytest.mark.parametrize("forbidden", ["by the site", "by the user", "by the run", ""])
def test_what_is_joined_later_teaches_only_where_that_is_allowed(
    joined: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forbidden: str
) -> None:
    observed: list[Path] = []
    monkeypatch.setattr(core, "observe", observed.append)
    site = tmp_path / "site.conf"
    site.write_text("freeze = yes\n" if forbidden == "by the site" else "")
    site.chmod(0o644)
    monkeypatch.setenv("IOTUNE_SITE_CONFIG", str(site))
    if forbidden == "by the user":
        monkeypatch.setenv("IOTUNE_DB", "none")
    row = {"program": "/bin/vpic-io", "rank": 0, "size": 1, "calls": 0}
    row |= {"learns": "no"} if forbidden == "by the run" else {}
    monkeypatch.setattr(core, "processes", lambda path: [row])
    buffer("run1", dead_pid())
    traces = leftovers.collect_all()
    assert len(traces) == 1 and observed == ([] if forbidden else traces)


def test_another_run_s_trace_is_not_replaced(joined: list[Any], tmp_path: Path) -> None:
    # given a trace that an mpirun within the command has written under its own name
    path = buffer("run1", dead_pid())
    trace = tmp_path / "t.iotrace"
    trace.write_bytes(b"IOTUNE-TRACE\1\0\0\0")
    # when
    written = leftovers.collect_run(path.parent, trace)
    # then
    assert written is not None and written.parent == locations.traces_dir()


def test_two_commands_do_not_collect_one_run(joined: list[Any]) -> None:
    # given another command that holds the run
    path = buffer("run1", dead_pid())
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import fcntl, os, sys; d = os.open(sys.argv[1], os.O_RDONLY); "
            "fcntl.flock(d, fcntl.LOCK_EX); print('held', flush=True); sys.stdin.read()",
            str(path.parent),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    # then
    assert leftovers.collect_all() == []
    holder.communicate(b"")
    assert len(leftovers.collect_all()) == 1


def test_a_link_in_place_of_a_run_is_not_followed(joined: list[Any], tmp_path: Path) -> None:
    # given
    path = buffer("run1", dead_pid())
    path.parent.rename(tmp_path / "elsewhere")
    (locations.buffer_root() / "run1").symlink_to(tmp_path / "elsewhere")
    # then
    assert leftovers.collect_all() == []
    assert joined == []


def spill_of(path: Path, tmp_path: Path) -> tuple[Path, Path]:
    """The blocks that a buffer's process has spilled, and the link to them."""
    file, link = tmp_path / path.with_suffix(".iospill").name, path.with_suffix(".iospill")
    file.write_bytes(b"IOTUNE-TRACE")
    link.symlink_to(file)
    return file, link


def test_a_joined_buffer_s_spill_file_goes_with_it(joined: list[Any], tmp_path: Path) -> None:
    path = buffer("run1", dead_pid(), state=2)
    file, link = spill_of(path, tmp_path)
    assert leftovers.collect_all() == []
    assert not file.exists() and not link.is_symlink() and not path.parent.exists()


def test_a_link_to_a_foreign_file_is_not_followed(joined: list[Any], tmp_path: Path) -> None:
    # given a link that no process of ours has made
    path = buffer("run1", dead_pid(), state=2)
    precious = tmp_path / "thesis.tex"
    precious.write_text("years of work")
    path.with_suffix(".iospill").symlink_to(precious)
    # when
    leftovers.collect_all()
    # then
    assert precious.exists()


def test_a_spill_file_that_has_lost_its_buffer_is_joined(joined: list[Any]) -> None:
    # given one of a dead process, long ago, and one that is young
    traces = locations.make_private(locations.traces_dir())
    old, young = (traces / f"{locations.host_label()}.{dead_pid()}.99.{n}.iospill" for n in "ab")
    for path in (old, young):
        path.write_bytes(b"IOTUNE-TRACE")
    os.utime(old, (1e9, 1e9))
    # when
    written = leftovers.collect_all()
    # then
    assert [names for names, _ in joined] == [[old.name]]
    assert len(written) == 1 and young.exists()


CHILD_AND_PARENT = """
import os
open("first", "w").write("x" * 5000)
child = os.fork()
if child == 0:
    with open("second", "w") as file: file.write("y" * 6000)
    os._exit(0)
os.waitpid(child, 0)
os.spawnv(os.P_WAIT, "/bin/cp", ["cp", "first", "third"])
"""


WRITES_AND_DIES = """
import os
f = open("out", "w"); f.write("x" * 9000); f.flush()
os.kill(os.getpid(), 9)
"""


def test_children_that_end_by_exit_at_once_are_in_their_command_s_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given a trace of a program, of a child that ran nothing at its end, and of one that did
    monkeypatch.setenv("IOTUNE_BUFFER_DIR", str(tmp_path / "buffers"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    trace = tmp_path / "trace"
    started = os.environ | preloaded.variables(preload_path()) | {"IOTUNE_TRACE": str(trace)}
    words = [sys.executable, "-I", "-S", "-c", CHILD_AND_PARENT]
    subprocess.run(words, cwd=tmp_path, env=started, check=True)
    # when
    leftovers.collect_for(trace)
    # then
    summary = iotune.open_trace(trace).summary
    moved = {file.path: file.bytes_written for file in summary.files if file.bytes_written > 0}
    names = {"first": 5000, "second": 6000, "third": 5000}
    assert moved == {str(tmp_path / name): moved_bytes for name, moved_bytes in names.items()}


def test_a_run_is_joined_by_commands_of_its_own_state_folder_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two homes of one account share the folder of buffers, and not each other's traces."""
    # given a run of one home that was killed
    monkeypatch.setenv("IOTUNE_BUFFER_DIR", str(tmp_path / "buffers"))
    (tmp_path / "a home").mkdir()
    started = os.environ | preloaded.variables(preload_path())
    started |= {"XDG_STATE_HOME": str(tmp_path / "a home"), "IOTUNE_DB": "none"}
    started["IOTUNE_KEEP_ABOVE_MIB"] = "0"
    subprocess.run(
        [sys.executable, "-I", "-S", "-c", WRITES_AND_DIES], cwd=tmp_path, env=started, check=False
    )
    [left] = (tmp_path / "buffers").glob("*/*.iobuf")
    [process] = core.processes(left)
    assert process["state"] == str(tmp_path / "a home" / "iotune")
    # when another's commands look, it stays
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another"))
    assert leftovers.collect_all() == [] and left.exists()
    # and its own find it, also by another name of that folder
    (tmp_path / "link").symlink_to(tmp_path / "a home")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "link"))
    [trace] = leftovers.collect_all()
    assert not left.exists() and iotune.open_trace(trace).summary.files


def test_what_a_killed_process_left_goes_where_its_user_wanted_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given two runs that were killed and wanted the same trace, as IOTUNE_TRACE says
    monkeypatch.setenv("IOTUNE_BUFFER_DIR", str(tmp_path / "buffers"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    trace = tmp_path / "wanted.iotrace"
    started = os.environ | preloaded.variables(preload_path()) | {"IOTUNE_TRACE": str(trace)}
    for _ in range(2):
        words = [sys.executable, "-I", "-S", "-c", WRITES_AND_DIES]
        subprocess.run(words, cwd=tmp_path, env=started, check=False)
    assert not trace.exists()
    # when somebody asks for it, and later looks for what else was left
    leftovers.collect_for(trace)
    [other] = leftovers.collect_all()
    # then neither is lost
    for one in (trace, other):
        [file] = iotune.open_trace(one).summary.data_files
        assert file.bytes_written == 9000
