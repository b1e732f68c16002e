"""Striping reaches a new file on the descriptor that makes it, and nothing else.

There is no Lustre and no Ceph here: programs/stand_ins/fake_storage.c stands beneath libiotune.so
and answers as their clients do, and the bytes that they would get are compared one by one.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

from support.place import Place, main, not_verified
from support.preloaded import Done
from support.settings import outcomes, write_config

FORMS = {"hdf5": (), "mpiio": ("--mpiio",), "serial": ("--serial",)}


def config(place: Place, count: int | None = 8, unit: int | None = 4 << 20) -> Path:
    return write_config(place.scratch / "config.xml", striping_factor=count, striping_unit=unit)


class Run:
    """One run above the fake storage: what it was asked, and what the trace says of it."""

    def __init__(self, place: Place, storage: str, *arguments: object, keep: bool = False,
                 form: str = "hdf5", link: str | None = None, **env: Any) -> None:  # fmt: skip
        """`link`: a path to the run's directory by a link to one above it, or to itself."""
        self.top = place.scratch / "files"
        self.root = self.top / "project" / "run"
        store = place.scratch / "store"
        if not keep:
            for folder in (self.top, store):
                shutil.rmtree(folder, ignore_errors=True)
            self.root.mkdir(parents=True)
            store.mkdir()
        named = self.root
        if link is not None:
            named = place.scratch / "home" / link
            shutil.rmtree(place.scratch / "home", ignore_errors=True)
            (place.scratch / "home").mkdir()
            above = len(Path(link).parts) - 1
            (place.scratch / "home" / Path(link).parts[0]).symlink_to(
                self.root.parents[above - 1] if above else self.root
            )
        (store / "log").unlink(missing_ok=True)
        place.trace.unlink(missing_ok=True)
        fake = place.build / "lib" / "libfake_storage.so"
        if "IOTUNE_CONFIG" not in env:
            env["IOTUNE_CONFIG"] = config(place)
        self.done: Done = place.mpi(
            2, place.bin / "ask_settings", named / "a.h5", *FORMS[form], *arguments,
            preload=[place.library, fake], IOTUNE_TRACE=place.trace,
            **{"FAKE_STORAGE": storage, "FAKE_ROOT": self.top, "FAKE_STORE": store, **env},
        )  # fmt: skip
        place.right(self.done, f"{storage} {form}")
        log = store / "log"
        self.asked = log.read_text().splitlines() if log.exists() else []
        self.flags = [c["numbers"][0] for c in place.calls() if c["name"] == "open"]
        self.outcomes = outcomes(place.calls())
        kept = store / str((self.root / "a.h5").stat().st_ino)
        self.layout = kept.read_bytes() if kept.exists() else b""


def setstripe(count: int, unit: int, pattern: int = 1) -> str:
    """lov_user_md_v1 as lustre_user.h lays it out: RAID0, any target first."""
    head = struct.pack("=II16sIHH", 0x0BD10BD0, pattern, bytes(16), unit, count, 0xFFFF)
    assert len(head) == 32
    return f"setstripe {head.hex()}"


def lustre(place: Place) -> None:
    for form in FORMS:
        run = Run(place, "lustre", form=form)
        assert run.asked == ["open with delay", setstripe(8, 4 << 20)], (form, run.asked)
        assert run.outcomes["striping_factor"] == ("applied", "8", ""), (form, run.outcomes)
        assert run.outcomes["striping_unit"] == ("applied", str(4 << 20), ""), run.outcomes
        assert struct.unpack_from("=IH", run.layout, 24) == (4 << 20, 8), run.layout
        # The program's flags are what is recorded, and what it finds on its descriptor.
        assert run.flags and not any(flags & 0o20400 for flags in run.flags), run.flags
    # One of the two: the other is Lustre's default.
    run = Run(place, "lustre", IOTUNE_CONFIG=config(place, unit=None))
    assert run.asked[1:] == [setstripe(8, 0)], run.asked
    run = Run(place, "lustre", IOTUNE_CONFIG=config(place, count=None))
    assert run.asked[1:] == [setstripe(0, 4 << 20)], run.asked
    # Fewer targets than asked for: what it got is what is said.
    run = Run(place, "lustre", FAKE_TARGETS=4)
    assert run.outcomes["striping_factor"][:2] == ("without effect", "4"), run.outcomes


def overstriped(place: Place) -> None:
    """More stripes than targets where Lustre has that, and elsewhere as many as there are."""
    text = write_config(place.scratch / "over.xml", striping_factor=8, striping_unit=1 << 20,
                        overstriping="enable")  # fmt: skip
    run = Run(place, "lustre", FAKE_TARGETS=4, IOTUNE_CONFIG=text)
    assert run.asked == ["open with delay", setstripe(8, 1 << 20, 0x201)], run.asked
    assert run.outcomes["striping_factor"] == ("applied", "8", ""), run.outcomes
    assert run.outcomes["overstriping"] == ("applied", "enable", ""), run.outcomes
    run = Run(place, "lustre", FAKE_TARGETS=4, FAKE_OLD=1, IOTUNE_CONFIG=text)
    assert run.asked[1:] == [setstripe(8, 1 << 20, 0x201), setstripe(8, 1 << 20)], run.asked
    assert run.outcomes["striping_factor"][:2] == ("without effect", "4"), run.outcomes
    assert run.outcomes["overstriping"][:2] == ("without effect", "disable"), run.outcomes
    assert run.outcomes["striping_unit"] == ("applied", str(1 << 20), ""), run.outcomes
    run = Run(place, "ceph", IOTUNE_CONFIG=text)
    assert run.outcomes["striping_factor"] == ("applied", "8", ""), run.outcomes
    assert run.outcomes["overstriping"][0] == "without effect", run.outcomes


