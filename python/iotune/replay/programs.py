"""The C programs that are compiled at each site for its MPI and HDF5: their sources, and how."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Sequence
from pathlib import Path

from iotune.errors import Error

REPLAY = "iotune-replay"
CALLS = "iotune-replay-calls"  # of POSIX and MPI-IO: needs no HDF5
PROVE = "iotune-prove"  # of MPI-IO (proving/prover.py)
PROVE_HDF5 = "iotune-prove-hdf5"
SAMPLE = "iotune-latency-sample"  # of response times (models/latency)
PROGRAMS = (REPLAY, CALLS, PROVE, PROVE_HDF5, SAMPLE)
OF_HDF5 = (REPLAY, PROVE_HDF5)
# Before glibc 2.34 aio is in librt.
WITHOUT_HDF5 = ("-lrt",)
SHIM_FLAGS, SHIM_LIBRARIES = ("-O2", "-fPIC", "-shared"), ("-ldl",)
_CARRIED = Path(__file__).parents[1] / "kernels_src"
_REPLAYERS = ("plan_reader.c", "replay_program.c", "run_failure.c")
_PROVERS = ("prove.c", "prove_stalls.c", "run_failure.c")
_SOURCES = {
    REPLAY: (
        "hdf5_failure.c", "plan.c", "replay.c", "replay_counts.c", "replay_file.c",
        "replay_forms.c", "replay_formula.c", "replay_hdf5.c", "replay_prepare.c", *_REPLAYERS,
    ),
    CALLS: ("calls_mpi.c", "calls_plan.c", "calls_replay.c", "calls_requests.c", *_REPLAYERS),
    PROVE: ("prove_checkpoints.c", "prove_mpiio.c", "prove_shared.c", *_PROVERS),
    PROVE_HDF5: ("hdf5_failure.c", "prove_hdf5.c", "prove_hdf5_lists.c", *_PROVERS),
    SAMPLE: ("latency_sample.c", "run_failure.c"),
}  # fmt: skip


def sources_of(name: str) -> list[Path]:
    """The carried sources of one of PROGRAMS. Raises Error where they are missing."""
    sources = [_CARRIED / source for source in _SOURCES[name]]
    if not all(source.is_file() for source in sources):
        raise Error(f"the sources of {name} are missing from {_CARRIED}; reinstall iotune")
    return sources


def shim_source() -> Path | None:
    """The source of libiotune-yield.so; None where it is missing."""
    source = _CARRIED / "yield_shim.c"
    return source if source.is_file() else None


def sources_digest() -> str:
    """Of all that is carried: programs of the same digest do the same. 64 hexadecimal digits."""
    digest = hashlib.sha256()
    for path in sorted(_CARRIED.glob("*.[ch]")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def flags_of(sources: Sequence[Path]) -> list[str]:
    """How programs are compiled, before the words for HDF5."""
    return ["-O2", f"-I{sources[0].parent}"]


def compile_program(
    name: str,
    compiler: str,
    flags: Sequence[str],
    sources: Sequence[Path],
    libraries: Sequence[str],
    into: Path,
) -> None:
    """Compile `sources` into the file `into`. Raises Error with the compiler's reason."""
    command = [compiler, *flags, *map(str, sources), *libraries, "-o", str(into)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=False
        )
    except OSError as problem:
        raise Error(f"{name} cannot be compiled with {compiler}: {problem.strerror}") from None
    if done.returncode != 0:
        into.unlink(missing_ok=True)
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        # A wrapper without the compiler behind it says no word of an error.
        reason = next((line for line in lines if "error" in line), lines[-1] if lines else "")
        raise Error(f"{name} cannot be compiled with {compiler}: {reason}")
