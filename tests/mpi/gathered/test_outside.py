"""HDF5's own parallel tests with gathering on: they end as they do without, and leave equal files.

Others' programs are in the zoo (arms `gathered memory`, `gathered log`), ROMIO's tests in
foreign/test_romio.py, testphdf5 in foreign/test_foreign.py.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from support.mpis import compiled, find_mpi, hdf5_flags, use
from support.place import Place, main, not_verified
from support.repository import COMPANIONS

SOURCES = COMPANIONS / "hdf5"
# One after the other in one folder: the second one reads what the first one left.
SERIES = (
    ("t_mpi",), ("t_pflush1", "t_pflush2"), ("t_pread",), ("t_pshutdown", "t_prestart"),
    ("t_shapesame",), ("t_filters_parallel",), ("t_init_term",),
)  # fmt: skip
# These need more than MPI promises, and fail with gathering as docs/explain/gather.md says.
EXCEPTIONS = {
    "t_mpi": "a rank reads what another one wrote after a barrier alone, without MPI_File_sync",
    "t_shapesame": "ranks read elements that others wrote after a barrier alone, without H5Fflush",
}
RANKS = {"t_pread": 4}


def contents(folder: Path) -> dict[str, str]:
    """What h5dump prints of each file; another file's bytes are not looked at."""
    found = {}
    for file in sorted(folder.glob("*.h5")):
        done = subprocess.run(["h5dump", file.name], cwd=folder, capture_output=True, text=True,
                              check=False)  # fmt: skip
        found[file.name] = done.stdout
    return found


def parallel_tests(place: Place) -> None:
    mpi, flags = find_mpi("mpich-4"), hdf5_flags("hdf5-mpich")
    if mpi is None or flags is None or not (SOURCES / "testpar" / "t_mpi.c").exists():
        not_verified("HDF5's own parallel tests are not here (tools/setup.sh companions)")
        return
    use(place, mpi)
    include = [f"-I{SOURCES / part}" for part in ("src", "test", "testpar")]
    helpers = [str(SOURCES / "test" / name) for name in ("h5test.c", "testframe.c")]
    faults, equal = [], []
    for series in SERIES:
        programs = [compiled(place, mpi, str(SOURCES / "testpar" / f"{name}.c"), "-w", *include,
                             *helpers, *flags, "-lm") for name in series]  # fmt: skip
        seen = {}
        for mode in (None, "memory", "log"):
            here = place.scratch / "here"
            shutil.rmtree(here, ignore_errors=True)
            here.mkdir()
            ended = [place.mpi(RANKS.get(series[0], 2), program, cwd=here, seconds=400,
                               preload=mode is not None, IOTUNE_GATHER=mode, IOTUNE_DB="none",
                               HDF5_PARAPREFIX=".").status for program in programs]  # fmt: skip
            seen[mode] = (ended, contents(here), sorted(p.name for p in here.iterdir()))
        same = seen[None] == seen["memory"] == seen["log"]
        because = EXCEPTIONS.get(series[0], "")
        if same and not because:
            equal += series
        elif same or not because:
            faults.append((series, {mode: found[0] for mode, found in seen.items()}))
    print(f"equal: {' '.join(equal)}; " + "; ".join(f"{k}: {v}" for k, v in EXCEPTIONS.items()))
    assert not faults, faults


if __name__ == "__main__":
    main({"hdf5": parallel_tests})
