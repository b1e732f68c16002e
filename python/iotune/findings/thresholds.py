"""From where on something is worth a finding, and why. docs/findings.md has the numbers.

They are wide on purpose: a finding that is none costs more trust than a small one that is missed.
"""

from __future__ import annotations

# --- Requests ------------------------------------------------------------
# A request costs some 0.1 to 1 ms on a parallel file system, which moves 1 GB/s and more a client:
# below 64 KiB the cost of asking outweighs that of moving. One of streams.SIZE_ENDS.
SMALL_BYTES = 65536
# Fewer are over before anybody waits for them (a header, a table of contents).
FEW_SMALL_CALLS = 500
# Of a file's calls in that direction; less is a few records beside bulk data.
SMALL_SHARE = 0.5

# Steps that repeat are strides, which storage and prefetching cope with.
RANDOM_SHARE = 0.3
FEW_RANDOM_CALLS = 100
# On average; larger ones take longer to move than to find.
RANDOM_BYTES = 1 << 20

# Requests of at least a block that do not begin or do not end on its border.
MISALIGNED_SHARE = 0.5
FEW_MISALIGNED_CALLS = 16
# On a disk of the node, on average: two blocks that are shared are nothing beside so many.
LARGE_LOCAL_BYTES = 1 << 18

# Bytes that were moved once more than needed: below this it is cheaper than to think about it.
REPEATED_BYTES = 4 << 20
# Of the bytes that are different.
REPEATED_SHARE = 0.5

# Of the time of the epochs behind the first one that their processes are inside of reads: less is
# hidden by what the workers read ahead of the step.
EPOCH_WAIT_SHARE = 0.25
# Reads that come out of the page cache take less on average, or bring more bytes a second.
WAITED_READ_SECONDS = 50e-6
MEMORY_RATE = 1 << 30
# Of the reads that were prefetched: then somebody reads ahead already.
EPOCH_AHEAD_SHARE = 0.25

# --- Ranks ---------------------------------------------------------------
# Below, the share of each rank says nothing.
FEWEST_SHARED_BYTES = 16 << 20
# Largest of a rank over the mean of all.
IMBALANCE = 2.0
# Of all bytes in one direction by one rank.
ONE_RANK_SHARE = 0.9
# The slowest rank's time in I/O over the median, where the difference is as long as …
TIME_IMBALANCE = 2.0
# … this much of the run, and this many seconds.
TIME_IMBALANCE_OF_RUN = 0.05
TIME_IMBALANCE_SECONDS = 0.5
# Files that one rank alone wrote or read: below, every file system copes.
MANY_OWN_FILES = 128
# Mean of MPI-IO's independent requests: larger ones gain nothing by two-phase I/O.
INDEPENDENT_BYTES = 1 << 20
FEW_INDEPENDENT_CALLS = 128
# Requests for each rank's part in a collective transfer: of one that is gathered some are enough.
UNGATHERED_REQUESTS = 8
SHARED_POINTER_CALLS = 64
# What was read only to be written again, of what was written.
SIEVED_SHARE = 0.05
FEW_SIEVED_CALLS = 8
FEW_SIEVED_BYTES = 1 << 18
# A file on one target that is worth more than one.
NARROW_BYTES = 64 << 20

# --- Metadata and calls that move nothing ---------------------------------
# Of one process on one file.
MANY_OPENS = 100
# Of the rank that spends most in metadata: this many seconds, and this much of the run.
METADATA_SECONDS = 1.0
METADATA_OF_RUN = 0.05
# A call that takes longer on average waits for something else: a pipe's other end, a lock.
LONGEST_METADATA_SECONDS = 5.0
MANY_QUERIES = 200
MANY_SYNCS = 16
# Between two syncs: after more bytes than these a sync is a checkpoint.
BYTES_BETWEEN_SYNCS = 16 << 20
MANY_SEEKS = 1000
MANY_FILES = 100
SMALL_FILE_BYTES = 1 << 20
# Through stdio, of a file.
BULK_BYTES = 16 << 20

# --- HDF5 ----------------------------------------------------------------
# H5Dread and H5Dwrite of one process on one dataset, each below SMALL_BYTES.
MANY_TRANSFERS = 500
MANY_SMALL_DATASETS = 100
MANY_ATTRIBUTES = 200
# Separate runs of bytes in a selection, on average, and their mean length.
MANY_PIECES = 64
SMALL_PIECE_BYTES = 65536
FILL_BYTES = 1 << 20
# Loads of a chunk over the number of different chunks.
CHUNK_LOADS = 2.0
FEW_CHUNK_LOADS = 16
# Bytes of the chunks that were touched over the bytes that were asked for, in all.
CHUNK_AMPLIFICATION = 3.0
# Of a dataset's chunks, those that more than one rank wrote or read through a filter.
SHARED_CHUNKS = 0.5
# Of a dataset by one process, each time for a few transfers.
MANY_REOPENS = 100
TRANSFERS_OF_AN_OPEN = 4
# Reads of metadata of each rank that takes part.
METADATA_READS = 100
METADATA_READ_BYTES = 4096  # a read of metadata is no larger: one of streams.SIZE_ENDS

# --- How grave it is -----------------------------------------------------
# Of the run's time, as the slowest rank spent it in these calls.
HIGH_SHARE = 0.2
MEDIUM_SHARE = 0.05
# Requests of this length and more show how fast the run's storage is: streams.SIZE_ENDS[3].
LARGE_BYTES = 1 << 20
ENOUGH_LARGE_BYTES = 16 << 20
