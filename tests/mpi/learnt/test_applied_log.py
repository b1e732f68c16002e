"""`applied_log = ` in a site's file: a line for each run in which settings were decided."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import time
from pathlib import Path
from typing import Any

from support.place import Place, main, not_verified
from support.preloaded import Done

HINT = "<Middleware_Layer><cb_buffer_size>1048576</cb_buffer_size></Middleware_Layer>"
SIEVE = "<High_Level_IO_Library><sieve_buf_size>131072</sieve_buf_size></High_Level_IO_Library>"


class Site:
    """A site that keeps a log, and asks for the settings of `config` by IOTUNE_CONFIG."""

    def __init__(self, place: Place, config: str = HINT, more: str = "") -> None:
        self.users = place.scratch / "users"
        self.users.mkdir(exist_ok=True)
        self.users.chmod(0o1777)
        self.own = self.users / str(os.getuid())
        conf, xml = place.scratch / "site.conf", place.scratch / "config.xml"
        conf.write_text(f"applied_log = {self.users}/%u\n{more}")
        conf.chmod(0o644)
        xml.write_text(f"<Parameters>{config}</Parameters>")
        self.env: dict[str, Any] = {
            "IOTUNE_SITE_CONFIG": conf, "IOTUNE_CONFIG": xml, "IOTUNE_DB": "none",
        }  # fmt: skip

    def files(self) -> list[Path]:
        return sorted((self.own / "applied").glob("*")) if self.own.exists() else []

    def lines(self) -> list[dict[str, Any]]:
        texts = [line for path in self.files() for line in path.read_bytes().splitlines(True)]
        assert all(text.endswith(b"}\n") and len(text) < 4000 for text in texts), texts
        return [json.loads(text) for text in texts]


def quiet(place: Place, done: Done) -> None:
    place.right(done)
    assert done.said() == [], done.said()


def ranks(place: Place) -> None:
    """One line of all ranks, readable by whom the site says."""
    for more, of_folder, of_file in (("", 0o700, 0o600), ("readable_by = group\n", 0o750, 0o640)):
        site = Site(place, more=more)
        begin = int(time.time())
        ids: list[str] = []
        for name in ("a7.h5", "b.h5"):
            quiet(place, place.mpi(2, place.bin / "ask_settings", name, **site.env))
            ids += {head["attributes"]["run"] for head in place.heads()}
            place.clear()
        [file] = site.files()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()[:8]
        assert re.fullmatch(rf"\d{{4}}-\d\d-[A-Za-z0-9-]+-{boot}\.jsonl", file.name), file
        assert file.name.startswith(time.strftime("%Y-%m", time.gmtime()))
        for path, mode in ((site.own, of_folder), (file.parent, of_folder), (file, of_file)):
            assert stat.S_IMODE(path.lstat().st_mode) == mode, (path, more)
        first, second = site.lines()
        assert (first["run"], second["run"]) == tuple(ids)
        assert begin <= first["at"] <= second["at"] <= time.time()
        assert (first["user"], first["ranks"], first["program"]) == (os.getuid(), 2, "ask_settings")
        [kind] = first["kinds"]
        [setting] = kind.pop("settings")
        assert kind == {"name": "a#.h5", "files": 1, "source": "config", "row": None}, kind
        assert setting == {"name": "cb_buffer_size", "value": "1048576", "outcome": "applied",
                           "count": 1}, setting  # fmt: skip
        assert first["left_out"] == 0 and "/" not in json.dumps(first), first
        shutil.rmtree(site.own)


def own_files(place: Place) -> None:
    """What ranks decide for themselves reaches rank 0's line, also where rank 0 decides nothing."""
    for first in (0, 1):
        site = Site(place)
        quiet(place, place.mpi(4, place.bin / "own_files", first, **site.env))
        [line] = site.lines()
        [kind] = line["kinds"]
        assert (kind["name"], kind["files"]) == ("part#.bin", 4 - first), kind
        assert sum(one["count"] for one in kind["settings"]) == 4 - first, kind
        assert line["ranks"] == 4
        shutil.rmtree(site.own)
        place.clear()


def untraced(place: Place) -> None:
    """What ranks decide is in the log also where no rank has anything for a trace."""
    site = Site(place)
    quiet(place, place.mpi(4, place.bin / "own_files", 1, **site.env, IOTUNE_EXCLUDE="*"))
    assert not place.trace.exists()
    [line] = site.lines()
    [kind] = line["kinds"]
    assert (kind["name"], kind["files"]) == ("part#.bin", 3), kind
    assert sum(one["count"] for one in kind["settings"]) == 3, kind


