"""Writes docs/calls.md: what recorder/calls.table says, for readers.

Usage: generate_call_docs.py calls.table output.md
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from call_signatures import Argument, Call, TableError, read_table  # noqa: E402

LAYERS = {
    "hdf5": "HDF5",
    "mpi": "MPI and MPI-IO (PMPI_ twins too)",
    "stdio": "STDIO",
    "posix": "POSIX",
}
# Whether tests issue each call with random arguments and demand it back from the trace.
COVERED = {
    "hdf5": "Not each of them is issued with random arguments by a test yet.",
    "mpi": "tests/mpi/test_mpi_calls.py issues each MPI_File call with random arguments, but for "
    "MPI_File_delete, MPI_File_set_view and MPI_File_set_info.",
    "stdio": "tests/preload/test_recording.py issues them with random arguments.",
    "posix": "tests/preload/test_recording.py issues most of them, with arguments that are known.",
}
HEAD = """# The calls that are recorded

Made from recorder/calls.table by recorder/generate/generate_call_docs.py; a test holds it to be
true. Recorded are the arguments named here, the result, and when the call began and how long it
took: of *control* calls always, of *transfers* and the calls that go with them for the first ones
of a thread, and for all with IOTUNE_TIMING=call. A dot marks what is found out beside the call.
"""


def argument_text(argument: Argument) -> str | None:
    if argument.kind in ("ptr", "file", "dimsout"):
        return None
    return argument.name + ("[]" if argument.kind == "dims" else "")


def row(call: Call) -> str:
    names = " ".join(f"`{name}`" for name in [call.name, *call.aliases])
    arguments = [argument_text(argument) for argument in call.arguments]
    recorded = [text for text in arguments if text is not None]
    recorded += [f".{name}" for name in [*call.extras, *call.texts]]
    times = "transfer" if "transfer" in call.flags else "with transfers"
    if not call.flags & {"transfer", "often"}:
        times = "control"
    if "quiet" in call.flags:
        times = "seen, not recorded"
    return f"| {names} | {', '.join(recorded)} | {times} |"


def document(calls: list[Call]) -> str:
    parts = [HEAD]
    for layer, title in LAYERS.items():
        rows = [row(call) for call in calls if call.layer == layer]
        parts.append(f"## {title}\n{len(rows)} calls. {COVERED[layer]}\n")
        parts.append("| call | recorded | times |\n| --- | --- | --- |")
        parts.extend(rows)
        parts.append("")
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
