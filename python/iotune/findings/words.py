"""What docs/findings.md and `iotune advise --explain` say of each id beside its advice.

Numbers come from thresholds.py, so that the page cannot differ from what is looked for.
"""

from __future__ import annotations

from dataclasses import dataclass

from iotune.findings import thresholds as limit
from iotune.reports.tables import size_text


@dataclass(frozen=True)
class Words:
    """Three paragraphs of a page."""

    means: str
    measured: str
    leave: str  # when it does not matter


def _size(count: float) -> str:
    """1 MiB, not 1.0 MiB: a threshold is a round number."""
    return size_text(count).replace(".0 ", " ")


_SMALL = _size(limit.SMALL_BYTES)
_OF_PROGRAM = (
    "Counted are calls of POSIX and independent ones of MPI-IO that the program makes itself, in "
    "one file and direction"
)

WORDS = {
    "metadata-time": Words(
        "Opening, asking, syncing and closing wait for a metadata server, which all jobs share.",
        "In the totals of a log (docs/import.md) a rank spends at least "
        f"{limit.METADATA_SECONDS:g} s and {limit.METADATA_OF_RUN:.0%} of the run in such calls, "
        "and less in reads and writes.",
        "A program that looks at many files and reads few of them.",
    ),
    "small-writes": Words(
        "Each request has a price of its own, which small ones pay for few bytes.",
        f"{_OF_PROGRAM}: at least {limit.FEW_SMALL_CALLS} of them, and "
        f"{limit.SMALL_SHARE:.0%} of all, are below {_SMALL}.",
        "Small writes one behind the other to a local disk: the page cache joins them.",
    ),
    "small-reads": Words(
        "Each request has a price of its own, which small ones pay for few bytes.",
        f"{_OF_PROGRAM}: at least {limit.FEW_SMALL_CALLS} of them, and "
        f"{limit.SMALL_SHARE:.0%} of all, are below {_SMALL}.",
        "Small reads one behind the other of a local disk: the kernel reads ahead of them.",
    ),
    "random-reads": Words(
        "Neither the kernel nor a storage server can read ahead, and disks seek.",
        f"{limit.RANDOM_SHARE:.0%} of a file's reads, and {limit.FEW_RANDOM_CALLS} at least, "
        "neither begin where the one before ended nor keep the distance of the one before; "
        f"{_size(limit.RANDOM_BYTES)} at most on average. Reads of HDF5 count where a transfer "
        "makes four of them at most.",
        "A file that is in memory, or on flash storage of the node with many reads under way.",
    ),
    "random-writes": Words(
        "Storage cannot join such writes, and disks seek.",
        f"{limit.RANDOM_SHARE:.0%} of a file's writes, and {limit.FEW_RANDOM_CALLS} at least, "
        "neither begin where the one before ended nor keep the distance of the one before; "
        f"{_size(limit.RANDOM_BYTES)} at most on average.",
        "Where they are far fewer than the page cache can hold until they are all there.",
    ),
    "misaligned": Words(
        "A request that ends inside a block shares it with the next one. Two ranks that write "
        "into one block wait for its lock, and a part of a block may have to be read first.",
        f"At least {limit.FEW_MISALIGNED_CALLS} requests of a block and more, and "
        f"{limit.MISALIGNED_SHARE:.0%} of all, begin or end inside one. A block is the file's "
        "stripe on Lustre and CephFS, else 4 KiB. Without stripes only writes count that "
        "no collective transfer made: of several processes, or with gaps between them. On a disk "
        f"of the node only those with gaps, of {_size(limit.LARGE_LOCAL_BYTES)} at most on "
        "average.",
        "Without stripes the severity is low.",
    ),
    "repeated-reads": Words(
        "A process reads bytes again that it has had before.",
        f"What a process reads of a file is {limit.REPEATED_SHARE:.0%} more than the different "
        f"bytes of it, and {_size(limit.REPEATED_BYTES)} more at least. Reads that HDF5 and "
        "MPI-IO make in order to write do not count.",
        "Where it would not fit into memory, or another program changes the file meanwhile.",
    ),
    "repeated-epochs": Words(
        "A program that trains reads its data once an epoch, and each time waits for storage.",
        "Epochs are found by the reads alone (`iotune show` lists them), but not in MPI programs. "
        f"In those behind the first one {limit.EPOCH_WAIT_SHARE:.0%} of the processes' time at "
        f"least is inside of reads. A read takes {limit.WAITED_READ_SECONDS * 1e6:.0f} µs or more "
        f"on average, and they bring less than {_size(limit.MEMORY_RATE)} a second. Fewer than "
        f"{limit.EPOCH_AHEAD_SHARE:.0%} of all reads were there before they were asked for.",
        "Where the next batch is ready before the step before it ends: workers that do nothing but "
        "read are inside of reads all the time, and nobody waits for them.",
    ),
    "shared-reads": Words(
        "Each rank reads what the others read as well: the storage serves it once for each.",
        f"Different bytes of each process, added up, are {limit.REPEATED_SHARE:.0%} more than "
        f"those of all together, and {_size(limit.REPEATED_BYTES)} more at least.",
        "Ranks of one node that share its page cache, for a file that is read once.",
    ),
    "repeated-writes": Words(
        "A process writes over what it has written itself.",
        f"What a process writes to a file is {limit.REPEATED_SHARE:.0%} more than the different "
        f"bytes of it, and {_size(limit.REPEATED_BYTES)} more at least. Fill values have a "
        "finding of their own.",
        "A checkpoint that is meant to replace the one before.",
    ),
    "unordered-accesses": Words(
        "Two ranks touch the same bytes, one of them writes, and nothing orders the two: which "
        "bytes are read, or stay, differs from run to run, on every storage.",
        "Only where the order was recorded (`iotune run --order`): two accesses are not ordered "
        "under POSIX ([the models](explain/verify-models.md)). It is high whatever time it took, "
        "and medium where some of what was recorded is not understood. HDF5's own metadata, "
        "aggregators of collective transfers and the holes that data sieving writes again are "
        "left out.",
        "Where something orders them that no call shows: a socket, a file that is polled for, "
        "shared memory. `iotune verify` says what it knows nothing of.",
    ),
    "overlapping-writes": Words(
        "Two ranks write the same bytes. Whose bytes stay is not defined, unless the program "
        "orders the writes by messages or barriers.",
        "Two writes of two processes share a byte (`iotune verify` has all of them). HDF5's own "
        "metadata, aggregators of collective transfers and the holes that data sieving writes "
        "again are left out. Where the order was recorded (`iotune run --order`), what it orders "
        "is low, and the rest is [unordered-accesses](#unordered-accesses).",
        "Where ranks write one after the other on purpose, a message between them.",
    ),
    "one-rank": Words(
        "One rank reads or writes for all, while the others wait or send it their data.",
        f"Of at least {_size(limit.FEWEST_SHARED_BYTES)} in one direction one rank asks for "
        f"{limit.ONE_RANK_SHARE:.0%}. What counts is what the program asks for: aggregators of a "
        "collective transfer are none of this.",
        "Input that one rank reads and broadcasts, and output that is a small part of the run.",
    ),
    "imbalance": Words(
        "All wait for the rank that has most to do.",
        f"Of at least {_size(limit.FEWEST_SHARED_BYTES)} in one direction a rank has "
        f"{limit.IMBALANCE:g} times the mean or more; or its time in transfers of POSIX is "
        f"{limit.TIME_IMBALANCE:g} times the median, "
        f"{limit.TIME_IMBALANCE_OF_RUN:.0%} of the run and {limit.TIME_IMBALANCE_SECONDS:g} s "
        "above it. What only one rank moves is one-rank. Inside of collective calls ranks are "
        "not distinguished, and times say nothing where most ranks have none: aggregators work "
        "for all.",
        "Where the others compute meanwhile.",
    ),
    "file-per-rank": Words(
        "Each rank has files of its own, and their number grows with the ranks.",
        f"{limit.MANY_OWN_FILES} files and more are each moved by one rank, and half of all "
        "ranks have such.",
        "Files on storage of the node, and a few hundred ranks.",
    ),
    "independent-transfers": Words(
        "Ranks write or read small pieces that lie between each other's. MPI-IO can exchange "
        "them first and make few long requests, but only of a collective transfer.",
        f"At least {limit.FEW_INDEPENDENT_CALLS} independent requests of a file, of "
        f"{_size(limit.INDEPENDENT_BYTES)} at most on average, and ranks' parts of the file "
        "reach into each other. On a disk of the node the finding is a small one.",
        "On a local disk or flash of the node: collective transfers were up to five times slower "
        "there than independent ones, where pieces were large.",
    ),
    "ungathered-collectives": Words(
        "The program asks for collective transfers, and MPI-IO makes single requests of them all "
        "the same: each rank moves its own pieces. Hints say so, or MPI-IO takes it for better.",
        f"At least {limit.FEW_INDEPENDENT_CALLS} requests inside of collective calls, and "
        f"{limit.UNGATHERED_REQUESTS} for each call of a rank. They move "
        f"{_size(limit.SMALL_BYTES)} at most on average, and fill half of the part of the file "
        "that they reach. On a disk of the node the finding is a small one.",
        "On a local disk or flash of the node.",
    ),
    "shared-pointer": Words(
        "A rank that moves the shared file pointer waits for all others' turns.",
        f"{limit.SHARED_POINTER_CALLS} transfers and more of a file go by it "
        "(MPI_File_write_shared, _ordered).",
        "A log in which the order of arrival is the point.",
    ),
    "data-sieving": Words(
        "MPI-IO fills the holes between a rank's pieces: it reads the whole extent, changes the "
        "pieces and writes all of it, under a lock.",
        f"Reads inside of MPI-IO's writes: {limit.FEW_SIEVED_CALLS} at least, of "
        f"{_size(limit.FEW_SIEVED_BYTES)} and {limit.SIEVED_SHARE:.0%} of what is written.",
        "Holes that are much smaller than the pieces.",
    ),
    "narrow-striping": Words(
        "All ranks wait for one storage target, while others are idle.",
        f"A file on Lustre or CephFS with a stripe count of 1, of which a run of several ranks "
        f"moves {_size(limit.NARROW_BYTES)} and more. The layout is asked of the file as it is "
        "now, on this host.",
        "Files of one rank each, of which there are many at the same time.",
    ),
    "file-locks": Words(
        "ROMIO and OMPIO lock each transfer on NFS, and VAST's clients are NFS's.",
        "Several ranks write a file through MPI-IO, and its folder lies on nfs or vast, as this "
        "host sees it now.",
        "Small files.",
    ),
    "many-opens": Words(
        "Opening asks the metadata server, which all jobs share.",
        f"One process opens a file {limit.MANY_OPENS} times and more.",
        "On a local disk, with a few thousand opens in all.",
    ),
    "many-queries": Words(
        "stat, access and their like ask the metadata server, and for a size also the storage.",
        f"One process asks {limit.MANY_QUERIES} times and more about a file, or about paths. Where "
        "the run has arrays of zarr the advice is about chunks.",
        "On a local disk.",
    ),
    "many-syncs": Words(
        "A sync waits until all bytes have reached the storage, and nothing is joined in memory.",
        f"{limit.MANY_SYNCS} syncs and more of one process on a file (fsync, MPI_File_sync, "
        f"H5Fflush), with less than {_size(limit.BYTES_BETWEEN_SYNCS)} written between two.",
        "A journal, where each record has to survive.",
    ),
    "many-seeks": Words(
        "Each seek is a call that moves nothing, and two calls instead of one are no safe place "
        "between threads.",
        f"{limit.MANY_SEEKS} seeks and more of one process on a file, one for every two "
        "transfers at least.",
        "Mostly: a seek without a transfer costs less than a microsecond.",
    ),
    "small-files": Words(
        "A file costs several requests to the metadata server, however little is in it.",
        f"{limit.MANY_FILES} files and more of which the run moves less than "
        f"{_size(limit.SMALL_FILE_BYTES)} each, none of it beyond there. Files that are still "
        "there must be as small. Where the run has arrays of zarr the advice is about chunks.",
        "On a local disk or in memory.",
    ),
    "stdio-bulk": Words(
        "fwrite and fread go through a buffer, cannot be collective, and hide the size of what "
        "reaches the file.",
        f"{_size(limit.BULK_BYTES)} and more of a file are moved by stdio.",
        "One process that writes large pieces: the severity is low.",
    ),
    "split-collectives": Words(
        "The program asked for a collective transfer, and HDF5 made an independent one of each "
        "rank instead. Aggregators and their hints then do nothing.",
        "HDF5 says so itself of each transfer (H5Pget_mpio_actual_io_mode).",
        "Where pieces are large.",
    ),
    "scattered-selection": Words(
        "A selection joined of many pieces (H5S_SELECT_OR, points) becomes a request for each.",
        f"Half of a dataset's transfers are unions or points, of {limit.MANY_PIECES} pieces and "
        f"more on average, each of {_size(limit.SMALL_PIECE_BYTES)} at most.",
        "Where the transfer is made once, and is short.",
    ),
    "small-transfers": Words(
        "A transfer of HDF5 costs some 10 µs before a byte moves: the selection, the type, the "
        "chunk's place.",
        f"One process makes {limit.MANY_TRANSFERS} transfers and more on a dataset in one "
        f"direction, of {_SMALL} at most on average.",
        "Records that arrive one by one over a long run.",
    ),
    "type-conversion": Words(
        "The type in memory is not the type in the file: HDF5 converts each element.",
        f"Their sizes differ, or HDF5 names a conversion as the cause of an independent "
        f"transfer; {_size(limit.FILL_BYTES)} of a dataset at least.",
        "Where the file is to be smaller, with float instead of double.",
    ),
    "small-datasets": Words(
        "A dataset has a header, a name in a group, and with MPI is made by all ranks together.",
        f"{limit.MANY_SMALL_DATASETS} datasets and more of a file, of each of which less than "
        f"{_SMALL} is moved.",
        "Parameters that are written once.",
    ),
    "many-attributes": Words(
        "Attributes are metadata: each is looked for, and read by each rank.",
        f"One process makes or opens {limit.MANY_ATTRIBUTES} attributes and more of a file.",
        "One process, and a file that is written once.",
    ),
    "fill-values": Words(
        "HDF5 writes the fill value to the whole dataset when it is made, the program then "
        "writes its data over it: twice the bytes.",
        f"{_size(limit.FILL_BYTES)} and more are written inside of H5Dcreate and H5Dset_extent; "
        "in logs without HDF5's calls, by one rank before all ranks write the same bytes.",
        "Where some elements are never written, and are read.",
    ),
    "chunk-shape": Words(
        "A chunk is read whole. Reads that go across chunks need little of each.",
        f"The chunks that a process touches have {limit.CHUNK_AMPLIFICATION:g} times the bytes "
        f"that it asks for, and {_size(limit.REPEATED_BYTES)} more.",
        "Where the same file is read in several directions: then let the cache hold them.",
    ),
    "chunk-cache": Words(
        "A chunk leaves the cache before it is used again, and is read and unpacked anew.",
        "iotune plays the transfers against a cache of the size that the program or iotune set, "
        "else HDF5's default (1 MiB a dataset, from HDF5 2.0 on 8 MiB): chunks are loaded "
        f"{limit.CHUNK_LOADS:g} times each on average, "
        f"{limit.FEW_CHUNK_LOADS} times in all at least. Transfers that go past the cache "
        "(writes of parallel files, chunks larger than the cache that no filter packs) do not "
        "count.",
        "Where memory is short: a cache is one for each dataset and rank.",
    ),
    "shared-chunks": Words(
        "A compressed chunk can be packed by one rank alone. Where several have a part of it, "
        "HDF5 sends the parts to one of them in each transfer.",
        f"{limit.SHARED_CHUNKS:.0%} of the chunks of a filtered dataset are written by more than "
        f"one rank, {_size(limit.FILL_BYTES)} at least.",
        "Where the data become so much smaller that it pays.",
    ),
    "reopened-datasets": Words(
        "Opening a dataset reads its header, and closing it empties its chunk cache.",
        f"One process has a dataset open {limit.MANY_REOPENS} times and more, one time after the "
        f"other, for {limit.TRANSFERS_OF_AN_OPEN} transfers each at most.",
        "Datasets without chunks, in a loop that has other work.",
    ),
    "metadata-reads": Words(
        "Each rank opens the same objects and reads their headers by itself: as many small reads "
        "as there are ranks, at the same moment.",
        f"Two ranks and more make each {limit.METADATA_READS} reads below "
        f"{_size(limit.METADATA_READ_BYTES)} outside of transfers, and the file was opened "
        "without H5Pset_all_coll_metadata_ops.",
        "A few ranks, or a file in the page cache of one node.",
    ),
}