def left_alone(place: Place) -> None:
    for storage in ("lustre", "ceph"):
        Run(place, storage, IOTUNE_CONFIG=config(place, None, None))
        # The file is there, and is truncated: its layout stays, and that is said.
        again = Run(place, storage, keep=True)
        assert again.asked == [], again.asked
        for verdict, _, reason in again.outcomes.values():
            assert (verdict, reason) == ("refused", "the file exists: its layout is fixed")
        # PFL, or a layout that somebody gave the directory; CephFS looks above it too.
        for directory in ("run",) if storage == "lustre" else ("run", "project"):
            own = Run(place, storage, FAKE_DIRECTORY=directory)
            assert own.asked == [], own.asked
            for verdict, _, reason in own.outcomes.values():
                assert verdict == "refused" and "directory" in reason, own.outcomes
        # A link that lies elsewhere hides nothing of what is above the directory, nor the file
        # system that the file is on.
        above: dict[str, Any] = {"FAKE_DIRECTORY": "project"}
        if storage == "lustre":
            above = {"FAKE_PFL": "files"}
        for link in ("to-run", "to-project/run"):
            own = Run(place, storage, link=link, **above)
            assert own.asked == [], (link, own.asked)
            for verdict, _, reason in own.outcomes.values():
                assert verdict == "refused" and "directory" in reason, (link, own.outcomes)
            own = Run(place, storage, link=link)
            assert own.asked != [], link
            assert {o[0] for o in own.outcomes.values()} == {"applied"}, (link, own.outcomes)
        if storage == "lustre":
            # The site's PFL, which is set on the topmost directory, holds for all below; a plain
            # default there is what is to be bettered.
            for own, kept in ((Run(place, storage, FAKE_PFL="run"), True),
                              (Run(place, storage, FAKE_PFL="files"), True),
                              (Run(place, storage, FAKE_DIRECTORY="files"), False)):  # fmt: skip
                assert (own.asked == []) == kept, own.asked
                verdicts = {verdict for verdict, _, _ in own.outcomes.values()}
                assert verdicts == {"refused" if kept else "applied"}, own.outcomes
        # The program's own hint, and its user's.
        hinted = Run(place, storage, "--set-hint", "striping_factor=2",
                     IOTUNE_CONFIG=config(place, unit=None))  # fmt: skip
        assert hinted.asked == [] and hinted.outcomes["striping_factor"][0] == "refused"
        hints = place.scratch / "hints"
        hints.write_text("striping_factor 2\n")
        hinted = Run(place, storage, ROMIO_HINTS=hints, IOTUNE_CONFIG=config(place, unit=None))
        assert hinted.asked == [] and "ROMIO_HINTS" in hinted.outcomes["striping_factor"][2]
    # A file system without striping: no call, and no claim.
    run = Run(place, "none", FAKE_ROOT=None)
    assert run.asked == [] and {o[0] for o in run.outcomes.values()} == {"without effect"}


def refused(place: Place) -> None:
    """Whatever the file system answers, the program has a file that it can write."""
    run = Run(place, "lustre", FAKE_REFUSES=1)
    assert len(run.asked) == 3 and "write without a layout" not in run.asked, run.asked
    assert run.outcomes["striping_factor"] == ("without effect", "1", "Lustre refused it")
    run = Run(place, "ceph", FAKE_REFUSES=1)
    assert run.outcomes["striping_factor"] == ("without effect", "1", "CephFS refused it")


def ceph(place: Place) -> None:
    for form in FORMS:
        run = Run(place, "ceph", form=form, IOTUNE_CONFIG=config(place, 16, 1 << 20))
        text = f"stripe_unit={1 << 20} stripe_count=16 object_size={4 << 20}"
        assert run.asked == [f"ceph.file.layout {text}"], (form, run.asked)
        assert {o[0] for o in run.outcomes.values()} == {"applied"}, run.outcomes
    # Objects are a multiple of the stripe unit.
    run = Run(place, "ceph", IOTUNE_CONFIG=config(place, None, 3 << 20))
    assert run.asked == [
        f"ceph.file.layout stripe_unit={3 << 20} stripe_count=1 object_size={6 << 20}"
    ], run.asked
    # What the whole file system has by default is nobody's choice for this file.
    run = Run(place, "ceph", FAKE_DIRECTORY="files")
    assert {o[0] for o in run.outcomes.values()} == {"applied"}, run.outcomes
    mount = os.environ.get("IOTUNE_TEST_CEPHFS")
    if mount is None or shutil.which("getfattr") is None:
        not_verified("CephFS itself: IOTUNE_TEST_CEPHFS names no folder on one")
        return
    real = Path(mount) / f"iotune-{os.getpid()}.h5"
    try:
        done = place.mpi(2, place.bin / "ask_settings", real,
                         IOTUNE_CONFIG=config(place, 2, 1 << 20))  # fmt: skip
        place.right(done, "on CephFS")
        got = subprocess.run(
            ["getfattr", "--only-values", "-n", "ceph.file.layout", str(real)],
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        assert f"stripe_unit={1 << 20} stripe_count=2 " in got, got
    finally:
        real.unlink(missing_ok=True)


if __name__ == "__main__":
    main({"lustre": lustre, "overstriped": overstriped, "left-alone": left_alone,
          "refused": refused, "ceph": ceph})  # fmt: skip
