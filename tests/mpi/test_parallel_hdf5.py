"""HDF5 2.2 in parallel over a wheel's MPICH 5, built by `tools/setup.sh parallel-hdf5`:
recorded, recognised, tuned, as the Debian pair is.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "preload"))
from harness import Done, Place, main, not_verified  # noqa: E402
from mpis import COMPANIONS, ROOT, Mpi, compiled, find_mpi, use  # noqa: E402
from settings import outcomes  # noqa: E402
from test_mpis import CONFIG, HINTS, check_merged  # noqa: E402
from test_recognition import demand  # noqa: E402

HOME = COMPANIONS / "hdf5-2.2-parallel"


def flags() -> list[str]:
    library = HOME / "lib"
    return [f"-I{HOME / 'include'}", f"-L{library}", "-lhdf5", f"-Wl,-rpath,{library}", "-lm"]


def the_mpi(place: Place) -> Mpi | None:
    mpi = find_mpi("mpich-5")
    if mpi is None or not (HOME / "include" / "hdf5.h").exists():
        not_verified("HDF5 2.2 in parallel is not built below build/companions")
        return None
    use(place, mpi)
    return mpi


def values(done: Done) -> dict[str, str]:
    """What the program itself asked of its open file."""
    return {line.split()[-2]: line.split()[-1] for line in done.out.decode().splitlines()}


def tuned(place: Place) -> None:
    mpi = the_mpi(place)
    if mpi is None:
        return
    program = compiled(place, mpi, "ask_settings.c", *flags())
    bare = place.right(place.mpi(2, program, "a.h5", preload=False))
    config = place.scratch / "config.xml"
    config.write_text(CONFIG)
    under = place.right(place.mpi(2, program, "a.h5", IOTUNE_MODE="record", IOTUNE_CONFIG=config))
    assert values(under) == values(bare)
    check_merged(place, mpi, 2)
    place.clear()
    done = place.right(place.mpi(2, program, "a.h5", IOTUNE_CONFIG=config, IOTUNE_DB="none"))
    assert done.said() == [], done.said()
    said, now = outcomes(check_merged(place, mpi, 2)), values(done)
    assert now["alignment"] == "65536,4096" != values(bare)["alignment"], now
    assert now["meta_block_size"] == "131072" != values(bare)["meta_block_size"], now
    for name, value in {**HINTS, "alignment": "65536,4096", "meta_block_size": "131072"}.items():
        assert said[name][:2] == ("applied", value), (name, said)
        assert now[name] == value, (name, now)


def recognised(place: Place) -> None:
    """A kernel's decomposition, read back from the merged trace."""
    mpi = the_mpi(place)
    if mpi is None:
        return
    sources = ["vorpal_io", "hdf5_failure", "kernel_dataset", "kernel_grid", "kernel_io",
               "kernel_options", "kernel_run"]  # fmt: skip
    paths = [str(ROOT / "kernels" / f"{name}.c") for name in sources]
    program = compiled(place, mpi, paths[0], *paths[1:], "-D_GNU_SOURCE", *flags())
    place.right(place.mpi(2, program, "--size", "6x10x3", "--collective", IOTUNE_MODE="record"))
    run = place.summary()
    assert run["dropped"] == 0 and run["warnings"] == [], run
    demand(run, "<3D,(BLOCK,*,*),(6,10,3)>", 20, 8, 2, (2, 1, 1))
    assert {d["mode"] for d in run["files"][0]["datasets"]} == {"collective"}, run


if __name__ == "__main__":
    main({"tuned": tuned, "recognised": recognised})
