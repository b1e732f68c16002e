"""Writes a file that compiles only where recorder/calls.table agrees with the real headers.

Usage: generate_header_check.py calls.table LAYER output.cpp

Checked are names, numbers and types of arguments, and results; of HDF5 those calls that its
version and configuration should have.
"""

from __future__ import annotations

import sys
from pathlib import Path

from call_signatures import C_TYPES, Call, TableError, read_table

# H5_VERS_MAJOR * 100 + H5_VERS_MINOR.
VERSION = "(H5_VERS_MAJOR * 100 + H5_VERS_MINOR)"


def number(version: str) -> int:
    major, minor = version.split(".")
    return int(major) * 100 + int(minor)


def conditions(call: Call) -> list[str]:
    found = []
    if call.since and call.layer == "mpi":
        found.append(f"MPI_VERSION >= {call.since}")
    elif call.since:
        found.append(f"{VERSION} >= {number(call.since)}")
    if call.until:
        found.append(f"{VERSION} <= {number(call.until)}")
    # What only newer MPIs have is held against those.
    if call.layer == "mpi" and call.name.endswith("_c"):
        found.append("MPI_VERSION >= 4")
    if call.name.startswith("MPI_Session"):
        found.append("defined(MPI_SESSION_NULL)")
    if call.needs:
        found.append(f"defined({call.needs})")
    return found


def check_file(calls: list[Call], layer: str) -> str:
    header = {"hdf5": "<hdf5.h>", "mpi": "<mpi.h>"}[layer]
    # Where handles are pointers, one kind must not pass for another.
    mpi_kinds = (
        *("Comm", "Info", "File", "Datatype", "Errhandler", "Request", "Message"),
        *("Op", "Group", "Win"),
    )
    kinds = mpi_kinds if layer == "mpi" else ()
    handles = " || ".join(f"std::is_same_v<Type, MPI_{kind}>" for kind in kinds) or "false"
    parts = [
        f"// Generated from recorder/calls.table: does it agree with {header}?",
        f"#include {header}",
        "#include <type_traits>",
        "",
        "// Handles and pointers to them by their real types; other pointers may differ in what",
        "// they point to, numbers of one size may differ in their names (enums).",
        "template <typename Type>",
        f"constexpr bool kHandle = {handles};",
        "template <typename Table, typename Real>",
        "constexpr bool kAgree = std::is_same_v<Table, Real> ||",
        "    (std::is_pointer_v<Table> && std::is_pointer_v<Real> && !kHandle<Table> &&",
        "     !kHandle<Real>) ||",
        "    (std::is_enum_v<Real> && sizeof(Table) == sizeof(Real)) ||",
        "    (std::is_integral_v<Table> && std::is_integral_v<Real> &&",
        "     sizeof(Table) == sizeof(Real));",
        "template <typename Table, typename Real>",
        "struct SignaturesAgree : std::false_type {};",
        "template <typename R1, typename R2, typename... A1, typename... A2>",
        "  requires(sizeof...(A1) == sizeof...(A2))",
        "struct SignaturesAgree<R1(A1...), R2(A2...)>",
        "    : std::bool_constant<kAgree<R1, R2> && (kAgree<A1, A2> && ...)> {};",
        "",
    ]
    for call in calls:
        if call.layer != layer:
            continue
        types = ", ".join(C_TYPES[a.kind][1] for a in call.arguments)
        result = C_TYPES[call.result][1]
        guards = conditions(call)
        if guards:
            parts.append(f"#if {' && '.join(guards)}")
        parts.append(
            f"static_assert(SignaturesAgree<{result}({types}), "
            f'std::remove_pointer_t<decltype(&{call.name})>>::value, "{call.name}");'
        )
        if guards:
            parts.append("#endif")
    return "\n".join(parts) + "\n"


def main() -> int:
    table, layer, output = sys.argv[1:4]
    try:
        text = check_file(read_table(Path(table)), layer)
    except TableError as error:
        print(error, file=sys.stderr)
        return 1
    Path(output).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
