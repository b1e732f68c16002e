"""`traces = ` in a site's file: where runs leave their traces, and who may read them."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from pathlib import Path
from typing import Any

from support.place import Place, main, not_verified
from support.preloaded import Done

WRITER = "import os; f = os.open('data', os.O_WRONLY | os.O_CREAT); os.write(f, b'x' * 5000)"


def site(place: Place, text: str = "", folder: str = "users/%u") -> tuple[Path, dict[str, Any]]:
    """The folder that the site's file names for this user, and the variables of a run under it."""
    users = place.scratch / "users"
    users.mkdir(exist_ok=True)
    users.chmod(0o1777)
    conf = place.scratch / "site.conf"
    conf.write_text(f"traces = {place.scratch}/{folder}\n{text}")
    conf.chmod(0o644)
    return users / str(os.getuid()), {"IOTUNE_SITE_CONFIG": conf, "IOTUNE_TRACE": None}


def write(place: Place, umask: int = 0o022, **env: Any) -> Done:
    code = f"import os; os.umask({umask}); {WRITER}"
    return place.right(place.run(sys.executable, "-I", "-S", "-c", code, **env))


def modes(folder: Path) -> dict[str, int]:
    """Of all below it, files by their endings."""
    return {
        path.suffix or path.name: stat.S_IMODE(path.lstat().st_mode) for path in folder.rglob("*")
    }


def readers(place: Place) -> None:
    """The owner's alone, or the group's where that is asked; nobody else's."""
    for text, umask, of_folder, of_file in (
        ("", 0o022, 0o700, 0o600), ("readable_by = owner\n", 0, 0o700, 0o600),
        ("readable_by = group\n", 0, 0o750, 0o640), ("readable_by = group\n", 0o077, 0o750, 0o640),
    ):  # fmt: skip
        own, env = site(place, text)
        done = write(place, umask, **env)
        assert done.said() == [], done.said()
        [trace] = (own / "traces").iterdir()
        assert place.calls(trace)
        assert stat.S_IMODE(own.lstat().st_mode) == of_folder, text
        found = modes(own)
        assert found["traces"] == of_folder and found[".iotrace"] == of_file, (text, found)
        assert not (place.state / "iotune" / "traces").exists()
        place.clear()
        shutil.rmtree(own)


def a_trace_that_is_named(place: Place) -> None:
    """The user's own word comes first, and what lies elsewhere is private."""
    own, env = site(place, "readable_by = group\n")
    done = write(place, **env | {"IOTUNE_TRACE": place.trace})
    assert done.said() == [] and place.calls()
    assert stat.S_IMODE(place.trace.lstat().st_mode) == 0o600
    assert not (own / "traces").exists(), modes(own)
    # As iotune run names one, in the site's folder.
    (own / "traces").mkdir(mode=0o750, parents=True)
    inside = own / "traces" / "run.iotrace"
    write(place, **env | {"IOTUNE_TRACE": inside})
    assert stat.S_IMODE(inside.lstat().st_mode) == 0o640


def not_to_be_had(place: Place) -> None:
    """The home then, and one line that names the folder; what lies there stays what it is."""
    own, env = site(place, "readable_by = group\n")
    elsewhere = place.scratch / "elsewhere"
    elsewhere.mkdir(mode=0o700)

    def falls_back(reason: str) -> None:
        done = write(place, **env)
        [line] = done.said()
        assert f"{own}/traces, {reason}: they go to the home" in line, line
        [trace] = (place.state / "iotune" / "traces").iterdir()
        assert stat.S_IMODE(trace.lstat().st_mode) == 0o600
        place.clear()

    own.symlink_to(elsewhere)
    falls_back("is a link or no folder")
    assert not list(elsewhere.iterdir()) and stat.S_IMODE(elsewhere.lstat().st_mode) == 0o700
    own.unlink()
    own.write_text("no folder")
    falls_back("is a link or no folder")
    own.unlink()
    own.mkdir()
    own.chmod(0o777)
    falls_back("may be written by others")
    own.chmod(0o755)
    (own / "traces").symlink_to(elsewhere)
    falls_back("is a link or no folder")
    assert not list(elsewhere.iterdir())
    shutil.rmtree(own)
    if os.getuid() == 0:
        own.mkdir()
        os.chown(own, 65534, 65534)
        falls_back("belongs to another user")
        assert not list(own.iterdir())
    else:
        not_verified("another user's folder: no root")
    own, env = site(place, folder="nowhere/%u")
    done = write(place, **env)
    assert len(done.said()) == 1 and "is not there" in done.said()[0], done.said()
    assert not (place.scratch / "nowhere").exists()


def forgotten_user(place: Place) -> None:
    """A path that all users would share switches iotune off, as all that is not understood."""
    _, env = site(place, folder="users")
    done = write(place, **env)
    [line] = done.said()
    assert "site.conf:1: traces has no %u" in line and "nothing is done" in line, line
    assert place.ours() == []


def no_call_no_folder(place: Place) -> None:
    own, env = site(place)
    done = place.right(place.run("/bin/true", **env))
    assert done.said() == [] and not own.exists()


main({
    "readers": readers, "named": a_trace_that_is_named, "not-to-be-had": not_to_be_had,
    "forgotten-user": forgotten_user, "no-call-no-folder": no_call_no_folder,
})  # fmt: skip
