"""The one way to run a program with libraries preloaded: what it loads, and how it ends."""

from __future__ import annotations

import time

import pytest

from bench import native
from support import preloaded

MAPS = ("cat", "/proc/self/maps")


@pytest.fixture
def library(tmp_path):
    return native.shared("empty_preload.c", tmp_path)


def test_what_is_named_is_loaded_and_a_bare_run_loads_nothing(library, monkeypatch):
    monkeypatch.setenv("IOTUNE_TRACE", "/nowhere/x.iotrace")
    monkeypatch.setenv(preloaded.VARIABLE, str(library))
    done = preloaded.run(*MAPS, libraries=(library,))
    assert (done.status, done.err, done.trace) == (0, b"", None)
    assert library.name in done.out.decode()
    assert library.name not in preloaded.run(*MAPS).out.decode()


def test_the_trace_is_where_the_environment_says(library, tmp_path):
    environment = {**preloaded.plain_environment(), "IOTUNE_TRACE": str(tmp_path / "x")}
    done = preloaded.run("true", libraries=(library,), environment=environment)
    assert done.trace == tmp_path / "x"


def test_a_path_that_the_loader_would_split_is_reached(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    library = native.shared("empty_preload.c", tmp_path / "a b:c")
    value = preloaded.joined(library)
    assert " " not in value and ":" not in value
    # Once more: the link of the last time is replaced, not tripped over.
    done = preloaded.run(*MAPS, libraries=(library,))
    assert done.err == b"" and library.name in done.out.decode()
    assert preloaded.joined(library) == value
    assert preloaded.setting(library, library) == f"{preloaded.VARIABLE}={value}:{value}"
    assert preloaded.variables() == {}


@pytest.mark.parametrize(("script", "status"), [("exit 3", 3), ("kill -9 $$", 137)])
def test_the_status_is_a_shell_s(script, status):
    assert preloaded.run("sh", "-c", script).status == status


def test_a_hang_is_killed_with_its_children():
    began = time.monotonic()
    with pytest.raises(preloaded.Hang, match="no end after 0.2 s"):
        preloaded.run("sh", "-c", "sleep 60 & sleep 60", seconds=0.2)
    assert time.monotonic() - began < 20
