"""Writes what stands in front of HDF5's calls that have no class of their own in gather/hdf5.

Usage: generate_hdf5_calls.py calls.table hdf5/calls.cpp output.cpp

A call that is not harmless lets out what is held first: one that may read a dataset's bytes, ask
where they lie, or move or free that place, and each that is not known to do none of it.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "recorder/generate"))

from call_signatures import C_TYPES, Call, TableError, read_table  # noqa: E402

# Of a dataset and a file these ask for what no write changes.
HARMLESS = {"H5Dget_space", "H5Dget_type", "H5Dget_create_plist", "H5Fget_access_plist"}
IN_MEMORY = {"space", "plist", "type", "attribute"}
NAMES = {"group", "link", "object"}


def is_harmless(call: Call) -> bool:
    means = call.meaning
    if "calls_back" in means.words:
        return False
    if means.thing in IN_MEMORY or call.name in HARMLESS:
        return True
    return means.thing in NAMES and means.verb in ("asks", "opens", "creates", "closes")


def kind_of(call: Call) -> str | None:
    """The class template in calls.h; None: nothing stands in front of the call."""
    if call.is_async:
        return "Stops"
    if call.meaning.thing == "plist" and call.meaning.verb == "changes":
        return "ChangesList"
    if is_harmless(call):
        return None
    return "CallsBack" if "calls_back" in call.meaning.words else "LetsOut"


def source(calls: list[Call]) -> str:
    lines = [
        "// Generated from recorder/calls.table by gather/generate_hdf5_calls.py.",
        "#include <sys/types.h>",
        "",
        '#include "gather/hdf5/calls.h"',
        "",
        "namespace iotune::gather {",
        "",
        "std::span<const Entry> table_calls() noexcept {",
        "  static const Entry list[] = {",
    ]
    for call in calls:
        kind = kind_of(call)
        if kind is None:
            continue
        types = [call.result, *(argument.kind for argument in call.arguments)]
        if kind == "ChangesList":
            del types[1]  # the list
        signature = ", ".join(C_TYPES[kind][0] for kind in types)
        lines.append(f'      entry<{kind}<"{call.name}", {signature}>>("{call.name}"),')
    lines += [
        "  };",
        "  return list;",
        "}",
        "",
        "}  // namespace iotune::gather",
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    table, own_source, output = map(Path, sys.argv[1:])
    own = set(re.findall(r'>\("(H5\w+)"\)', own_source.read_text()))
    try:
        calls = [call for call in read_table(table) if call.layer == "hdf5"]
    except TableError as error:
        print(error, file=sys.stderr)
        return 1
    missing = own - {call.name for call in calls}
    if missing:
        print(f"{own_source}: {', '.join(sorted(missing))}: not in {table}", file=sys.stderr)
        return 1
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(source([call for call in calls if call.name not in own]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
