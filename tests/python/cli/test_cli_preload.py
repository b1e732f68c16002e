"""Paths for LD_PRELOAD: the dynamic linker splits them at spaces and colons."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from iotune import locations
from iotune.errors import Error
from iotune.launch import preload


@pytest.fixture
def installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A library in a path with a space and a colon, and a private place for links."""
    directory = tmp_path / "my codes: new" / "lib"
    directory.mkdir(parents=True)
    (directory / preload.LIBRARY).write_bytes(b"library")
    (directory / preload.DATABASE_LIBRARY).write_bytes(b"database")
    monkeypatch.setattr(preload, "library_directories", lambda: [directory])
    monkeypatch.setattr(locations, "temporary_root", lambda: tmp_path / "private")
    return directory


def test_a_path_with_a_space_gets_a_link_to_the_same_library(installation: Path) -> None:
    # when
    path = preload.preload_path()
    # then
    assert not set(" :") & set(path)
    assert os.path.samefile(path, installation / preload.LIBRARY)
    # and what lies beside the library lies beside the link
    assert (Path(path).parent / preload.DATABASE_LIBRARY).read_bytes() == b"database"


def test_the_link_is_private_and_made_once(installation: Path, tmp_path: Path) -> None:
    # given
    first = preload.preload_path()
    links = sorted(os.listdir(tmp_path / "private"))
    # when
    second = preload.preload_path()
    # then
    assert first == second
    assert sorted(os.listdir(tmp_path / "private")) == links
    assert stat.S_IMODE((tmp_path / "private").stat().st_mode) == 0o700


def test_a_plain_path_is_given_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # given
    (tmp_path / preload.LIBRARY).touch()
    monkeypatch.setattr(preload, "library_directories", lambda: [tmp_path])
    # then
    assert preload.preload_path() == str(tmp_path / preload.LIBRARY)


def test_a_link_to_another_place_is_replaced(installation: Path, tmp_path: Path) -> None:
    # given a link that points elsewhere
    link = Path(preload.preload_path()).parent
    link.unlink()
    link.symlink_to(tmp_path)
    # when
    path = preload.preload_path()
    # then
    assert os.path.samefile(path, installation / preload.LIBRARY)


def test_a_directory_that_others_may_write_is_refused(installation: Path, tmp_path: Path) -> None:
    # given
    (tmp_path / "private").mkdir(mode=0o700)
    (tmp_path / "private").chmod(0o777)
    # then
    with pytest.raises(Error, match="may be written by others"):
        preload.preload_path()


def test_a_link_in_place_of_the_directory_is_refused(tmp_path: Path) -> None:
    # given
    (tmp_path / "real").mkdir()
    (tmp_path / "planted").symlink_to(tmp_path / "real")
    # then
    with pytest.raises(Error, match="not a directory of yours"):
        locations.make_private(tmp_path / "planted")


def test_a_missing_library_is_an_error_that_says_where_it_looked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preload, "library_directories", lambda: [tmp_path])
    with pytest.raises(Error, match=str(tmp_path)):
        preload.preload_path()


def test_the_oldest_traces_go_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # given three traces of 100 bytes
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    directory = locations.make_private(locations.traces_dir())
    for age, name in enumerate(["new", "middle", "old"]):
        trace = directory / f"{name}.iotrace"
        trace.write_bytes(b"x" * 100)
        os.utime(trace, (1000 - age, 1000 - age))
    # when
    removed = locations.trim_traces(cap_bytes=250)
    # then
    assert [path.stem for path in removed] == ["old"]
    assert [path.stem for path in locations.kept_traces()] == ["new", "middle"]
    assert [path.stem for path in locations.trim_traces(most=1)] == ["middle"]


def test_the_newest_trace_stays_however_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    directory = locations.make_private(locations.traces_dir())
    (directory / "only.iotrace").write_bytes(b"x" * 100)
    assert locations.trim_traces(cap_bytes=10) == []


def test_a_relative_xdg_directory_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "state")
    monkeypatch.setenv("HOME", "/home/ada")
    assert locations.traces_dir() == Path("/home/ada/.local/state/iotune/traces")


def test_a_program_s_name_is_safe_in_a_trace_s_name() -> None:
    name = locations.trace_name("/opt/my codes/vpic io", "5f00ab", 0.0)
    assert name.endswith("-vpic_io-5f00ab.iotrace")
