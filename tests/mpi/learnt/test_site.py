"""/etc/iotune.conf: what root allows, no variable of a user's gives back."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.answers import answer, make_database
from support.place import Place, main, not_verified
from support.preloaded import Done

CONFIG = """<Parameters><Middleware_Layer><cb_buffer_size>1048576</cb_buffer_size>
</Middleware_Layer></Parameters>"""
WANTED: dict[str, Any] = {"IOTUNE_MODE": "tune", "IOTUNE_DB": "none"}


def config(place: Place) -> Path:
    path = place.scratch / "config.xml"
    path.write_text(CONFIG)
    return path


def check(place: Place, done: Done, effect: str) -> None:
    """`effect`: tune, record or off, as the trace and the program itself show it."""
    place.right(done, effect)
    tuned = b"hint cb_buffer_size 1048576\n" in done.out
    assert tuned == (effect == "tune"), (effect, done.out)
    assert place.trace.exists() == (effect != "off"), effect
    if effect == "off":
        assert place.ours() == [], place.ours()
    else:
        names = {call["name"] for call in place.calls()}
        assert ("iotune_setting" in names) == (effect == "tune") and "H5Dwrite" in names, names
    place.clear()


def run(place: Place, text: str, *job: str, **env: Any) -> Done:
    """`job`: NAME=VALUE for the ranks alone, for launchers look for batch systems too."""
    conf = place.scratch / "site.conf"
    conf.write_text(text)
    conf.chmod(0o644)
    return place.mpi(2, *(("env", *job) if job else ()), place.bin / "ask_settings", "a.h5",
                     **{"IOTUNE_CONFIG": config(place), "IOTUNE_SITE_CONFIG": conf, **WANTED,
                        **env})  # fmt: skip


def limits(place: Place) -> None:
    for text, effect in (
        ("", "tune"), ("mode = off\n", "off"), ("mode = record\n", "record"),
        ("share = 0\n", "record"), ("share = 100\n", "tune"), ("mode = tune\n", "tune"),
        ("freeze = yes\n", "tune"),
    ):  # fmt: skip
        done = run(place, text)
        assert done.said() == [], (text, done.said())
        check(place, done, effect)
    # A user's own may take away more, and never gives back.
    check(place, run(place, "mode = record\n", IOTUNE_MODE="off"), "off")
    check(place, run(place, "mode = tune\n", IOTUNE_MODE="record"), "record")
    # A mistake in it leaves every program alone, and one line says where.
    done = run(place, "# ours\nmood = off\n")
    assert len(done.said()) == 1 and "site.conf:2: " in done.said()[0], done.said()
    check(place, done, "off")


def share(place: Place) -> None:
    """By its run's id, so that all ranks of a job are of one mind."""
    seen: set[str] = set()
    # Of no other job: the run's buffers are named by it.
    job = 100 * os.getpid()
    while len(seen) < 2 and job % 100 < 40:
        job += 1
        done = run(place, "share = 50\n", IOTUNE_RUN_ID=f"slurm-{job}-0")
        assert done.said() == [], done.said()
        effect = "tune" if b"hint cb_buffer_size 1048576\n" in done.out else "record"
        seen.add(effect)
        check(place, done, effect)
    assert seen == {"tune", "record"}, seen
    # In a batch job by the job's, whatever id its runs have.
    for name, its in (("SLURM_JOB_ID", "17"), ("PBS_JOBID", "18.server"), ("LSB_JOBID", "19")):
        effects = set()
        for number in range(6):
            done = run(place, "share = 50\n", f"{name}={its}", IOTUNE_RUN_ID=f"id-{number}-{its}")
            effects.add(b"hint cb_buffer_size 1048576\n" in done.out)
            place.clear()
        assert len(effects) == 1, (name, effects)


