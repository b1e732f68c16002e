"""HDF5 1.14 and 2.2 in parallel over a wheel's MPICH 5, built by `tools/setup.sh parallel-hdf5`:
recorded, recognised, tuned, as the Debian pair is, and by asynchronous forms too.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from support.asked_settings import DATASETS, SeenDatasets, transfers
from support.mpi_runs import CONFIG, HINTS, check_merged
from support.mpis import Mpi, compiled, find_mpi, use
from support.place import Place, main, not_verified
from support.preloaded import Done
from support.recognised import demand
from support.repository import COMPANIONS, ROOT
from support.settings import outcomes

VERSIONS = ("1.14", "2.2")


def home_of(version: str) -> Path:
    return COMPANIONS / f"hdf5-{version}-parallel"


def flags(version: str) -> list[str]:
    home = home_of(version)
    library = home / "lib"
    return [f"-I{home / 'include'}", f"-L{library}", "-lhdf5", f"-Wl,-rpath,{library}", "-lm"]


def the_mpi(place: Place, version: str) -> Mpi | None:
    mpi = find_mpi("mpich-5")
    if mpi is None or not (home_of(version) / "include" / "hdf5.h").exists():
        not_verified(f"HDF5 {version} in parallel is not built below build/companions")
        return None
    use(place, mpi)
    return mpi


def values(done: Done) -> dict[str, str]:
    """What the program itself asked of its open file."""
    return {line.split()[-2]: line.split()[-1] for line in done.out.decode().splitlines()}


def tuned(place: Place, version: str) -> None:
    mpi = the_mpi(place, version)
    if mpi is None:
        return
    program = compiled(place, mpi, "ask_settings.c", *flags(version))
    bare = place.right(place.mpi(2, program, "a.h5", preload=False))
    config = place.scratch / "config.xml"
    # No row of the table speaks of this version in parallel: the test is of how settings arrive.
    config.write_text(CONFIG.replace("<Parameters>", '<Parameters iotune_force="yes">'))
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


def recognised(place: Place, version: str) -> None:
    """A kernel's decomposition, read back from the merged trace."""
    mpi = the_mpi(place, version)
    if mpi is None:
        return
    kernel = str(ROOT / "kernels" / "papers" / "vorpal_io.c")
    shared = ROOT / "kernels" / "shared"
    sources = [f"-I{shared}", *map(str, sorted(shared.glob("*.c"))), "-D_GNU_SOURCE"]
    program = compiled(place, mpi, kernel, *sources, *flags(version))
    place.right(place.mpi(2, program, "--size", "6x10x3", "--collective", IOTUNE_MODE="record"))
    run = place.summary()
    assert run["dropped"] == 0 and run["warnings"] == [], run
    demand(run, "<3D,(BLOCK,*,*),(6,10,3)>", 20, 8, 2, (2, 1, 1))
    assert {d["mode"] for d in run["files"][0]["datasets"]} == {"collective"}, run


def datasets(place: Place, version: str, *more_flags: str) -> None:
    """Chunks, chunk caches and low-level transfers, as test_datasets.py has them."""
    mpi = the_mpi(place, version)
    if mpi is None:
        return
    program = str(compiled(place, mpi, "ask_datasets.c", *more_flags, *flags(version)))
    ask = type("Asked", (SeenDatasets,), {"program": program})
    bare = ask(place, "a.h5", preload=False)
    recorded = ask(place, "a.h5", IOTUNE_MODE="record")
    assert recorded.opens == bare.opens, recorded.opens
    (file,) = [file for file in place.summary()["files"] if file["datasets"]]
    assert all(one["mode"] == "collective" for one in file["datasets"]), file
    assert all(one["actual_io"] == {"collective (contiguous)": 2} for one in file["datasets"])
    names = {call["name"] for call in place.calls()}
    assert ("H5Dwrite_async" in names) == bool(more_flags) != ("H5Dwrite" in names), names
    _, collective = transfers(place)
    assert collective >= 8, "HDF5 does not write collectively here: this proves nothing"
    config = place.scratch / "config.xml"
    # Neither HDF5's default of 1 MiB nor that of 8 MiB.
    config.write_text(DATASETS.replace("8388608", "4194304"))
    now = ask(place, "a.h5", IOTUNE_CONFIG=config, IOTUNE_DB="none")
    assert now.said == [], now.said
    created, opened = now.opens
    for have in (created, opened):
        assert (have["a.chunk"], have["b.chunk"]) == ("128", "64"), have
    assert opened["a.chunk_cache"] == opened["b.chunk_cache"] == "4194304", opened
    assert bare.opens[1]["a.chunk"] == "0" and bare.opens[1]["a.chunk_cache"] != "4194304"
    assert [v for v, _ in now.verdicts("chunk")] == ["applied", "applied"], now.outcomes
    assert [v for v, _ in now.verdicts("chunk_cache")][-2:] == ["applied"] * 2, now.outcomes
    assert [v for v, _ in now.verdicts("dxpl_mpio_collective_opt")] == ["applied"] * 2
    independent_now, collective_now = transfers(place)
    assert collective_now < collective and independent_now >= 4, (independent_now, collective_now)


def asynchronous(place: Place, version: str) -> None:
    datasets(place, version, "-DASK_BY_ASYNC_FORMS")


def of_version(case: Callable[[Place, str], None], version: str) -> Callable[[Place], None]:
    return lambda place: case(place, version)


if __name__ == "__main__":
    cases: dict[str, Callable[[Place, str], None]] = {
        "tuned": tuned, "recognised": recognised, "datasets": datasets, "async": asynchronous,
    }  # fmt: skip
    main({f"{name}-{version}": of_version(case, version)
          for name, case in cases.items() for version in VERSIONS})  # fmt: skip
