"""What kind of wrapper a call of HDF5 or MPI has."""

from __future__ import annotations

from call_signatures import Call

LAYER_NAMES = {"hdf5": "kHdf5", "mpi": "kMpiIo"}
# Integers that mean the same under different values in the MPIs' ABIs (mpi_abi.h).
COMMON_INTEGERS = ("amode", "whence", "thread_level")
OF_DATASETS = ("H5Dcreate2", "H5Dopen2", "H5Dread", "H5Dwrite", "H5Dclose")


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
    of_datasets = call.name.startswith(("H5Dopen", "H5Dcreate")) or call.name.endswith("close")
    return bool(call.flags & {"transfer", "often"}) or of_datasets


def calls_back(call: Call) -> bool:
    """It may call functions of the program's, which call what is wrapped."""
    return "calls_back" in call.flags


def stays_in_memory(call: Call) -> bool:
    """A call of HDF5 on dataspaces or property lists: no file of the program's is touched."""
    return call.name.startswith(("H5S", "H5P")) and not calls_back(call)


def is_left(call: Call) -> bool:
    """Where a sample is recorded the caller makes it without us (leave_to_caller).

    One that makes no calls which are wrapped: some on property lists look for plugins.
    """
    return call.name.startswith("H5S") and stays_in_memory(call)


def is_learnt_from(call: Call) -> bool:
    """Other calls are not recorded where a sample is: a dataset's space is asked all the time."""
    return not stays_in_memory(call) and not call.name.startswith("H5Dget_space")


def is_of_file(call: Call) -> bool:
    """A call on an MPI file, which HDF5 makes as well."""
    return call.name.startswith("MPI_File_")


def is_transfer_of_file(call: Call) -> bool:
    return is_of_file(call) and "transfer" in call.flags


def is_ordered(call: Call) -> bool:
    """Ranks move their parts one behind the other."""
    return "ordered" in call.flags


def has_small_form(call: Call) -> bool:
    """Whether an MPI older than 4 has the call with an int as count, by the name without _c."""
    return is_of_file(call) and call.name.endswith("_c")


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
    if "transfer" in call.flags:
        return LAYER_NAMES[call.layer]
    return "kOften" if "often" in call.flags else "kControl"


def exported_names(call: Call) -> list[str]:
    profiling = [f"P{call.name}"] if call.layer == "mpi" else []
    return [call.name, *call.aliases, *profiling]
