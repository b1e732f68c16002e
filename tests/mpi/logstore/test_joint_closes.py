"""A container that ranks have opened becomes an ordinary file at the close that ends the last of
its handles, and has then the bytes of a run without the log store.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from support.mpis import compiled, find_mpi, use
from support.place import Place, main, not_verified
from support.preloaded import Done
from support.repository import IOTUNE
from support.small_disk import small_disk

RANKS = 3
# What each way has under the name after its steps.
KINDS = {
    "whole": {"open": "directory", "closed": "file", "met": "file"},
    "holes": {"closed": "file"},
    "two-handles": {"first": "directory", "second": "file"},
    "halves": {"all": "directory", "even": "directory", "odd": "file", "end": "file"},
    "alone": {"all": "directory", "own": "directory", "last": "file"},
    "unclosed": {"all": "directory"},
    "removed": {"closed": "nothing"},
    "again": {"closed": "file"},
    "deferred": {"met": "file"},
    "apart": {"met": "file"},
}


def kinds_of(done: Done) -> dict[str, set[str]]:
    kinds: dict[str, set[str]] = {}
    for line in done.out.decode().splitlines():
        step, _, kind = line.split()
        kinds.setdefault(step, set()).add(kind)
    return kinds


def is_container(path: Path) -> bool:
    return (path / "container").is_file()


def said(done: Done) -> list[bytes]:
    return [line for line in done.err.splitlines() if line.startswith(b"iotune:")]


def ways(name: str) -> Callable[[Place], None]:
    def case(place: Place) -> None:
        mpi = find_mpi(name)
        if mpi is None:
            return
        use(place, mpi)
        program = compiled(place, mpi, "joint_closes.c")
        for way, kinds in KINDS.items():
            for mode in ("tune", "record", "off") if way == "whole" else ("tune",):
                bare, logs = place.scratch / "bare", place.scratch / "logs"
                bare.mkdir()
                logs.mkdir()
                place.right(place.mpi(RANKS, program, way, bare / "f", preload=False), way)
                done = place.mpi(RANKS, program, way, logs / "f", IOTUNE_LOGSTORE=logs,
                                 IOTUNE_MODE=mode, IOTUNE_DB="none")  # fmt: skip
                place.right(done, f"{way} {mode}")
                want = {step: {kind} for step, kind in kinds.items()}
                found = kinds_of(done)
                if mode == "off":
                    # Nobody speaks: the last rank makes the file, and the others do not wait.
                    assert found.pop("closed") <= {"directory", "file"}
                    del want["closed"]
                assert found == want, (way, mode, found)
                assert not said(done), (way, mode, done.err)
                if way == "unclosed":
                    assert is_container(logs / "f"), way
                elif way == "removed":
                    assert not list(logs.iterdir()), list(logs.iterdir())
                else:
                    assert (logs / "f").read_bytes() == (bare / "f").read_bytes(), (way, mode)
                    names = {one.name for one in logs.iterdir()}
                    assert names == {one.name for one in bare.iterdir()}, names
                    assert (logs / "f").stat().st_mode == (bare / "f").stat().st_mode, way
                if way == "holes":
                    assert (logs / "f").stat().st_blocks * 512 < 2 << 20
                shutil.rmtree(bare)
                shutil.rmtree(logs)

    return case


def kept(place: Place) -> None:
    """With `keep` and `compact` it stays; so it does, and one line says so, where a rank may make
    no file of its size.
    """
    mpi = find_mpi("mpich-4")
    if mpi is None:
        return
    use(place, mpi)
    program = compiled(place, mpi, "joint_closes.c")
    for at_close in ("keep", "compact"):
        logs = place.scratch / at_close
        logs.mkdir()
        done = place.mpi(RANKS, program, "whole", logs / "f", IOTUNE_LOGSTORE=logs,
                         IOTUNE_LOGSTORE_CLOSE=at_close)  # fmt: skip
        place.right(done, at_close)
        assert kinds_of(done)["closed"] == {"directory"}, at_close
        assert is_container(logs / "f") and not said(done), done.err
    logs = place.scratch / "limited"
    logs.mkdir()
    done = place.mpi(RANKS, program, "limited", logs / "f", IOTUNE_LOGSTORE=logs)
    place.right(done, "limited")
    assert kinds_of(done)["closed"] == {"directory"}, done.out
    (line,) = said(done)
    assert b"stays a directory of logs: File too large" in line, line
    assert [one.name for one in logs.iterdir()] == ["f"], list(logs.iterdir())


def differing(name: str) -> Callable[[Place], None]:
    """Ranks of other settings than the others': nobody waits for who does not take part."""

    def case(place: Place) -> None:
        mpi = find_mpi(name)
        if mpi is None:
            return
        use(place, mpi)
        program = compiled(place, mpi, "joint_closes.c")
        for number, change, kind in (
            (0, "unset IOTUNE_LOGSTORE", "file"),
            (0, "unset LD_PRELOAD", "file"),
            (0, "export IOTUNE_LOGSTORE_CLOSE=keep", "directory"),
            (1, "export IOTUNE_LOGSTORE_CLOSE=keep", "directory"),
            (1, "export IOTUNE_MODE=off", "file"),
            (1, "export IOTUNE_MODE=record", "file"),
        ):
            logs = place.scratch / "differing"
            logs.mkdir()
            is_other = f'[ "${{PMI_RANK:-$OMPI_COMM_WORLD_RANK}}" != {number} ]'
            script = f'{is_other} || {change}; exec "$0" "$@"'
            done = place.mpi(RANKS, "sh", "-c", script, program, "whole", logs / "f",
                             IOTUNE_LOGSTORE=logs, IOTUNE_DB="none")  # fmt: skip
            place.right(done, change)
            assert kinds_of(done)["met"] == {kind}, (change, done.out)
            shutil.rmtree(logs)

    return case


