"""Darshan's counters as the totals of a log: what each file was used for, without its calls.

The counters are those of Darshan's documentation (darshan-util, "Guide to darshan-parser output").
A record is of one rank, or of all ranks together where its rank is -1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Union

from iotune.importing.darshan_format import (
    H5D,
    H5F,
    MOST_COMMON,
    MPI_IO,
    POSIX,
    SIZE_CLASSES,
    STDIO,
)
from iotune.importing.lines import Malformed

Number = Union[int, float]
_ALL_RANKS = -1
_STANDARD = ("<STDIN>", "<STDOUT>", "<STDERR>")
# Module of the log -> what its counters begin with, and the layer that it is of.
_LAYERS = {
    **{POSIX.name: (POSIX.prefix, "posix"), MPI_IO.name: (MPI_IO.prefix, "mpiio")},
    **{STDIO.name: (STDIO.prefix, "stdio"), H5F.name: (H5F.prefix, "hdf5")},
    "PNETCDF_FILE": ("PNETCDF_FILE_", "pnetcdf"),
}
_PARTS = {H5D.name: (H5D.prefix, "hdf5"), "PNETCDF_VAR": ("PNETCDF_VAR_", "pnetcdf")}
MODULES = (*_LAYERS, *_PARTS, "LUSTRE")
# Counters of calls, and what they count.
_CALLS = {
    **{"OPENS": "open", "CREATES": "create", "FILENOS": "descriptor", "DUPS": "duplicate"},
    **{"FDOPENS": "stream open", "READS": "read", "WRITES": "write", "SEEKS": "seek"},
    **{"STATS": "query", "MMAPS": "mapping", "FSYNCS": "sync", "FDSYNCS": "data sync"},
    **{"RENAME_SOURCES": "new name", "FLUSHES": "flush", "SYNCS": "sync", "REDEFS": "redef"},
    **{"INDEP_OPENS": "independent open", "COLL_OPENS": "collective open"},
    **{"INDEP_READS": "independent read", "INDEP_WRITES": "independent write"},
    **{"COLL_READS": "collective read", "COLL_WRITES": "collective write"},
    **{"SPLIT_READS": "split read", "SPLIT_WRITES": "split write"},
    **{"NB_READS": "nonblocking read", "NB_WRITES": "nonblocking write"},
    **{"INDEP_WAITS": "independent wait", "COLL_WAITS": "collective wait"},
    **{"VIEWS": "set view", "HINTS": "hint"},
    **{"REGULAR_HYPERSLAB_SELECTS": "hyperslab", "IRREGULAR_HYPERSLAB_SELECTS": "union"},
    "POINT_SELECTS": "points",
}
# Sums over all records of a file.
_SUMS = {
    **{"BYTES_READ": "bytes_read", "BYTES_WRITTEN": "bytes_written", "RW_SWITCHES": "switches"},
    **{"CONSEC_READS": "consecutive_reads", "CONSEC_WRITES": "consecutive_writes"},
    **{"SEQ_READS": "sequential_reads", "SEQ_WRITES": "sequential_writes"},
    **{"FILE_NOT_ALIGNED": "misaligned", "MEM_NOT_ALIGNED": "misaligned_memory"},
    **{"F_READ_TIME": "read_seconds", "F_WRITE_TIME": "write_seconds"},
    "F_META_TIME": "meta_seconds",
}
_LARGEST = {
    **{"FILE_ALIGNMENT": "alignment_bytes", "MEM_ALIGNMENT": "memory_alignment_bytes"},
    **{"MAX_BYTE_READ": "last_byte_read", "MAX_BYTE_WRITTEN": "last_byte_written"},
    **{"F_MAX_READ_TIME": "longest_read_seconds", "F_MAX_WRITE_TIME": "longest_write_seconds"},
    **{"F_VARIANCE_RANK_TIME": "rank_seconds_variance"},
    **{"F_CLOSE_END_TIMESTAMP": "end_seconds", "F_WRITE_END_TIMESTAMP": "end_seconds"},
    "F_READ_END_TIMESTAMP": "end_seconds",
}
_LEAST = ("F_OPEN_START_TIMESTAMP", "F_READ_START_TIMESTAMP", "F_WRITE_START_TIMESTAMP")
_BY_LAYER = ("mpiio", "pnetcdf", "stdio")  # of which the bytes are, in a log without POSIX


class DarshanTotals:
    """Takes all records of a log; made() is what the trace keeps of them."""

    def __init__(self) -> None:
        self.ranks = 1
        self.seconds = 0.0
        self.cut: list[str] = []  # modules of which Darshan's memory was full
        self.modules: list[str] = []
        self.mounts: list[tuple[str, str]] = []
        self._files: dict[str, dict[str, Any]] = {}
        self._by_rank: dict[int, list[float]] = {}
        self._heat: dict[str, Any] = {}

    @property
    def is_empty(self) -> bool:
        return not self._files

    def take(self, module: str, rank: int, name: str, counters: Mapping[str, Any]) -> None:
        """A record. Raises Malformed for values that cannot be."""
        if not _ALL_RANKS <= rank < max(self.ranks, 1):
            raise Malformed(f"rank {rank} of a run of {self.ranks}")
        if module == "LUSTRE":
            self._stripes(name, counters)
        elif module in _LAYERS:
            prefix, layer = _LAYERS[module]
            use = self._file(name)["layers"].setdefault(layer, {"layer": layer})
            self._add(use, prefix, rank, counters)
            if layer in ("posix", "stdio") and rank >= 0:
                self._of_rank(rank, prefix, counters)
        elif module in _PARTS:
            self._part(module, rank, name, counters)

    def heat(self, name: str, width: float, read: list[int], written: list[int]) -> None:
        """Bytes of one rank in bins of the run's time. Of several layers that of POSIX counts."""
        if "posix" not in name.lower() or width <= 0:
            return
        heat = self._heat or {"width_seconds": width, "read": [], "written": []}
        for key, more in (("read", read), ("written", written)):
            heat[key] += [0] * (len(more) - len(heat[key]))
            for place, size in enumerate(more):
                heat[key][place] += size
        self._heat = heat

    def mode(self, path: str, writes: bool) -> str:
        """collective, independent, mixed, or unknown: of MPI-IO's transfers of a file."""
        use = self._files.get(path, {"layers": {}})["layers"].get("mpiio")
        calls = use["calls"] if use else {}
        verb = "write" if writes else "read"
        together = calls.get(f"collective {verb}", 0) + calls.get(f"split {verb}", 0)
        alone = calls.get(f"independent {verb}", 0) + calls.get(f"nonblocking {verb}", 0)
        if together and alone:
            return "mixed"
        return "collective" if together else "independent" if alone else "unknown"

    def alone(self, traced: set[str]) -> tuple[int, int]:
        """Of the files that moved bytes and are not among `traced`: how many, and their bytes."""
        moved = [
            _all_bytes(one)
            for path, one in self._files.items()
            if path not in traced and path not in _STANDARD
        ]
        return sum(1 for size in moved if size), sum(moved)

    def of_stdio(self) -> tuple[int, int]:
        """The files that stdio moved bytes of, and these bytes."""
        used = [
            one["layers"]["stdio"]
            for path, one in self._files.items()
            if "stdio" in one["layers"] and path not in _STANDARD
        ]
        moved = [one.get("bytes_read", 0) + one.get("bytes_written", 0) for one in used]
        return sum(1 for size in moved if size), sum(moved)

    def made(self) -> dict[str, Any]:
        """Plain values: traces/log_totals.py reads them."""
        files = []
        for path, one in self._files.items():
            made = {**one, **self._of_file(one), "layers": list(one["layers"].values())}
            made["datasets"] = list(one["datasets"].values())
            system = _system_of(path, self.mounts)
            if system:
                made["file_system"] = system
            for use in made["layers"]:
                _close(use)
            files.append({key: value for key, value in made.items() if value != []})
        return {
            "seconds": self.seconds,
            "modules": self.modules,
            "files": files,
            "by_rank": {str(rank): sums for rank, sums in sorted(self._by_rank.items())},
            "heatmap": self._heat or None,
        }

    def _file(self, path: str) -> dict[str, Any]:
        return self._files.setdefault(path, {"path": path, "layers": {}, "datasets": {}})

    def _of_file(self, one: Mapping[str, Any]) -> dict[str, Any]:
        """The bytes that reached the file, and how long its slowest rank was busy with it.

        Bytes are those of POSIX. Those of stdio stand beside them, unless the log has no POSIX, and
        so do MPI-IO's. Times are of the outermost library, as far as it was timed.
        """
        layers: Mapping[str, Mapping[str, Any]] = one["layers"]
        has_posix = "POSIX" in self.modules
        moved = {}
        for key in ("bytes_read", "bytes_written"):
            sizes = (layers.get(name, {}).get(key, 0) for name in _BY_LAYER)
            moved[key] = (
                layers.get("posix", {}).get(key, 0) if has_posix else next(filter(None, sizes), 0)
            )
        stdio = layers.get("stdio", {})
        beside = has_posix and (stdio.get("bytes_read", 0) or stdio.get("bytes_written", 0))
        timed = [layers[name] for name in ("mpiio", "posix") if name in layers][:1]
        timed += [stdio]
        begins = [use["begin_seconds"] for use in layers.values() if "begin_seconds" in use]
        ends = [use["end_seconds"] for use in layers.values() if "end_seconds" in use]
        return {
            **moved,
            "stdio_beside": bool(beside),
            "io_seconds": sum(use.get("slowest", {}).get("seconds", 0.0) for use in timed),
            "begin_seconds": min(begins, default=0.0),
            "end_seconds": max(ends, default=0.0),
            "is_standard": one["path"] in _STANDARD,
        }

    def _stripes(self, path: str, counters: Mapping[str, Any]) -> None:
        words = {key.replace("_COMP_", "_"): value for key, value in counters.items()}
        size = words.get("LUSTRE_STRIPE_SIZE", 0)
        # Before composite layouts were known, the count was called a width.
        count = words.get("LUSTRE_STRIPE_COUNT", words.get("LUSTRE_STRIPE_WIDTH", 0))
        if size > 0:
            targets = sorted(set(words.get("osts", ())))
            self._file(path)["stripes"] = {
                "stripe_bytes": size,
                "stripe_count": count if count > 0 else len(targets),
                "targets": targets,
            }

    def _part(self, module: str, rank: int, name: str, counters: Mapping[str, Any]) -> None:
        prefix, layer = _PARTS[module]
        path = str(counters.get("file", "")) or name.rpartition(":")[0] or name
        inside = name.removeprefix(path).removeprefix(":") or name
        dataset = self._file(path)["datasets"].setdefault(
            inside, {"name": inside, "layer": layer, "element_bytes": 0}
        )
        self._add(dataset, prefix, rank, counters)
        dataset["element_bytes"] = counters.get(prefix + "DATATYPE_SIZE", 0)
        dataset["dimensions"] = counters.get(
            prefix + ("DATASPACE_NDIMS" if module == "H5D" else "NDIMS"), 0
        )
        dataset["elements"] = counters.get(
            prefix + ("DATASPACE_NPOINTS" if module == "H5D" else "NPOINTS"), 0
        )
        chunk = [counters.get(f"{prefix}CHUNK_SIZE_D{i}", 0) for i in range(5, 0, -1)]
        dataset["chunk"] = [one for one in chunk if one]
        dataset["collective"] = bool(counters.get(prefix + "USE_MPIIO_COLLECTIVE", 0))

    def _add(
        self, use: dict[str, Any], prefix: str, rank: int, counters: Mapping[str, Any]
    ) -> None:
        said = {
            key[len(prefix) :]: value
            for key, value in counters.items()
            if key.startswith(prefix) and isinstance(value, (int, float))
        }
        calls = use.setdefault("calls", {})
        for key, value in said.items():
            if value != value or value < 0:  # not a number; Darshan's -1: not counted
                continue
            if key in _CALLS:
                calls[_CALLS[key]] = calls.get(_CALLS[key], 0) + value
            elif key in _SUMS:
                use[_SUMS[key]] = use.get(_SUMS[key], 0) + value
            elif key in _LARGEST:
                use[_LARGEST[key]] = max(use.get(_LARGEST[key], 0), value)
        begins = [said[key] for key in _LEAST if said.get(key, 0) > 0]
        if begins:
            use["begin_seconds"] = min(use.get("begin_seconds", min(begins)), *begins)
        _add_sizes(use, said)
        _add_common(use, "common_sizes", said, "ACCESS{}_ACCESS", "ACCESS{}_COUNT")
        _add_common(use, "common_strides", said, "STRIDE{}_STRIDE", "STRIDE{}_COUNT")
        self._add_ranks(use, rank, said)

    def _add_ranks(self, use: dict[str, Any], rank: int, said: Mapping[str, Any]) -> None:
        if rank == _ALL_RANKS:
            use["ranks"] = self.ranks
            for which in ("FASTEST", "SLOWEST"):
                seconds = said.get(f"F_{which}_RANK_TIME", 0)
                if seconds > 0:
                    use[which.lower()] = {
                        "rank": said.get(f"{which}_RANK", 0),
                        "bytes": said.get(f"{which}_RANK_BYTES", 0),
                        "seconds": seconds,
                    }
            return
        # Beside a record of all ranks, which Darshan may leave a rank's own.
        use["ranks"] = min(use.get("ranks", 0) + 1, max(self.ranks, 1))
        own = {
            "rank": rank,
            "bytes": said.get("BYTES_READ", 0) + said.get("BYTES_WRITTEN", 0),
            "seconds": _seconds(said),
        }
        if "slowest" not in use or own["seconds"] > use["slowest"]["seconds"]:
            use["slowest"] = own
        if "fastest" not in use or own["seconds"] < use["fastest"]["seconds"]:
            use["fastest"] = own

    def _of_rank(self, rank: int, prefix: str, counters: Mapping[str, Any]) -> None:
        """Of a rank by itself: bytes read, bytes written, seconds in transfers, in others."""
        sums = self._by_rank.setdefault(rank, [0, 0, 0.0, 0.0])
        sums[0] += max(0, counters.get(prefix + "BYTES_READ", 0))
        sums[1] += max(0, counters.get(prefix + "BYTES_WRITTEN", 0))
        for key in ("F_READ_TIME", "F_WRITE_TIME"):
            sums[2] += counters.get(prefix + key, 0.0)
        sums[3] += counters.get(prefix + "F_META_TIME", 0.0)