def privilege_drop(place: Place) -> None:
    """A rank that gives up rights tells nothing and takes nothing away from what others tell."""
    site = Site(place)
    quiet(place, place.mpi(4, place.bin / "own_files", 1, 2, **site.env))
    [line] = site.lines()
    [kind] = line["kinds"]
    assert (kind["name"], kind["files"]) == ("part#.bin", 2), kind
    assert line["left_out"] == 0


def alone(place: Place) -> None:
    """A program without MPI, under a bare preload and as one of `iotune run`'s."""
    site = Site(place, SIEVE)
    owned: dict[str, Any] = {"IOTUNE_RUN_OWNER": os.getpid(), "IOTUNE_RUN_ID": "owned"}
    for more in ({}, owned):
        quiet(place, place.run(place.bin / "series_files", 5, **site.env, **more))
        place.clear()
    first, second = site.lines()
    for line in (first, second):
        [kind] = line["kinds"]
        assert (kind["name"], line["ranks"]) == ("step#.h5", 1) and kind["files"] >= 5, line
        assert {one["outcome"] for one in kind["settings"]} == {"applied"}, kind
    assert second["run"] == "owned"


def nothing_decided(place: Place) -> None:
    """No settings, no line, and not even a folder; nor where the site only lets record."""
    site = Site(place)
    for more in ({"IOTUNE_CONFIG": None}, {"IOTUNE_MODE": "record"}, {"IOTUNE_MODE": "off"}):
        quiet(place, place.mpi(2, place.bin / "ask_settings", "a.h5", **{**site.env, **more}))
        assert not site.own.exists(), more
        place.clear()
    quiet(place, place.run("/bin/true", **site.env))
    assert not site.own.exists()


def at_once(place: Place) -> None:
    """Lines of runs that end together stay whole."""
    site = Site(place, SIEVE)
    runs = 24
    script = (
        f"for i in $(seq {runs}); do mkdir d$i; (cd d$i && exec '{place.bin}/series_files' 3) & "
        "done; wait"
    )
    quiet(place, place.run("sh", "-c", script, **site.env, IOTUNE_TRACE=None))
    lines = site.lines()
    assert len(lines) == runs and len({line["run"] for line in lines}) == runs, len(lines)


def not_to_be_had(place: Place) -> None:
    """The run is as ever, and one line says that it is not in the log."""
    site = Site(place)

    def without(reason: str, **more: Any) -> None:
        done = place.mpi(2, place.bin / "ask_settings", "a.h5", **{**site.env, **more})
        place.right(done, reason)
        assert b"hint cb_buffer_size 1048576\n" in done.out
        [line] = done.said()
        assert "the site's log of what was applied, " in line and reason in line, line
        place.clear()

    elsewhere = place.scratch / "elsewhere"
    elsewhere.mkdir()
    site.own.symlink_to(elsewhere)
    without("is a link or no folder")
    assert not list(elsewhere.iterdir())
    site.own.unlink()
    quiet(place, place.mpi(2, place.bin / "ask_settings", "a.h5", **site.env))
    [file] = site.files()
    before = file.read_bytes()
    place.clear()
    file.unlink()
    file.symlink_to(elsewhere / "taken")
    without("cannot be written")
    assert not list(elsewhere.iterdir())
    file.unlink()
    # As large as it may be: a loop of runs fills no disk.
    file.write_bytes(before)
    os.truncate(file, (8 << 20) + 1)
    without("is full until next month")
    assert file.stat().st_size == (8 << 20) + 1
    file.unlink()
    site.users.chmod(0o755)
    if os.getuid() == 0 and shutil.which("mount") is not None:
        small = site.own
        shutil.rmtree(small)
        small.mkdir(mode=0o700)
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=4k,mode=700", "tmpfs", small], check=False
        )
        if mounted.returncode == 0:
            try:
                (small / "applied").mkdir(mode=0o700)
                (small / "filler").write_bytes(bytes(4096))
                without("has no room for a line")
            finally:
                subprocess.run(["umount", small], check=True)
            return
    not_verified("a full disk: no right to mount")


if __name__ == "__main__":
    main({"ranks": ranks, "own-files": own_files, "alone": alone,
          "untraced": untraced, "privilege-drop": privilege_drop,
          "nothing-decided": nothing_decided, "at-once": at_once,
          "not-to-be-had": not_to_be_had})  # fmt: skip