def flattened(place: Place, container: Path) -> bytes:
    """What the command makes of a container."""
    done = place.run(IOTUNE, "log", "flatten", container, preload=False)
    place.right(done, "iotune log flatten")
    return container.read_bytes()


def broken(name: str) -> Callable[[Place], None]:
    """A rank that dies, or a disk without room for the file beside its logs: the container stays,
    and all that was written is in it.
    """

    def case(place: Place) -> None:
        mpi = find_mpi(name)
        if mpi is None or not IOTUNE.exists():
            return
        use(place, mpi)
        program = compiled(place, mpi, "joint_closes.c")
        place.right(place.mpi(RANKS, program, "whole", place.scratch / "bare", preload=False))
        want = (place.scratch / "bare").read_bytes()
        logs = place.scratch / "killed"
        logs.mkdir()
        done = place.mpi(RANKS, program, "killed", logs / "f", IOTUNE_LOGSTORE=logs,
                         IOTUNE_DB="none")  # fmt: skip
        assert done.status != 0, done
        assert is_container(logs / "f") and flattened(place, logs / "f") == want
        # The logs are as large as the file.
        with small_disk(f"size={len(want) * 3 // 2}") as disk:
            if disk is None:
                not_verified("a disk without room for the copy needs the right to mount")
                return
            done = place.mpi(RANKS, program, "whole", disk / "f", IOTUNE_LOGSTORE=disk,
                             IOTUNE_DB="none")  # fmt: skip
            place.right(done, "no room")
            assert kinds_of(done)["met"] == {"directory"}, done.out
            (line,) = said(done)
            assert b"stays a directory of logs: No space left" in line, line
            assert [one.name for one in disk.iterdir()] == ["f"], list(disk.iterdir())
            subprocess.run(["mount", "-o", "remount,size=8m", disk], check=True)
            assert flattened(place, disk / "f") == want

    return case


if __name__ == "__main__":
    names = ("mpich-4", "openmpi-4")
    main({name: ways(name) for name in names} | {"kept": kept}
         | {f"broken-{name}": broken(name) for name in names}
         | {f"differing-{name}": differing(name) for name in names})  # fmt: skip
