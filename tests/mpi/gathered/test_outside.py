"""Libraries' own programs with gathering on: they end as they do without, and leave equal files.

HDF5's parallel tests, netCDF's, and PnetCDF's examples and benchmarks, FLASH-IO among them.

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
NETCDF = Path("/usr/lib/x86_64-linux-gnu/netcdf/mpi")
NETCDF_TESTS = ("tst_parallel", "tst_parallel3", "tst_parallel4", "tst_parallel5", "tst_parallel6")
# As netCDF's own configuration has them.
NETCDF_FLAGS = (
    "-DUSE_PARALLEL", "-DUSE_PARALLEL4", "-DHAVE_UNISTD_H", '-DTEMP_LARGE="."',
    "-DCHUNK_CACHE_SIZE=16777216", "-DCHUNK_CACHE_NELEMS=4133", "-DCHUNK_CACHE_PREEMPTION=0.75",
)  # fmt: skip
FLASH = ("flash_release", "get_mfluid_property", "checkpoint_ncmpi_parallel",
         "plotfile_ncmpi_parallel", "flash_benchmark_io")  # fmt: skip


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
    faults: list[object] = []
    equal: list[str] = []
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


def compare(place: Place, name: str, *command: object) -> list[Path]:
    """The program ends alike in all arms, with equal files: bytes, or what ncdump prints."""
    seen: dict[str | None, tuple[int, dict[str, bytes]]] = {}
    for mode in (None, "memory", "log"):
        here = place.scratch / "here"
        shutil.rmtree(here, ignore_errors=True)
        here.mkdir()
        done = place.mpi(4, *command, cwd=here, seconds=400, preload=mode is not None,
                         IOTUNE_GATHER=mode, IOTUNE_DB="none")  # fmt: skip
        files = sorted(here.iterdir())
        seen[mode] = (done.status, {one.name: content(one) for one in files})
        assert mode is None or b"iotune:" not in done.err, (name, mode, done.err)
    assert seen[None] == seen["memory"] == seen["log"], (
        name, {mode: (status, {file: len(text) for file, text in files.items()})
               for mode, (status, files) in seen.items()})  # fmt: skip
    assert seen[None][0] == 0, (name, seen[None][0])
    return files


def content(file: Path) -> bytes:
    """netCDF-4 puts the time into what it writes; the first line of ncdump is the file's name."""
    raw = file.read_bytes()
    if not raw.startswith(b"\x89HDF"):
        return raw
    done = subprocess.run(["ncdump", str(file)], capture_output=True, check=False)
    return done.stdout.partition(b"\n")[2] or raw


def netcdf(place: Place) -> None:
    mpi, source = find_mpi("openmpi-4"), COMPANIONS / "netcdf"
    if mpi is None or not NETCDF.exists() or not (source / "nc_test4").exists():
        not_verified("netCDF's own parallel tests are not here (tools/setup.sh zoo netcdf)")
        return
    use(place, mpi)
    (place.scratch / "config.h").write_text("")
    flags = [*NETCDF_FLAGS, f"-I{place.scratch}", f"-I{source / 'include'}",
             f"-I{NETCDF / 'include'}", f"-L{NETCDF}", "-lnetcdf_mpi", "-lm", "-w"]  # fmt: skip
    held = 0
    for name in NETCDF_TESTS:
        test = source / "nc_test4" / f"{name}.c"
        compare(place, name, compiled(place, mpi, str(test), *flags))
        held += sum(dict(call["arguments"])["held"] for call in place.calls()
                    if call["name"] == "iotune_gather")  # fmt: skip
    assert held > 0


def pnetcdf(place: Place) -> None:
    mpi, source = find_mpi("openmpi-4"), COMPANIONS / "pnetcdf"
    if mpi is None or not (source / "benchmarks").exists():
        not_verified("PnetCDF's own programs are not here (tools/setup.sh zoo netcdf)")
        return
    use(place, mpi)
    wanted = sorted([*source.glob("benchmarks/C/*.c"), *source.glob("examples/C/*.c")])
    for test in wanted:
        if test.stem != "get_vara":  # reads a file that is not there
            flags = ("-w", "-lpnetcdf", "-lm", "-lpthread")
            compare(place, test.stem, compiled(place, mpi, str(test), *flags), "testfile.nc")
    modules = sorted(Path("/usr/lib").glob("*/fortran/*/pnetcdf.mod"))
    if not modules or shutil.which("mpif90.openmpi") is None:
        not_verified("FLASH-IO: no Fortran module of PnetCDF, or no compiler")
        return
    flash = source / "benchmarks" / "FLASH-IO"
    parts = [str(flash / f"{name}.F90") for name in FLASH]
    # The folder of Open MPI's own libraries: another MPI's may lie beside PnetCDF.
    program = compiled(
        place, mpi, parts[-1], "-w", "-fallow-argument-mismatch", "-DN_DIM=3", "-DMAXBLOCKS=80",
        "-DIONMAX=13", f"-I{flash}", f"-I{modules[0].parent}", *parts[:-1],
        "-L/usr/lib/x86_64-linux-gnu/openmpi/lib", "-lpnetcdf", compiler="mpif90.openmpi",
    )  # fmt: skip
    assert len(compare(place, "FLASH-IO", program, "flash_")) == 3


if __name__ == "__main__":
    main({"hdf5": parallel_tests, "netcdf": netcdf, "pnetcdf": pnetcdf})
