"""Candidates that one MPI-IO or one file system reads alone.

Nothing is proven of most of them: training proves them on the storage first, or says why not. Left
out is romio_cb_pfr with what goes with it: every ROMIO that was tried crashes with it.
"""

from __future__ import annotations

from typing import Protocol

# From here on it is worth something that only the aggregators open a file.
_MANY_RANKS = 64
# To its ROMIO, which it takes on Lustre, no hints go from 5 on; from 6 on there is none.
_FIRST_OPEN_MPI_WITHOUT_HINTS = 5
_LARGE_REQUEST_BYTES = 1024 * 1024


class Shape(Protocol):
    """What the choice depends on, of candidates.Shape."""

    @property
    def write(self) -> bool: ...
    @property
    def collective(self) -> bool: ...
    @property
    def interleaved(self) -> bool: ...
    @property
    def ranks(self) -> int: ...
    @property
    def filesystem(self) -> str: ...
    @property
    def layer(self) -> str: ...
    @property
    def mpi(self) -> str: ...


# Settings, and why they may gain.
OwnHints = list[tuple[dict[str, str], str]]


def own_hints(shape: Shape) -> OwnHints:
    """Of collective transfers, the most hopeful first; empty where nobody reads any."""
    if shape.ranks < 2 or not shape.collective or shape.layer == "posix":
        return []
    open_mpi = _open_mpi_version(shape.mpi)
    found: OwnHints = []
    if shape.filesystem == "lustre" and shape.write:
        if shape.mpi.startswith("Cray MPICH"):
            found += _of_cray()
        elif open_mpi < _FIRST_OPEN_MPI_WITHOUT_HINTS:
            found += _of_lustre(shape)
    if open_mpi > 0:
        found.append(({"collective_buffering": "false"}, "each rank for itself below OMPIO"))
    elif shape.ranks >= _MANY_RANKS:
        found.append(({"romio_no_indep_rw": "true"}, "only aggregators open the file"))
    return found


def _of_lustre(shape: Shape) -> OwnHints:
    found: OwnHints = [
        ({"romio_lustre_co_ratio": str(ratio)}, f"{ratio} aggregators share a storage target")
        for ratio in (2, 4)
        if ratio <= shape.ranks
    ]
    if shape.interleaved:
        found.append(
            ({"romio_lustre_ds_in_coll": "disable"}, "no block is read before it is written")
        )
    else:
        found.append((
            {
                "romio_lustre_coll_threshold": str(_LARGE_REQUEST_BYTES),
                "romio_ds_write": "disable", "romio_cb_write": "enable",
            },
            "large requests are not exchanged",
        ))  # fmt: skip
    return found


def _of_cray() -> OwnHints:
    joined = {"romio_cb_write": "enable"}
    ahead = {"cray_cb_write_lock_mode": "2", **joined}
    return [
        ({"cray_cb_nodes_multiplier": "2"}, "2 aggregators share a storage target"),
        (ahead, "aggregators take their locks ahead"),
        ({"cray_cb_nodes_multiplier": "2", **ahead}, "2 a target, which take their locks ahead"),
    ]


def _open_mpi_version(mpi: str) -> int:
    """5 of "Open MPI v5.0.11"; 0 of any other MPI."""
    name, _, version = mpi.partition(" v")
    major = version.split(".")[0]
    return int(major) if name == "Open MPI" and major.isdigit() else 0
