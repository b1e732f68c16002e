"""A home that never answers costs a job a second and its settings; a slow one costs no settings."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support import answers
from support.place import Place, main
from support.preloaded import Done
from support.slow_home import SlowHome, left_processes, slow_home
from support.undisturbed import contents

SETTINGS = "cb_buffer_size=1048576"


@contextlib.contextmanager
def silent(home: SlowHome) -> Iterator[None]:
    home.takes(None)
    try:
        yield
    finally:
        home.takes(0)


def run(place: Place, home: SlowHome, preload: bool, **how: Any) -> tuple[Done, dict[str, Any]]:
    """Of the usual program in a folder of its own, with what it left there."""
    folder = place.scratch / "here"
    folder.mkdir()
    # The trace's place is the home, too. The clock stands still, so that files can be compared.
    # HOME is elsewhere: UCX looks for a file there, and would wait by itself.
    done = place.mpi(
        2, place.bin / "ask_settings", "a.h5", cwd=folder, IOTUNE_TRACE=None,
        preload=[*place.libraries(preload), place.build / "lib" / "libfrozen_time.so"], **how,
    )  # fmt: skip
    found = contents(folder)
    shutil.rmtree(folder)
    return done, found


def never(place: Place, **how: Any) -> None:
    """Equal to the bare run but for one line; the buffers stay; nothing of the job is held."""
    with slow_home(place) as home:
        if home is None:
            return
        bare, files = run(place, home, False, **how)
        with silent(home):
            under, same = run(place, home, True, **how)
            left = left_processes(place.bin / "ask_settings")
            for process in left:
                # It waits for the home, in a session of its own, and holds nothing of the job.
                assert process.name == (process / "stat").read_text().rsplit(")", 1)[1].split()[3]
                assert len(list((process / "fd").iterdir())) == 1  # the pipe to the job
                assert (process / "cwd").readlink() == Path("/")
            assert 1 <= len(left) <= 4, left  # one a node
        assert (under.status, under.out, same) == (bare.status, bare.out, files), (bare, under)
        said = under.said()
        other = [line for line in under.err.decode().splitlines() if line not in said]
        assert other == bare.err.decode().splitlines(), (bare.err, under.err)
        assert len(said) == 1 and "does not answer" in said[0], said
        # On fake nodes what makes them is preloaded, too.
        ranks = [one for one in place.leftovers() if one.parent.name.startswith("mpi-")]
        assert len(ranks) == 2, place.leftovers()
        assert [path for path in home.root.rglob("*") if not path.is_dir()] == []


def never_on_nodes(place: Place) -> None:
    if place.on_fake_nodes("a silent home on several nodes"):
        never(place)


def slow(place: Place) -> None:
    """Each answer takes 300 ms: the run is tuned, and leaves its trace."""
    with slow_home(place) as home:
        if home is None:
            return
        database = home.home / "data" / "iotune" / "patterns.db"
        first, files = run(place, home, True)
        assert first.status == 0 and database.exists(), first
        assert answers.answer(database, SETTINGS) > 0
        for path in home.home.rglob("*.iotrace"):
            path.unlink()
        home.takes(300)
        under, same = run(place, home, True, IOTUNE_LEARN_MS=None)
        home.takes(0)
        assert (under.status, under.out) == (first.status, under.out)
        [trace] = home.home.rglob("state/iotune/traces/*.iotrace")
        outcomes = [
            call["texts"] for call in place.calls(trace) if call["name"] == "iotune_setting"
        ]
        assert {texts[1] for texts in outcomes} >= {"cb_buffer_size"}, (outcomes, under.err)
        assert same.keys() == files.keys()
        assert left_processes(place.bin / "ask_settings") == []


if __name__ == "__main__":
    main({"never": never, "never-on-nodes": never_on_nodes, "slow": slow})