def freeze(place: Place) -> None:
    """What is trusted is applied, and the run leaves nothing to learn from."""
    own = place.data / "iotune"
    env = {"IOTUNE_DB": None, "IOTUNE_CONFIG": None}
    place.right(run(place, "freeze = yes\n", **env), "frozen")
    assert not own.exists() or not [p for p in own.rglob("*") if p.is_file()], list(own.rglob("*"))
    place.right(run(place, "", **env), "not frozen")
    database = (own / "patterns.db").read_bytes()
    # Another run's observation, which one that may learn would fold in.
    waiting = own / "spool" / "1-2-3-other.observation.json"
    waiting.parent.mkdir(exist_ok=True)
    waiting.write_text("{}")
    place.right(run(place, "freeze = yes\n", **env), "frozen again")
    assert waiting.exists() and (own / "patterns.db").read_bytes() == database
    place.right(run(place, "", **env), "not frozen again")
    assert not waiting.exists() and (own / "patterns.db").read_bytes() != database


def freeze_trained(place: Place) -> None:
    """An answer that was trained is applied in a frozen run, which leaves nothing behind."""
    env = {"IOTUNE_DB": None, "IOTUNE_CONFIG": None}
    own = place.data / "iotune"
    make_database(own / "patterns.db")
    observed = place.right(run(place, "", **env), "observed")
    assert answer(own / "patterns.db", "cb_buffer_size=1048576") >= 1

    def contents() -> dict[str, bytes]:
        return {str(path.relative_to(own)): path.read_bytes()
                for path in own.rglob("*") if path.is_file()}  # fmt: skip

    before = contents()
    frozen = place.right(run(place, "freeze = yes\n", **env), "frozen")
    assert b"hint cb_buffer_size 1048576\n" in frozen.out, (frozen.out, frozen.err)
    assert frozen.out != observed.out and frozen.said() == [], frozen.said()
    (noted,) = [call for call in place.calls() if call["name"] == "iotune_setting"]
    assert noted["numbers"][0] == 0 and noted["texts"][1] == "cb_buffer_size", noted
    (decided,) = [call for call in place.calls() if call["name"] == "iotune_decision"]
    assert decided["texts"][1] == "exact", decided
    assert contents() == before, sorted(contents())
    assert {head["attributes"].get("learns") for head in place.heads()} == {"no"}
    # The same run learns where it may.
    place.right(run(place, "", **env), "not frozen")
    assert {head["attributes"].get("learns") for head in place.heads()} == {None}
    assert contents() != before


def traces(place: Place) -> None:
    """A run's trace, and what waits to be learnt from, in the site's folder for its group."""
    users = place.scratch / "users"
    users.mkdir()
    users.chmod(0o1777)
    text = f"traces = {users}/%u\nreadable_by = group\n"
    # Without time to learn in, the run is kept.
    env = {"IOTUNE_TRACE": None, "IOTUNE_DB": None, "IOTUNE_CONFIG": None, "IOTUNE_LEARN_MS": "0"}
    done = place.right(run(place, text, **env))
    assert done.said() == [], done.said()
    own = users / str(os.getuid())
    found = {path: stat.S_IMODE(path.lstat().st_mode) for path in (own, *own.rglob("*"))}
    kinds = {path.suffix or path.name for path in found}
    assert {"traces", "learn", ".iotrace", ".trace"} <= kinds, kinds
    for path, mode in found.items():
        # What learning itself notes stays private.
        if not path.is_symlink() and path.suffix != ".state":
            assert mode == (0o750 if path.is_dir() else 0o640), (path, oct(mode))
    state = place.state / "iotune"
    assert not (state / "traces").exists() and not (state / "learn").exists()


