"""Commands look for traces where the site wants them, as the preload writes them."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from iotune import locations


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder of a site that lets the group read; it is not there yet."""
    conf = tmp_path / "site.conf"
    conf.write_text(f"traces = {tmp_path}/users/%u\nreadable_by = group\n")
    conf.chmod(0o644)
    (tmp_path / "users").mkdir()
    (tmp_path / "users").chmod(0o1777)
    monkeypatch.setenv("IOTUNE_SITE_CONFIG", str(conf))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "users" / str(os.getuid())


def test_traces_are_in_the_sites_folder(own: Path) -> None:
    assert locations.traces_dir() == own / "traces"
    assert locations.pending_runs_dir() == own / "learn"
    assert locations.why_not_of_site() == "" and not own.exists()
    trace = locations.made_traces_dir() / "a.iotrace"
    assert stat.S_IMODE(trace.parent.stat().st_mode) == 0o750
    trace.touch(mode=0o600)
    locations.share_trace(trace)
    assert stat.S_IMODE(trace.stat().st_mode) == 0o640
    assert locations.kept_traces() == [trace]
    elsewhere = own / "b.iotrace"
    elsewhere.touch(mode=0o600)
    locations.share_trace(elsewhere)
    assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o600


def test_a_link_in_its_place_is_not_followed(own: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    own.symlink_to(tmp_path / "elsewhere")
    default = tmp_path / "state" / "iotune" / "traces"
    assert locations.traces_dir() == default
    assert "is a link or no folder: they go to the home" in locations.why_not_of_site()
    assert locations.made_traces_dir() == default
    assert not list((tmp_path / "elsewhere").iterdir())


def test_runs_that_wait_in_the_home_are_not_forgotten(own: Path, tmp_path: Path) -> None:
    assert locations.waiting_runs_dirs() == []
    home = tmp_path / "state" / "iotune" / "learn"
    home.mkdir(parents=True)
    assert locations.waiting_runs_dirs() == [home]
    locations.made_traces_dir()
    (own / "learn").mkdir()
    assert locations.waiting_runs_dirs() == [own / "learn", home]


def test_a_folder_where_others_may_replace_it_is_not_used(own: Path, tmp_path: Path) -> None:
    (tmp_path / "users").chmod(0o777)
    assert locations.traces_dir() == tmp_path / "state" / "iotune" / "traces"
    assert "without a sticky bit" in locations.why_not_of_site()
