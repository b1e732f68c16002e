"""Writes docs/calls.md: what recorder/calls.table says, for readers.

Usage: generate_call_docs.py calls.table output.md
"""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

from call_meanings import WORDS, Argument, Meaning
from call_signatures import ARRAYS, Call, TableError, read_table
from generate_call_table import FORMS

LAYERS = {
    "hdf5": "HDF5",
    "mpi": "MPI and MPI-IO (PMPI_ twins too)",
    "stdio": "STDIO",
    "posix": "POSIX",
}
# Whether tests issue each call with random arguments and demand it back from the trace.
COVERED = {
    "hdf5": "tests/preload/calls/test_hdf5_calls.py issues them with random arguments, with the "
    "HDF5 that is installed and with 1.14, 2.0 and 2.2 where those can be had; a call that only "
    "some builds have (last column) where one of these is built so.",
    "mpi": "tests/mpi/mpis/test_mpi_calls.py issues each MPI_File call with random arguments, "
    "tests/mpi/mpis/test_order.py those that order processes.",
    "stdio": "tests/preload/calls/test_recording.py issues each with random arguments.",
    "posix": "tests/preload/calls/test_posix_calls.py issues each with random arguments.",
}
HEAD = """# The calls that are recorded

Made from recorder/calls.table by recorder/generate/generate_call_docs.py; a test holds it to be
true. Recorded are the arguments named here, the result, and when the call began and how long it
took: of *control* calls always, of *transfers* and the calls that go with them for the first ones
of a thread, and for all with IOTUNE_TIMING=call. Calls that order processes are recorded only where
that is asked for (`iotune run --order`). A dot marks what is found out beside the call.
The head of recorder/calls.table explains the words of the second column.
"""


# What other tracers wrap and this one leaves alone, and why (tests/structure/test_peer_calls.py
# holds that there is nothing else).
LEFT_OUT = {
    "What MPI says of itself, and operations and topologies: they move no data of files and order "
    "no ranks.": (
        "MPI_Finalized MPI_Wtime MPI_Comm_rank MPI_Comm_size MPI_Get_processor_name "
        "MPI_Comm_set_errhandler MPI_Op_create MPI_Op_free MPI_Cart_rank MPI_Cart_get "
        "MPI_Cart_shift"
    ),
    "Types and hints that MPI-IO uses: they are flattened where a file's view or a transfer uses "
    "them (iotune_view, type_bytes), and say nothing before.": (
        "MPI_Type_commit MPI_Type_contiguous MPI_Type_extent MPI_Type_free MPI_Type_hindexed "
        "MPI_Type_get_envelope MPI_Type_size MPI_Type_create_darray MPI_Info_create MPI_Info_set "
        "MPI_Info_get"
    ),
    "Single characters and words of stdio, wide characters, printf and puts on a stdout that is a "
    "file: most cost some nanoseconds each, which a wrapper would multiply, and some are macros. "
    "What they moved between two recorded calls on a stream, and until the exit, stands in the "
    "trace as one fgetc or fputc without a duration. Its time is the earliest at which it may have "
    "been moved. Where other processes write to the file too, or move the same position, it is no "
    "more than what the kernel counted for this process. Where threads use one stream at once it "
    "is not counted.": ("getc _IO_getc getw putc _IO_putc putw"),
    "A driver that HDF5 dropped before 1.10.": "H5Pset_fapl_mpiposix",
}
ALSO_LEFT_OUT = """Nor is scanf on stdin (fscanf is), and what HDF5 answers out of memory: getters
of property lists, types (H5T), identifiers (H5I), errors (H5E), plugins and connectors."""


ISSUED = Path(__file__).parents[2] / "tests" / "preload" / "programs" / "calls" / "hdf5_calls.c.in"


def wrapped(text: str, more: str = "") -> str:
    """Prose at the width of the code; `more` stands before lines after the first."""
    return textwrap.fill(
        text, 100, subsequent_indent=more, break_long_words=False, break_on_hyphens=False
    )


def not_covered(calls: list[Call]) -> list[str]:
    """The calls of HDF5 that no test issues with random arguments."""
    issued = set(re.findall(r"@\??(H5\w+)\(", ISSUED.read_text()))
    return [call.name for call in calls if call.layer == "hdf5" and call.name not in issued]


def where(call: Call) -> str:
    """Which HDF5 has the call."""
    words = []
    if call.since:
        words.append(f"from {call.since}")
    if call.until:
        words.append(f"up to {call.until}")
    if call.needs:
        words.append(call.needs.removeprefix("H5_HAVE_").removesuffix("_VFD").lower())
    return ", ".join(words)


def argument_text(argument: Argument) -> str | None:
    if FORMS.get(argument.kind, ("kNone",))[0] == "kNone":
        return None
    return argument.name + ("[]" if argument.kind in ARRAYS else "")


def meaning_text(meaning: Meaning) -> str:
    words = [word for word in WORDS if word in meaning.words]
    return " ".join([meaning.verb, meaning.thing, *words])


def row(call: Call) -> str:
    names = " ".join(f"`{name}`" for name in [call.name, *call.aliases])
    arguments = [argument_text(argument) for argument in call.arguments]
    recorded = [text for text in arguments if text is not None]
    recorded += [f".{name}" for name in [*call.extras, *call.texts]]
    times = "with transfers" if "often" in call.flags else "control"
    if call.meaning.is_transfer:
        times = "transfer"
    if call.is_order:
        times = "where order is recorded"
    if "quiet" in call.flags:
        times = "seen, not recorded"
    columns = [names, meaning_text(call.meaning), ", ".join(recorded), times]
    if call.layer == "hdf5":
        columns.append(where(call))
    return f"| {' | '.join(columns)} |"


def document(calls: list[Call]) -> str:
    parts = [HEAD]
    for layer, title in LAYERS.items():
        rows = [row(call) for call in calls if call.layer == layer]
        parts.append(f"## {title}\n" + wrapped(f"{len(rows)} calls. {COVERED[layer]}") + "\n")
        titles = ["call", "does", "recorded", "times"]
        if layer == "hdf5":
            titles.append("HDF5")
            missing = ", ".join(not_covered(calls)) or "none"
            parts.append(f"Not covered by such a test: {missing}.\n")
        parts.append(f"| {' | '.join(titles)} |\n|{' --- |' * len(titles)}")
        parts.extend(rows)
        parts.append("")
    parts.append("## Left out on purpose\n")
    for reason, names in LEFT_OUT.items():
        text = " ".join(f"`{name}`" for name in names.split())
        parts.append(wrapped(f"- {reason} {text}", "  "))
    parts.append(f"\n{ALSO_LEFT_OUT}\n")
    return "\n".join(parts)


def main() -> int:
    table, output = sys.argv[1:3]
    try:
        text = document(read_table(Path(table)))
    except TableError as error:
        print(error, file=sys.stderr)
        return 1
    Path(output).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