def moved(place: Place) -> None:
    """Runs that waited in the home when the site named a folder are learnt from all the same."""
    users = place.scratch / "users"
    users.mkdir()
    users.chmod(0o1777)
    env = {"IOTUNE_TRACE": None, "IOTUNE_DB": None, "IOTUNE_CONFIG": None}
    place.right(run(place, "", **env, IOTUNE_LEARN_MS="0"))
    waiting = place.state / "iotune" / "learn"
    assert len(list(waiting.glob("*.trace"))) == 1, list(waiting.iterdir())
    done = place.right(run(place, f"traces = {users}/%u\n", **env))
    assert done.said() == [], done.said()
    assert list(waiting.glob("*.trace")) == [], list(waiting.iterdir())
    with contextlib.closing(sqlite3.connect(place.data / "iotune" / "patterns.db")) as db:
        [(runs,)] = db.execute("SELECT COUNT(DISTINCT run) FROM observations")
    assert runs == 2, runs


def copy_of_etc(place: Place) -> tuple[Path, Callable[..., list[str]]] | None:
    """A copy of /etc, and what shows it to a command in its place; None without the right."""
    etc = place.scratch / "etc"
    if os.getuid() == 0:
        shutil.copytree("/etc", etc, symlinks=True, ignore_dangling_symlinks=True)
    bind = f"mount --bind '{etc}' /etc && exec \"$@\""

    def inside(*command: object) -> list[str]:
        return ["unshare", "-m", "sh", "-c", bind, "sh", *map(str, command)]

    if (
        os.getuid() != 0
        or subprocess.run(inside("true"), capture_output=True, check=False).returncode != 0
    ):
        not_verified("what /etc says: no right to mount")
        return None
    return etc, inside


def in_etc(place: Place) -> None:
    """The file itself, in a copy of /etc that only these programs see."""
    found = copy_of_etc(place)
    if found is None:
        return
    etc, inside = found
    conf = etc / "iotune.conf"
    for text, owner, mode, effect in (
        ("mode = tune\n", 0, 0o644, "tune"), ("mode = off\n", 0, 0o644, "off"),
        ("share = 0\n", 0, 0o644, "record"),
        # Not root's, or open to others: it is not known what root wants.
        ("mode = tune\n", 12345, 0o644, "off"), ("mode = tune\n", 0, 0o666, "off"),
    ):  # fmt: skip
        conf.write_text(text)
        os.chown(conf, owner, owner)
        conf.chmod(mode)
        done = place.run(*inside(place.mpirun, "-n", 2, place.bin / "ask_settings", "a.h5"),
                         IOTUNE_CONFIG=config(place), **WANTED)  # fmt: skip
        doubted = owner != 0 or mode != 0o644
        assert any("/etc/iotune.conf" in line for line in done.said()) == doubted, done.said()
        check(place, done, effect)


def hints_in_etc(place: Place) -> None:
    """ROMIO has a site's hints from /etc/romio-hints, and those that are passed win over them."""
    found = copy_of_etc(place)
    if found is None:
        return
    etc, inside = found
    own = place.scratch / "own hints"
    own.write_text("cb_nodes 1\n")
    (etc / "romio-hints").write_text("# ours\ncb_buffer_size 2097152\n")
    # A user's own file takes the place of the site's.
    for hints, value in ((None, 2097152), ("/nowhere", 2097152), (own, 1048576)):
        done = place.run(*inside(place.mpirun, "-n", 2, place.bin / "ask_settings", "a.h5"),
                         IOTUNE_CONFIG=config(place), ROMIO_HINTS=hints, **WANTED)  # fmt: skip
        place.right(done, str(hints))
        assert b"hint cb_buffer_size %d\n" % value in done.out, (hints, done.out)
        (noted,) = [call for call in place.calls() if call["name"] == "iotune_setting"]
        assert noted["numbers"][0] == (0 if value == 1048576 else 2), noted
        place.clear()


if __name__ == "__main__":
    main({"limits": limits, "share": share, "freeze": freeze, "freeze-trained": freeze_trained,
          "traces": traces, "moved": moved, "in-etc": in_etc,
          "hints-in-etc": hints_in_etc})  # fmt: skip
