"""What kind of wrapper a call of HDF5 or MPI has."""

from __future__ import annotations

from call_meanings import OPENS
from call_signatures import Call

LAYER_NAMES = {"hdf5": "kHdf5", "mpi": "kMpiIo"}
# Integers that mean the same under different values in the MPIs' ABIs (mpi_abi.h).
COMMON_INTEGERS = ("amode", "whence", "thread_level")
# Hooked, and made for every dataset by programs of today.
OF_DATASETS = ("H5Dcreate2", "H5Dopen2", "H5Dread", "H5Dwrite", "H5Dclose")
# Asked for all the time where datasets are small.
SPACE_OF_DATASET = ("H5Dget_space", "H5Dget_space_async")


def is_plain(call: Call) -> bool:
    """Nothing beside the call: plain_call.h has it already."""
    if call.layer != "hdf5" or call.flags & {"before", "after", "quiet"}:
        return False
    asks_later = call.is_async and any(a.length.startswith("@") for a in call.arguments)
    return not (call.extras or call.texts or call.aliases or asks_later)


def is_for_each_dataset(call: Call) -> bool:
    """Hooked, and made for every dataset."""
    return call.name in OF_DATASETS


def is_hot(call: Call) -> bool:
    """Called for every dataset: such wrappers lie together in memory."""
    means = call.meaning
    opens_dataset = means.verb in OPENS and means.thing == "dataset"
    closes = means.verb == "closes" and means.thing != "mpi" and not means.begins
    return means.is_transfer or "often" in call.flags or opens_dataset or closes


def is_fast(call: Call) -> bool:
    """Made in loops around little work: such wrappers are compiled for speed, not for size.

    No rank waits for another in there, and no later call completes it.
    """
    if call.layer == "hdf5":
        return call.name in ("H5Dread", "H5Dwrite", "H5Sselect_hyperslab")
    if call.is_order:  # of small messages
        return True
    alone = not call.meaning.words & {"collective", "shared", "ordered", "split", "begins"}
    return is_transfer_of_file(call) and alone and not has_small_form(call)


# How order_call.h records the arguments of a call that orders processes.
ORDER_FORMS = {
    "ptr": "kPassed",
    "info": "kHandle",
    "anytype": "kPassed",
    "op": "kPassed",
    "group": "kPassed",
    "errhandler": "kHandle",
    "int": "kNumber",
    "comm": "kHandle",
    "request": "kHandle",
    "mpioff": "kLargeCount",
    "rank": "kRank",
    "tag": "kTag",
    "requestp": "kMade",
    "messagep": "kMade",
    "winp": "kMade",
    "commp": "kNewComm",
    "samecommp": "kSameComm",
    "requestof": "kUsed",
    "messageof": "kUsed",
    "commof": "kUsed",
    "winof": "kUsed",
    "requests": "kRequests",
    "status": "kStatus",
    "statuses": "kStatuses",
    "flagp": "kFlag",
    "intp": "kInt",
    "requestat": "kRequestAt",
    "requestsat": "kRequestsAt",
    "outcount": "kOutcount",
    "ints": "kInts",
    "owncount": "kOwnCount",
    "ownlargecount": "kOwnLargeCount",
    "counts": "kCounts",
    "largecounts": "kLargeCounts",
}


def calls_back(call: Call) -> bool:
    """It may call functions of the program's, which call what is wrapped."""
    return "calls_back" in call.meaning.words


def stays_in_memory(call: Call) -> bool:
    """A call of HDF5 on dataspaces or property lists: no file of the program's is touched."""
    return call.meaning.thing in ("space", "plist") and not calls_back(call)


def is_left(call: Call) -> bool:
    """Where a sample is recorded the caller makes it without us (leave_to_caller).

    One that makes no calls which are wrapped: some on property lists look for plugins. Changes of
    selections are seen all the same (known_selections.h).
    """
    return call.meaning.thing == "space" and stays_in_memory(call) and not changes_space(call)


def changes_space(call: Call) -> bool:
    """What it selects, or its extent: of its first argument."""
    return call.meaning.thing == "space" and call.meaning.verb == "changes"


# What says how large a dataset's chunk cache is, which training and advice have to know.
CHUNK_CACHES = ("H5Pset_cache", "H5Pset_chunk_cache", "H5Pcopy")


def is_learnt_from(call: Call) -> bool:
    """The other calls are not recorded where a sample is."""
    is_left_off = stays_in_memory(call) or call.name in SPACE_OF_DATASET
    return not is_left_off or call.name in CHUNK_CACHES


def is_of_file(call: Call) -> bool:
    """A call on an MPI file, which HDF5 makes as well."""
    return call.layer == "mpi" and call.meaning.thing != "mpi"


def is_transfer_of_file(call: Call) -> bool:
    return call.layer == "mpi" and call.meaning.is_transfer


def is_ordered(call: Call) -> bool:
    """Ranks move their parts one behind the other."""
    return "ordered" in call.meaning.words


def has_small_form(call: Call) -> bool:
    """Whether an MPI older than 4 has the call with an int as count, by the name without _c."""
    counts = [a.kind for a in call.arguments if a.name == call.meaning.bytes_moved[0]]
    return call.layer == "mpi" and counts == ["mpioff"]


def uses_provider(call: Call) -> bool:
    return bool(
        call.flags & {"before", "after"}
        or call.extras
        or call.texts
        or any(
            a.length.startswith("@") or a.kind in (*COMMON_INTEGERS, "sessionp", "sessionclose")
            for a in call.arguments
        )
    )


def times_of(call: Call) -> str:
    if call.meaning.is_transfer:
        return LAYER_NAMES[call.layer]
    return "kOften" if "often" in call.flags else "kControl"


def exported_names(call: Call) -> list[str]:
    profiling = [f"P{call.name}"] if call.layer == "mpi" else []
    return [call.name, *call.aliases, *profiling]
