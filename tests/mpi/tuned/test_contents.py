"""Files are the same, byte for byte, bare, recorded and tuned (tuned allocation: equal h5dump)."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from support.place import Place, main, not_verified

KERNELS = {
    "vpic-io": ("--particles", 3001), "vorpal-io": ("--size", "6x5x4"),
    "resemble-vorpal-io": ("--size", "4x6x3"), "gcrm-io": ("--size", "1x1x777"),
    "flash-io": ("--size", "5x3x3x3"), "ph5example": (), "column-io": ("--size", "64x16"),
    "cyclic-io": ("--size", 501), "block-cyclic-io": ("--size", 512, "--block", 32),
}  # fmt: skip

HINTS = """<Parameters>
  <Middleware_Layer>
    <cb_nodes>2</cb_nodes><cb_buffer_size>65536</cb_buffer_size>
    <romio_cb_write>disable</romio_cb_write><romio_ds_write>disable</romio_ds_write>
  </Middleware_Layer>
</Parameters>
"""
ALLOCATION = """<Parameters>
  <High_Level_IO_Library>
    <alignment>4096,4096</alignment><meta_block_size>65536</meta_block_size>
  </High_Level_IO_Library>
</Parameters>
"""


def digests(folder: Path) -> dict[str, str]:
    return {p.name: hashlib.sha1(p.read_bytes()).hexdigest() for p in sorted(folder.glob("*.h5"))}


def dumps(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha1(
            subprocess.run(
                ["h5dump", path.name], cwd=folder, capture_output=True, check=True
            ).stdout
        ).hexdigest()
        for path in sorted(folder.glob("*.h5"))
    }


def run(place: Place, name: str, mode: str, **env: object) -> Path:
    folder = place.scratch / f"{name} {mode}"
    folder.mkdir()
    place.trace.unlink(missing_ok=True)
    frozen = place.build / "lib" / "libfrozen_time.so"
    preload = [place.library, frozen] if env else [frozen]
    done = place.mpi(2, place.bin / name, *KERNELS[name], *mode.split()[1:], cwd=folder,
                     preload=preload, IOTUNE_TRACE=place.trace,
                     **env)  # fmt: skip
    place.right(done, f"{name} {mode}")
    assert digests(folder), f"{name} wrote no file"
    return folder


def contents_of(name: str) -> Callable[[Place], None]:
    def case(place: Place) -> None:
        hints = place.scratch / "hints.xml"
        hints.write_text(HINTS)
        allocation = place.scratch / "allocation.xml"
        allocation.write_text(ALLOCATION)
        for mode in ("--independent", "--collective"):
            bare = run(place, name, f"bare {mode}")
            again = run(place, name, f"again {mode}")
            # Else this compares nothing: holes are undefined, and then two bare runs differ.
            same = digests if digests(bare) == digests(again) else dumps
            if same is dumps:
                not_verified(f"{name} {mode}: two bare runs differ; compared by h5dump")
            recorded = run(place, name, f"recorded {mode}", IOTUNE_MODE="record")
            assert same(recorded) == same(bare), f"{name} {mode}: recording changed the file"
            assert place.trace.exists(), "nothing was recorded"
            tuned = run(place, name, f"tuned {mode}", IOTUNE_CONFIG=hints)
            settings = [s for f in place.summary()["files"] for s in f["settings"]]
            assert any(s["verdict"] == "applied" for s in settings), settings
            assert same(tuned) == same(bare), f"{name} {mode}: hints changed the file"
            moved = run(place, name, f"allocated {mode}", IOTUNE_CONFIG=allocation)
            settings = [s for f in place.summary()["files"] for s in f["settings"]]
            assert any(s["parameter"] == "alignment" and s["verdict"] == "applied"
                       for s in settings), settings  # fmt: skip
            assert dumps(moved) == dumps(bare), f"{name} {mode}: allocation changed the contents"
            # The kernel's own formula says it too.
            read = place.mpi(2, place.bin / name, *KERNELS[name], mode, "--read", "--verify",
                             cwd=moved)  # fmt: skip
            place.right(read, f"{name} {mode} --read --verify")
            for folder in (bare, again, recorded, tuned, moved):
                shutil.rmtree(folder)

    return case


if __name__ == "__main__":
    main({name: contents_of(name) for name in KERNELS})
