"""Files that users name for results: one rule for every command, and none is ever half written."""

from __future__ import annotations

import contextlib
import os
import resource
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from iotune import Error
from iotune.importing import import_log
from iotune.output_file import new_file, write_text
from support.installed.import_logs import LOGS

CONTENT = "what was there before\n"


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("trace") / "run.iotrace"
    import_log(LOGS / "accesses.csv", made)
    return made


def link(place: Path) -> str:
    (place.parent / "elsewhere").write_text(CONTENT)
    place.symlink_to(place.parent / "elsewhere")
    return "symbolic link"


def dangling(place: Path) -> str:
    place.symlink_to(place.parent / "nothing")
    return "symbolic link"


def fifo(place: Path) -> str:
    os.mkfifo(place)
    return "no regular file"


def unix_socket(place: Path) -> str:
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.getcwd()
        os.chdir(place.parent)  # their names are short
        try:
            listener.bind(place.name)
        finally:
            os.chdir(here)
    return "no regular file"


def device(place: Path) -> str:
    try:
        os.mknod(place, 0o600 | stat.S_IFCHR, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("NOT VERIFIED: a result in place of a device: no right to make one")
    return "no regular file"


def foreign(place: Path) -> str:
    if os.getuid() != 0:
        pytest.skip("NOT VERIFIED: a result in place of another user's file: no root")
    place.write_text("")
    os.chown(place, 65534, 65534)
    return "another user"


def folder(place: Path) -> str:
    place.mkdir()
    return "a directory"


COMMANDS: dict[str, Callable[[Path, str], list[str]]] = {
    "export": lambda trace, to: ["export", str(trace), "-o", to, "--force"],
    "import": lambda trace, to: ["import", str(LOGS / "accesses.csv"), "-o", to, "--force"],
    "db export": lambda trace, to: ["db", "export", "-o", to],
    "replay": lambda trace, to: ["replay", str(trace), "--emit-c", to],
    "run": lambda trace, to: ["run", "-o", to, "--", "true"],
    "fuse": lambda trace, to: ["fuse", "mount", "root", "--force", "--trace", to, "--", "true"],
}


def typed(tmp_path: Path, *words: str, **how: object) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "IOTUNE_BUFFER_DIR": str(tmp_path / "buffers"),
    }
    return subprocess.run(
        [sys.executable, "-m", "iotune", *words],
        **{"cwd": tmp_path, "env": environment, "timeout": 60, **how},  # type: ignore[call-overload]
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("kind", [link, dangling, fifo, unix_socket, device, foreign, folder])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_result_takes_no_other_thing_s_place(
    trace: Path, tmp_path: Path, command: str, kind: Callable[[Path], str]
) -> None:
    # given
    place = tmp_path / "out"
    why = kind(place)
    before = place.lstat()
    (tmp_path / "mount").mkdir()
    (tmp_path / "root").mkdir()
    names = sorted(tmp_path.iterdir())
    # when
    done = typed(tmp_path, *COMMANDS[command](trace, "out"))
    # then
    assert done.returncode in (1, 2), done
    assert why in " ".join(done.stderr.split()), done.stderr
    assert "Traceback" not in done.stderr
    after = place.lstat()
    assert (after.st_ino, after.st_mode, after.st_mtime_ns) == (
        *(before.st_ino, before.st_mode, before.st_mtime_ns),
    )
    assert set(names) <= set(tmp_path.iterdir())
    assert not list(tmp_path.glob(".iotune-*"))
    with contextlib.suppress(FileNotFoundError):
        assert (tmp_path / "elsewhere").read_text() == CONTENT
    assert not (tmp_path / "nothing").exists()


@pytest.mark.parametrize("command", ["export", "import"])
def test_a_write_that_fails_leaves_the_old_file_whole(
    trace: Path, tmp_path: Path, command: str
) -> None:
    # given an old result, and less room than the new one needs
    old = tmp_path / "out"
    old.write_text(CONTENT)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (256, 256))

    # when
    done = typed(tmp_path, *COMMANDS[command](trace, "out"), preexec_fn=limit)
    # then
    assert done.returncode == 1, done
    assert done.stderr.count("\n") == 1 and "File too large" in done.stderr
    assert old.read_text() == CONTENT
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["out"]


def test_a_run_s_trace_replaces_the_run_before_but_no_other_file(tmp_path: Path) -> None:
    # given
    for name in ("first", "second"):
        write = f"open({name!r}, 'w').write('a' * 10000)"
        # when
        done = typed(tmp_path, "run", "-o", "t", "--", sys.executable, "-c", write)
        # then
        assert done.returncode == 0, done
        shown = typed(tmp_path, "show", "t").stdout
        assert f"/{name} " in shown
    assert "/first " not in shown
    (tmp_path / "thesis").write_text(CONTENT)
    done = typed(tmp_path, "run", "-o", "thesis", "--", "touch", "ran")
    assert done.returncode == 2 and "it is no trace" in " ".join(done.stderr.split())
    assert (tmp_path / "thesis").read_text() == CONTENT and not (tmp_path / "ran").exists()


def test_a_file_that_is_replaced_keeps_who_may_read_it(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.write_text(CONTENT)
    shared.chmod(0o640)
    write_text(shared, "new")
    assert shared.read_text() == "new" and stat.S_IMODE(shared.stat().st_mode) == 0o640
    write_text(tmp_path / ("n" * 255), "as long as names can be")


def test_what_came_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with pytest.raises(Error, match="already"), new_file(target, force=False) as file:
        file.write(b"mine")
        target.write_text(CONTENT)
    assert target.read_text() == CONTENT
    with pytest.raises(Error, match="symbolic link"), new_file(target) as file:
        target.unlink()
        target.symlink_to(tmp_path / "nothing")
    assert target.is_symlink() and [path.name for path in tmp_path.iterdir()] == ["out"]


def test_no_name_of_a_file_is_one_line(tmp_path: Path) -> None:
    for name in ("..", "/", "a\0b", str(tmp_path / "no" / "where")):
        with pytest.raises(Error) as problem:
            write_text(Path(name), "new")
        assert "\n" not in str(problem.value)
