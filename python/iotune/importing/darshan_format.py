"""What Darshan's logs count, by module, in the order of a record: for readers and writers.

The counters are those of Darshan's documentation (darshan-util, "Guide to darshan-parser output"),
the order is that of logs of version 3.41. What a counter's name begins with is left out here.
"""

from __future__ import annotations

from dataclasses import dataclass

# Classes of lengths, and the largest length of each: 100 is of the first; the last has none.
SIZE_CLASSES = (
    *("0_100", "100_1K", "1K_10K", "10K_100K", "100K_1M"),
    *("1M_4M", "4M_10M", "10M_100M", "100M_1G", "1G_PLUS"),
)
SIZE_ENDS = (
    *(100, 1 << 10, 10 << 10, 100 << 10, 1 << 20),
    *(4 << 20, 10 << 20, 100 << 20, 1 << 30),
)
MOST_COMMON = 4  # lengths and strides that are kept of a file
DIMENSIONS = 5  # of a dataset that are counted, the last ones


def _sizes(infix: str = "") -> list[str]:
    return [f"SIZE_{verb}_{infix}{one}" for verb in ("READ", "WRITE") for one in SIZE_CLASSES]


def _common(name: str) -> list[str]:
    return [f"{name}{i}_{what}" for what in (name, "COUNT") for i in range(1, MOST_COMMON + 1)]


def _selections() -> list[str]:
    names = []
    for i in range(1, MOST_COMMON + 1):
        names += [f"ACCESS{i}_ACCESS"]
        names += [f"ACCESS{i}_LENGTH_D{d}" for d in range(1, DIMENSIONS + 1)]
        names += [f"ACCESS{i}_STRIDE_D{d}" for d in range(1, DIMENSIONS + 1)]
    return names + [f"ACCESS{i}_COUNT" for i in range(1, MOST_COMMON + 1)]


_RANKS = ["FASTEST_RANK", "FASTEST_RANK_BYTES", "SLOWEST_RANK", "SLOWEST_RANK_BYTES"]
_RANK_TIMES = [
    *("F_FASTEST_RANK_TIME", "F_SLOWEST_RANK_TIME"),
    *("F_VARIANCE_RANK_TIME", "F_VARIANCE_RANK_BYTES"),
]
_STAMPS = [
    f"F_{verb}_{end}_TIMESTAMP"
    for end in ("START", "END")
    for verb in ("OPEN", "READ", "WRITE", "CLOSE")
]
_TIMES = [
    *(*_STAMPS, "F_READ_TIME", "F_WRITE_TIME", "F_META_TIME"),
    *("F_MAX_READ_TIME", "F_MAX_WRITE_TIME", *_RANK_TIMES),
]


@dataclass(frozen=True)
class Module:
    """A kind of records: its number and version in a log's head, and its counters."""

    name: str
    number: int
    version: int
    prefix: str = ""
    counters: tuple[str, ...] = ()
    times: tuple[str, ...] = ()


POSIX = Module(
    *("POSIX", 1, 4, "POSIX_"),
    (
        *("OPENS", "FILENOS", "DUPS", "READS", "WRITES", "SEEKS", "STATS", "MMAPS", "FSYNCS"),
        *("FDSYNCS", "RENAME_SOURCES", "RENAME_TARGETS", "RENAMED_FROM", "MODE"),
        *("BYTES_READ", "BYTES_WRITTEN", "MAX_BYTE_READ", "MAX_BYTE_WRITTEN"),
        *("CONSEC_READS", "CONSEC_WRITES", "SEQ_READS", "SEQ_WRITES", "RW_SWITCHES"),
        *("MEM_NOT_ALIGNED", "MEM_ALIGNMENT", "FILE_NOT_ALIGNED", "FILE_ALIGNMENT"),
        *("MAX_READ_TIME_SIZE", "MAX_WRITE_TIME_SIZE", *_sizes()),
        *(*_common("STRIDE"), *_common("ACCESS"), *_RANKS),
    ),
    tuple(_TIMES),
)
MPI_IO = Module(
    *("MPI-IO", 2, 3, "MPIIO_"),
    (
        *("INDEP_OPENS", "COLL_OPENS", "INDEP_READS", "INDEP_WRITES", "COLL_READS"),
        *("COLL_WRITES", "SPLIT_READS", "SPLIT_WRITES", "NB_READS", "NB_WRITES", "SYNCS"),
        *("HINTS", "VIEWS", "MODE", "BYTES_READ", "BYTES_WRITTEN", "RW_SWITCHES"),
        *("MAX_READ_TIME_SIZE", "MAX_WRITE_TIME_SIZE", *_sizes("AGG_")),
        *(*_common("ACCESS"), *_RANKS),
    ),
    tuple(_TIMES),
)
STDIO = Module(
    *("STDIO", 9, 2, "STDIO_"),
    (
        *("OPENS", "FDOPENS", "READS", "WRITES", "SEEKS", "FLUSHES", "BYTES_WRITTEN"),
        *("BYTES_READ", "MAX_BYTE_READ", "MAX_BYTE_WRITTEN", *_RANKS),
    ),
    (
        *("F_META_TIME", "F_WRITE_TIME", "F_READ_TIME"),
        *("F_OPEN_START_TIMESTAMP", "F_CLOSE_START_TIMESTAMP", "F_WRITE_START_TIMESTAMP"),
        *("F_READ_START_TIMESTAMP", "F_OPEN_END_TIMESTAMP", "F_CLOSE_END_TIMESTAMP"),
        *("F_WRITE_END_TIMESTAMP", "F_READ_END_TIMESTAMP", *_RANK_TIMES),
    ),
)
H5F = Module(
    *("H5F", 3, 3, "H5F_"),
    ("OPENS", "FLUSHES", "USE_MPIIO"),
    (
        *("F_OPEN_START_TIMESTAMP", "F_CLOSE_START_TIMESTAMP"),
        *("F_OPEN_END_TIMESTAMP", "F_CLOSE_END_TIMESTAMP", "F_META_TIME"),
    ),
)
H5D = Module(
    *("H5D", 4, 2, "H5D_"),
    (
        *("OPENS", "READS", "WRITES", "FLUSHES", "BYTES_READ", "BYTES_WRITTEN", "RW_SWITCHES"),
        *("REGULAR_HYPERSLAB_SELECTS", "IRREGULAR_HYPERSLAB_SELECTS", "POINT_SELECTS"),
        *("MAX_READ_TIME_SIZE", "MAX_WRITE_TIME_SIZE", *_sizes("AGG_"), *_selections()),
        *("DATASPACE_NDIMS", "DATASPACE_NPOINTS", "DATATYPE_SIZE"),
        *(*(f"CHUNK_SIZE_D{d}" for d in range(1, DIMENSIONS + 1)), "USE_MPIIO_COLLECTIVE"),
        *("USE_DEPRECATED", *_RANKS),
    ),
    tuple(_TIMES),
)
LUSTRE = Module(
    *("LUSTRE", 8, 1, "LUSTRE_"),
    ("OSTS", "MDTS", "STRIPE_OFFSET", "STRIPE_SIZE", "STRIPE_WIDTH"),
)
DXT_POSIX = Module("DXT_POSIX", 10, 1)
DXT_MPI_IO = Module("DXT_MPIIO", 11, 2)
HEATMAP = Module("HEATMAP", 15, 1)
