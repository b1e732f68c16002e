"""Writes call_table.cpp, call_numbers.h and call_meanings.h from recorder/calls.table.

usage: generate_call_table.py calls.table output-folder
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

from call_meaning_source import (
    Places,
    meaning_row,
    meanings_header,
    names_of_words,
    places_of,
)
from call_meanings import Argument, Meaning, parsed
from call_signatures import Call, TableError, read_table

LAYER_NAMES = {
    "hdf5": "kHdf5",
    "mpi": "kMpiIo",
    "stdio": "kStdio",
    "posix": "kPosix",
    "iotune": "kIotune",
}

# kind: (form, style). MPI's handles are words whose digits mean something in hex only.
FORMS = {
    "hid": ("kNumber", "kHandle"),
    "int": ("kNumber", "kSigned"),
    "uint": ("kNumber", "kUnsigned"),
    "enum": ("kNumber", "kSigned"),
    "hbool": ("kNumber", "kSigned"),
    "hsize": ("kNumber", "kUnsigned"),
    "size": ("kNumber", "kUnsigned"),
    "ssize": ("kNumber", "kSigned"),
    "double": ("kNumber", "kDouble"),
    "htri": ("kNumber", "kSigned"),
    "hssize": ("kNumber", "kSigned"),
    "haddr": ("kNumber", "kHex"),
    "uint64": ("kNumber", "kUnsigned"),
    # Signed: H5S_UNLIMITED reads as -1.
    "dims": ("kArray", "kSigned"),
    "hids": ("kArray", "kSigned"),
    "uints": ("kArray", "kSigned"),
    "sizep": ("kNumber", "kSigned"),
    "uintp": ("kNumber", "kSigned"),
    "hboolp": ("kNumber", "kSigned"),
    "cstr": ("kText", "kSigned"),
    "ptr": ("kNone", "kSigned"),
    "comm": ("kNumber", "kHex"),
    "info": ("kNumber", "kHex"),
    "fh": ("kNumber", "kHex"),
    "fhp": ("kNumber", "kHex"),
    "fhclose": ("kNumber", "kHex"),
    "dtype": ("kNumber", "kHex"),
    "mpioff": ("kNumber", "kSigned"),
    "errhandler": ("kNumber", "kHex"),
    "sessionp": ("kNumber", "kHex"),
    "sessionclose": ("kNumber", "kHex"),
    "amode": ("kNumber", "kHex"),
    "whence": ("kNumber", "kSigned"),
    "thread_level": ("kNumber", "kSigned"),
    "anytype": ("kNone", "kSigned"),
    "rank": ("kNumber", "kSigned"),
    "tag": ("kNumber", "kSigned"),
    "request": ("kNumber", "kHex"),
    "requestp": ("kNumber", "kHex"),
    "requestof": ("kNumber", "kHex"),
    "requests": ("kArray", "kHex"),
    "messagep": ("kNumber", "kHex"),
    "messageof": ("kNumber", "kHex"),
    "status": ("kNone", "kSigned"),
    "statuses": ("kArray", "kSigned"),
    "flagp": ("kNone", "kSigned"),
    "intp": ("kNumber", "kSigned"),
    "outcount": ("kNumber", "kSigned"),
    "ints": ("kArray", "kSigned"),
    "op": ("kNone", "kSigned"),
    "group": ("kNone", "kSigned"),
    "owncount": ("kNumber", "kSigned"),
    "counts": ("kArray", "kHex"),
    "ownlargecount": ("kNumber", "kSigned"),
    "largecounts": ("kArray", "kHex"),
    "commp": ("kNumber", "kHex"),
    "samecommp": ("kNumber", "kHex"),
    "commof": ("kNumber", "kHex"),
    "winp": ("kNumber", "kHex"),
    "winof": ("kNumber", "kHex"),
    "requestat": ("kNumber", "kHex"),
    "requestsat": ("kArray", "kHex"),
    "fd": ("kKey", "kSigned"),
    "off": ("kNumber", "kSigned"),
    "mode": ("kNumber", "kHex"),
}
# Bit masks that a table of kinds calls int or uint.
# Of the records of a ring (FORMAT.md). A buffer of another layout must be taken for another
# version's: any change of it counts this up.
RING_LAYOUT = 3

MASKS = {"flags"}


@dataclass(frozen=True)
class Recorded:
    """An argument as it stands in a recorded call."""

    name: str
    form: str
    style: str


@dataclass
class Entry:
    """One element of call_table()."""

    name: str
    layer: str
    result_style: str
    arguments: list[Recorded]
    meaning: Meaning
    places: Places
    extras: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    order: bool = False


# FORMAT.md, "Pseudo calls". They have no result. Name, meaning, arguments.
PSEUDO_CALLS = [
    (
        "iotune_dataset",
        "notes dataset",
        "key:object handle:dataset number:element_bytes number:type_class "
        "number:layout number:filters array:dims array:chunk extra:address text:file text:path",
    ),
    ("iotune_file", "notes file", "key:file handle:handle number:layer text:path"),
    (
        "iotune_view",
        "notes view on(file)",
        "handle:file number:displacement number:etype_bytes number:data_bytes number:tile_bytes "
        "number:kind array:layout",
    ),
    (
        "iotune_setting",
        "notes setting",
        "number:verdict text:file text:parameter text:wanted text:got text:reason",
    ),
    (
        "iotune_decision",
        "notes decision",
        "number:row number:distance_thousandths number:state text:file "
        "text:source text:pattern text:message",
    ),
    ("iotune_decision_again", "notes decision_again", "handle:file number:digest"),
    ("iotune_unsampled", "notes sampled_out", "handle:file"),
    # As earlier builds say it.
    ("iotune_sampled_out", "notes sampled_out", "text:file"),
    (
        "iotune_prefetch",
        "notes prefetch",
        "key:file handle:fd number:reads number:hits number:late number:requested "
        "number:requested_bytes number:unused_bytes number:wait_ns number:saved_ns number:depth "
        "number:served text:predictor",
    ),
    # recorder/regions; regions.cpp knows the places of what iotune_regions counts.
    (
        "iotune_region_begin",
        "notes region_begin",
        "number:region number:parent number:value text:name",
    ),
    (
        "iotune_region_end",
        "notes region_end",
        "number:region number:parent number:value number:region_ns number:io_ns number:calls "
        "number:bytes_read number:bytes_written text:name",
    ),
    (
        "iotune_regions",
        "notes region_sum",
        "number:region number:parent number:count number:region_ns number:least_ns "
        "number:largest_ns number:io_ns number:calls number:bytes_read number:bytes_written "
        "number:before_ns number:span_ns number:first_value number:last_value text:name",
    ),
    (
        "iotune_gather",
        "notes gather",
        "number:not_held number:held number:held_bytes number:served number:flushes "
        "number:exchange_calls number:exchange_bytes number:piece_writes number:piece_bytes "
        "number:alone_writes number:alone_bytes number:waiting_bytes text:file text:reason",
    ),
]
PSEUDO_FORMS = {
    "key": ("kKey", "kSigned"),
    "handle": ("kNumber", "kHandle"),
    "number": ("kNumber", "kSigned"),
    "array": ("kArray", "kSigned"),
    "text": ("kText", "kSigned"),
}


def recorded(argument: Argument) -> Recorded:
    form, style = FORMS[argument.kind]
    if form == "kNumber" and argument.name in MASKS:
        style = "kHex"
    return Recorded(argument.name, form, style)


def entry_of(call: Call) -> Entry:
    arguments = [recorded(argument) for argument in call.arguments]
    forms = [argument.form for argument in arguments]
    return Entry(
        name=call.name,
        layer=LAYER_NAMES[call.layer],
        result_style=FORMS[call.result][1],
        arguments=arguments,
        meaning=call.meaning,
        places=places_of(call.meaning, call.arguments, forms, call.extras, call.texts),
        extras=call.extras,
        texts=call.texts,
        order=call.is_order,
    )


def pseudo_entries() -> list[Entry]:
    entries = []
    for name, said, words in PSEUDO_CALLS:
        arguments: list[Recorded] = []
        named: list[Argument] = []
        extras: list[str] = []
        for word in words.split():
            kind, _, argument = word.partition(":")
            if kind == "extra":  # later builds than the first have it
                extras.append(argument)
                continue
            form, style = PSEUDO_FORMS[kind]
            arguments.append(Recorded(argument, form, style))
            named.append(Argument(kind, argument))
        meaning, forms = parsed(said), [argument.form for argument in arguments]
        places = places_of(meaning, named, forms, extras, [], has_result=False)
        entries.append(Entry(name, "kIotune", "kSigned", arguments, meaning, places, extras))
    return entries


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def names_array(symbol: str, names: list[str]) -> list[str]:
    if not names:
        return []
    inner = ", ".join(f'"{name}"' for name in names)
    return [f"constexpr std::string_view {symbol}[] = {{{inner}}};"]


def table_source(entries: list[Entry]) -> str:
    lines = [
        "// Generated from recorder/calls.table: edit that.",
        '#include "recorder/call_table.h"',
        "",
        '#include "recorder/call_meanings.h"',
        "",
        "namespace iotune::recorder {",
        "namespace {",
        "",
    ]
    rows = []
    for number, entry in enumerate(entries):
        name = entry.name
        if entry.arguments:
            lines.append(f"constexpr ArgumentSignature kArguments_{name}[] = {{")
            for a in entry.arguments:
                lines.append(f'    {{"{a.name}", ArgumentForm::{a.form}, NumberStyle::{a.style}}},')
            lines.append("};")
        lines += names_array(f"kExtras_{name}", entry.extras)
        lines += names_array(f"kTexts_{name}", entry.texts)
        fields = [
            f'"{name}"',
            f"Layer::{entry.layer}",
            "true" if entry.meaning.is_transfer else "false",
            "true" if entry.meaning.is_transfer and entry.meaning.verb == "writes" else "false",
            f"NumberStyle::{entry.result_style}",
            f"kArguments_{name}" if entry.arguments else "{}",
            f"kExtras_{name}" if entry.extras else "{}",
            f"kTexts_{name}" if entry.texts else "{}",
            f"kCallMeanings[{number}]",
        ]
        rows.append(f"    {{{', '.join(fields)}}},")
    by_name = sorted(range(len(entries)), key=lambda i: entries[i].name)
    lines += ["", "constexpr CallSignature kTable[] = {", *rows, "};", ""]
    lines += [
        "constexpr std::uint16_t kByName[] = {",
        "    " + ", ".join(str(i) for i in by_name),
        "};",
        "",
        "}  // namespace",
        "",
        "std::span<const CallSignature> call_table() noexcept { return kTable; }",
        "",
        "const CallSignature* find_call(std::string_view name) noexcept {",
        "  std::size_t low = 0, high = std::size(kByName);",
        "  while (low < high) {",
        "    const std::size_t middle = (low + high) / 2;",
        "    const int order = kTable[kByName[middle]].name.compare(name);",
        "    if (order == 0) return &kTable[kByName[middle]];",
        "    if (order < 0) {",
        "      low = middle + 1;",
        "    } else {",
        "      high = middle;",
        "    }",
        "  }",
        "  return nullptr;",
        "}",
        "",
        *names_of_words(),
        "}  // namespace iotune::recorder",
        "",
    ]
    return "\n".join(lines)


def names_source(entries: list[Entry]) -> str:
    """The names alone, as one text and offsets: data without relocations, for the preload."""
    offsets, at = [], 0
    for entry in entries:
        offsets.append(at)
        at += len(entry.name) + 1
    names = b"".join(entry.name.encode() + b"\0" for entry in entries)
    crc = crc32c(names + bytes([RING_LAYOUT]))
    return "\n".join(
        [
            "// Generated from recorder/calls.table: edit that.",
            '#include "recorder/call_table.h"',
            "",
            "namespace iotune::recorder {",
            "namespace {",
            "",
            "constexpr char kNames[] =",
            *(f'    "{entry.name}\\0"' for entry in entries),
            "    ;",
            "constexpr std::uint16_t kOffsets[] = {",
            "    " + ", ".join(str(offset) for offset in [*offsets, at]),
            "};",
            "",
            "}  // namespace",
            "",
            "std::string_view call_name(std::size_t number) noexcept {",
            "  return {kNames + kOffsets[number],",
            "          static_cast<std::size_t>(kOffsets[number + 1] - kOffsets[number] - 1)};",
            "}",
            "",
            f"std::size_t call_count() noexcept {{ return {len(entries)}; }}",
            "",
            f"std::uint32_t call_table_crc() noexcept {{ return 0x{crc:08x}U; }}",
            "",
            "}  // namespace iotune::recorder",
            "",
        ]
    )


def numbers_header(entries: list[Entry]) -> str:
    lines = [
        "// Generated from recorder/calls.table: edit that.",
        "#pragma once",
        "",
        "#include <cstdint>",
        "",
        "namespace iotune::recorder {",
        "",
        "// Index into call_table() and function number of ring records: k and the call's name.",
        "enum class CallNumber : std::uint16_t {",
        *(f"  k{entry.name} = {i}," for i, entry in enumerate(entries)),
        "};",
        "",
        f"inline constexpr std::uint16_t kCallCount = {len(entries)};",
        "",
        "}  // namespace iotune::recorder",
        "",
    ]
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    if len(arguments) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(arguments[2])
    try:
        entries = [entry_of(call) for call in read_table(Path(arguments[1]))] + pseudo_entries()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "call_table.cpp").write_text(table_source(entries))
        (folder / "call_names.cpp").write_text(names_source(entries))
        (folder / "call_numbers.h").write_text(numbers_header(entries))
        rows = [meaning_row(e.name, e.meaning, e.places, e.order) for e in entries]
        (folder / "call_meanings.h").write_text(meanings_header(rows))
    except (OSError, TableError) as error:
        print(f"generate_call_table.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