def _seconds(said: Mapping[str, Any]) -> float:
    return float(sum(said.get(f"F_{key}_TIME", 0.0) for key in ("READ", "WRITE", "META")))


def _add_sizes(use: dict[str, Any], said: Mapping[str, Any]) -> None:
    for verb, key in (("READ", "read_sizes"), ("WRITE", "write_sizes")):
        found = [
            said.get(f"SIZE_{verb}_{name}", 0) + said.get(f"SIZE_{verb}_AGG_{name}", 0)
            for name in SIZE_CLASSES
        ]
        if any(found):
            before = use.get(key, [0] * len(found))
            use[key] = [one + more for one, more in zip(before, found)]


def _add_common(
    use: dict[str, Any], key: str, said: Mapping[str, Any], value: str, count: str
) -> None:
    found = Counter(dict(use.get(key, ())))
    for place in range(1, MOST_COMMON + 1):
        times = said.get(count.format(place), 0)
        if times > 0:
            found[said.get(value.format(place), 0)] += times
    if found:
        use[key] = [list(one) for one in found.most_common()]


def _close(use: dict[str, Any]) -> None:
    for key in ("common_sizes", "common_strides"):
        if key in use:
            use[key] = use[key][:MOST_COMMON]


def _all_bytes(one: Mapping[str, Any]) -> int:
    """Of a file, stdio's with those of the library above it."""
    sizes = {
        layer: int(use.get("bytes_read", 0) + use.get("bytes_written", 0))
        for layer, use in one["layers"].items()
    }
    below = sizes.pop("stdio", 0)
    return below + (sizes.get("posix") or max(sizes.values(), default=0))


def _system_of(path: str, mounts: list[tuple[str, str]]) -> str:
    """The kind of file system of the longest mount point that a path is below; "": unknown."""
    best = ("", "")
    for point, kind in mounts:
        below = path == point or path.startswith(point.rstrip("/") + "/")
        if below and len(point) > len(best[0]):
            best = (point, kind)
    return best[1]
