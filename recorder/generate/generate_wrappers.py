"""Writes the wrappers of HDF5 and MPI calls from recorder/calls.table.

Usage: generate_wrappers.py calls.table LAYER output.cpp
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from call_meanings import Argument  # noqa: E402
from call_signatures import ARRAYS, C_TYPES, Call, TableError, read_table  # noqa: E402

LAYER_NAMES = {"hdf5": "kHdf5", "mpi": "kMpiIo"}
# Integers that mean the same under different values in the MPIs' ABIs (mpi_abi.h).
COMMON_INTEGERS = ("amode", "whence", "thread_level")
# Hooked, and made for every dataset by programs of today.
OF_DATASETS = ("H5Dcreate2", "H5Dopen2", "H5Dread", "H5Dwrite", "H5Dclose")
# Asked for all the time where datasets are small.
SPACE_OF_DATASET = ("H5Dget_space", "H5Dget_space_async")
FILLED = ("sizep", "uintp", "hboolp")


def parameter(argument: Argument) -> str:
    """The parameter's name, out of the way of the wrapper's own."""
    return f"arg_{argument.name}"


def parameter_list(call: Call) -> str:
    return ", ".join(f"{C_TYPES[a.kind][0]} {parameter(a)}" for a in call.arguments)


def length_owner(call: Call, argument: Argument) -> int:
    """The argument that says how long an array is."""
    if argument.length.startswith("@"):
        return next(i for i, a in enumerate(call.arguments) if a.kind == "hid")
    return next(i for i, a in enumerate(call.arguments) if a.name == argument.length)


def recorded_number(call: Call, argument: Argument) -> str | None:
    """The argument as one number; None where it is none or several."""
    name = parameter(argument)
    if argument.kind in ("ptr", "cstr", *ARRAYS):
        return None
    if argument.kind == "fhp":
        return f"static_cast<std::int64_t>({name} == nullptr ? 0 : *{name})"
    if argument.kind == "sessionp":
        return f"static_cast<std::int64_t>(handle_at(provider, {name}))"
    if argument.kind in ("fhclose", "sessionclose"):
        return f"static_cast<std::int64_t>(closing_{name})"
    if argument.kind in FILLED:
        failed = f"result < 0 || {name} == nullptr"
        return f"{failed} ? -1 : static_cast<std::int64_t>(*{name})"
    if argument.kind in COMMON_INTEGERS:
        return f"std::int64_t{{common_{argument.kind}(abi_of(provider), {name})}}"
    if argument.kind == "double":
        return f"std::bit_cast<std::int64_t>({name})"
    return f"static_cast<std::int64_t>({name})"


def record_array(call: Call, argument: Argument) -> str:
    owner = parameter(call.arguments[length_owner(call, argument)])
    if argument.length == "@space":
        length = f"space_dimensions(provider, {owner})"
    elif argument.length == "@dataset":
        length = f"dataset_dimensions(provider, {owner})"
    else:
        length = f"static_cast<std::int64_t>({owner})"
    # After a failed call nothing is asked (the error stack is the program's), nor are
    # arrays read whose length may have been the fault.
    unknown = "result < 0"
    if call.is_async and argument.length.startswith("@"):
        unknown += " || is_pending(provider, arg_events)"
    return f"record.array({parameter(argument)}, {unknown} ? -1 : {length});"


def record_arguments(call: Call) -> list[str]:
    """Arguments and result, numbers that follow each other in one go."""
    lines: list[str] = []
    numbers: list[str] = []

    def flush() -> None:
        if numbers:
            words = ", ".join(numbers)
            lines.append(f"record.numbers({{{words}}});")
            numbers.clear()

    for argument in call.arguments:
        number = recorded_number(call, argument)
        if number is not None:
            numbers.append(number)
        elif argument.kind == "cstr":
            lines.append(f"record.text({parameter(argument)});")
        elif argument.kind in ARRAYS:
            flush()
            lines.append(record_array(call, argument))
    numbers.append("static_cast<std::int64_t>(result)")
    flush()
    return lines


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


def is_plain(call: Call) -> bool:
    """Nothing beside the call: plain_call.h has it already."""
    if call.layer != "hdf5" or call.flags & {"before", "after", "quiet"}:
        return False
    asks_later = call.is_async and any(a.length.startswith("@") for a in call.arguments)
    return not (call.extras or call.texts or call.aliases or asks_later)


def plain_kind(call: Call, argument: Argument) -> str:
    c_type = C_TYPES[argument.kind][0]
    if argument.kind == "cstr":
        return "Text"
    if argument.kind == "ptr":
        return "Unrecorded"
    if argument.kind in FILLED:
        return f"Filled<{c_type.rstrip('*')}>"
    if argument.kind not in ARRAYS:
        return f"Number<{c_type}>"
    owner = length_owner(call, argument)
    if argument.length == "@space":
        return f"SpaceArray<{owner}>"
    if argument.length == "@dataset":
        return f"DatasetArray<{owner}>"
    element = c_type.removeprefix("const ").rstrip("*")
    return f"ArrayOf<{element}, {owner}>"


def is_hot(call: Call) -> bool:
    """Called for every dataset: such wrappers lie together in memory."""
    means = call.meaning
    closes = means.verb == "closes" and means.thing != "mpi" and not means.begins
    return means.opens("dataset") or closes or means.is_transfer or "often" in call.flags


def is_left(call: Call) -> bool:
    """Where a sample is recorded the caller makes it without us (leave_to_caller).

    One that makes no calls which are wrapped: some on property lists look for plugins.
    """
    return call.meaning.thing == "space" and call.meaning.stays_in_memory


def is_learnt_from(call: Call) -> bool:
    """The other calls are not recorded where a sample is."""
    return not call.meaning.stays_in_memory and call.name not in SPACE_OF_DATASET


def head(call: Call, exported: str) -> str:
    hot = "[[gnu::hot]] " if is_hot(call) else ""
    body = f"IOTUNE_BODY({exported})"
    return f"{hot}{C_TYPES[call.result][0]} {body}({parameter_list(call)}) {{"


def pass_straight(
    call: Call, condition: str, symbol: str, guard: str = "", inline: bool = True
) -> list[str]:
    """Lines that make the real call at once, where it is known for this place of the program."""
    types = ", ".join(C_TYPES[a.kind][0] for a in call.arguments)
    names = ", ".join(parameter(a) for a in call.arguments)
    real = f"reinterpret_cast<{C_TYPES[call.result][0]} (*)({types})>(passed)"
    find = "newest_function_inline" if inline else "newest_function"
    found = f"{symbol}.{find}(__builtin_return_address(0))"
    return [
        f"  if ({condition}) {{",
        f"    if (void* const passed = {found}) {{",
        *([f"      {guard}"] if guard else []),
        f"      return {real}({names});",
        "    }",
        "  }",
    ]


def plain_wrapper(call: Call) -> str:
    result_type = C_TYPES[call.result][0]
    kinds = "".join(f", {plain_kind(call, a)}" for a in call.arguments)
    names = "".join(f"{parameter(a)}, " for a in call.arguments)
    back = "true" if "calls_back" in call.meaning.words else "false"
    symbol = f"plain_symbol(CallNumber::k{call.name})"
    learnt_from = "true" if is_learnt_from(call) else "false"
    left = "true" if is_left(call) else "false"
    what = f"CallNumber::k{call.name}, Times::{times_of(call)}, {back}, {learnt_from}, {left}"
    straight: list[str] = []
    if is_hot(call) and not is_learnt_from(call):
        guard = "" if call.meaning.stays_in_memory else "const PassedCall inside;"
        condition = "is_unlearnt_call_passed()"
        straight = pass_straight(call, condition, symbol, guard, inline=not is_left(call))
    return "\n".join(
        [
            head(call, call.name),
            *straight,
            f"  return plain_call<Layer::{LAYER_NAMES[call.layer]}, {result_type}{kinds}>(",
            f"      {names}{{{what}}},",
            "      __builtin_return_address(0));",
            "}",
            "",
        ]
    )


def shared_signature(call: Call) -> str:
    arguments = f"{parameter_list(call)}, " if call.arguments else ""
    return (
        f"static {C_TYPES[call.result][0]} shared_{call.name}({arguments}CallerSymbol& symbol, "
        "const char* exported, const void* caller)"
    )


def symbol_name(exported: str) -> str:
    return f"iotune_symbol_{exported}"


def symbol_definition(exported: str) -> str:
    """Where an entry finds it (call_entry.h)."""
    return (
        f"IOTUNE_HIDDEN extern CallerSymbol {symbol_name(exported)};\n"
        f"constinit CallerSymbol {symbol_name(exported)};"
    )


def entry(call: Call, exported: str) -> str:
    """An exported name of a call whose names share their body."""
    names = "".join(f"{parameter(a)}, " for a in call.arguments)
    straight = call.layer == "mpi" and call.meaning.is_transfer
    return "\n".join(
        [
            symbol_definition(exported),
            head(call, exported),
            *(
                pass_straight(
                    call, "(t_thread.layers & kUnrecordedBit) != 0", symbol_name(exported)
                )
                if straight and exported == call.name
                else []
            ),
            f'  return shared_{call.name}({names}{symbol_name(exported)}, "{exported}", '
            "__builtin_return_address(0));",
            "}",
            "",
        ]
    )


def has_small_form(call: Call) -> bool:
    """Whether an MPI older than 4 has the call with an int as count, by the name without _c."""
    counts = [a.kind for a in call.arguments if a.name == call.meaning.bytes_moved[0]]
    return call.layer == "mpi" and counts == ["mpioff"]


def real_of_large_count(call: Call, name: str, caller: str) -> list[str]:
    """The real function of a call with a large count, or what stands in for it."""
    result = C_TYPES[call.result][0]
    types = [C_TYPES[a.kind][0] for a in call.arguments]
    counts = [a.name == "count" for a in call.arguments]
    words = [f"word{i}" for i in range(len(types))]
    small_types = ["int" if n else t for t, n in zip(types, counts)]
    small_words = [f"static_cast<int>({w})" if n else w for w, n in zip(words, counts)]
    count = words[counts.index(True)]
    return [
        "  static constinit CallerSymbol small_symbols[2];",
        f"  RealFunction found = symbol.find({name}, {caller});",
        "  const bool is_small = found.function == nullptr;",
        f"  if (is_small) found = find_small_form(small_symbols, {name}, {caller});",
        f"  if (found.function == nullptr) return say_missing({name}), -1;",
        f"  const auto real = [&]({', '.join(f'{t} {w}' for t, w in zip(types, words))}) {{",
        f"    if (!is_small) return reinterpret_cast<{result} (*)({', '.join(types)})>(",
        f"        found.function)({', '.join(words)});",
        f"    if ({count} != static_cast<int>({count})) return kCountTooLarge;",
        f"    return reinterpret_cast<{result} (*)({', '.join(small_types)})>(",
        f"        found.function)({', '.join(small_words)});",
        "  };",
    ]


def wrapper(call: Call, exported: str, shared: bool = False) -> str:
    """The wrapper of one exported name or, `shared`, the body of all of them."""
    result_type = C_TYPES[call.result][0]
    types = ", ".join(C_TYPES[a.kind][0] for a in call.arguments)
    names = ", ".join(parameter(a) for a in call.arguments)
    hook_arguments = "".join(f", {parameter(a)}" for a in call.hooked)
    hooks_name = call.sync or call.name
    # What HDF5 does with files that are sampled out, but not the run's end in there.
    passed = ", kUnrecordedBit" if call.layer == "mpi" and call.meaning.thing != "mpi" else ""
    lines = [head(call, exported)]
    caller = "__builtin_return_address(0)"
    name = f'"{exported}"'
    if shared:
        hot = "gnu::hot, " if is_hot(call) else ""
        lines = [f"[[{hot}gnu::noinline]] {shared_signature(call)} {{"]
        caller, name = "caller", "exported"
    elif call.name in OF_DATASETS:
        caller = "caller"
        watched = f"watched_{exported}"
        comma = ", " if names else ""
        lines = [
            f"[[gnu::noinline]] static {result_type} {watched}("
            f"{parameter_list(call)}{comma}const void* caller);",
            *lines,
            *pass_straight(
                call,
                "t_thread.unrecorded == ThreadState::Unrecorded::kUntouched",
                symbol_name(exported),
                "const PassedCall inside;",
            ),
            f"  return {watched}({names}{comma}__builtin_return_address(0));",
            "}",
            f"static {result_type} {watched}({parameter_list(call)}{comma}const void* caller) {{",
        ]
    if not shared:
        lines.insert(0, symbol_definition(exported))
        lines.append(f"  CallerSymbol& symbol = {symbol_name(exported)};")
    if has_small_form(call):
        lines += real_of_large_count(call, name, caller)
    else:
        lines += [
            f"  const RealFunction found = symbol.find({name}, {caller});",
            f"  auto* const real = reinterpret_cast<{result_type} (*)({types})>(found.function);",
            f"  if (real == nullptr) return say_missing({name}), -1;",
        ]
    lines += [
        f"  CallScope scope(Layer::{LAYER_NAMES[call.layer]}{passed});",
        f"  if (goes_straight_through(scope, found)) return real({names});",
    ]
    if uses_provider(call):
        lines.append("  Provider& provider = *found.provider;")
    real_names, given = names, ""
    if "before" in call.flags:
        lines.append("  HookState hook{};")
        # The hook may replace arguments; what is recorded is what the program passed.
        for argument in call.hooked:
            lines.append(f"  auto given_{argument.name} = {parameter(argument)};")
        real_names = ", ".join(
            f"given_{a.name}" if a in call.hooked else parameter(a) for a in call.arguments
        )
        given = "".join(f", given_{a.name}" for a in call.hooked)
        lines.append(f"  before_{hooks_name}(provider, hook{given});")
    for argument in call.arguments:
        if argument.kind == "fhclose":
            name = parameter(argument)
            lines.append(f"  const Word closing_{name} = {name} == nullptr ? 0 : *{name};")
        if argument.kind == "sessionclose":
            name = parameter(argument)
            lines.append(f"  const Word closing_{name} = handle_at(provider, {name});")
    if "ordered" in call.meaning.words:
        file = next(parameter(a) for a in call.arguments if a.kind == "fh")
        lines.append(f"  prepare_ordered(provider, {file});")
    repeats = "again" in call.flags
    lines += [
        "  scope.start();",
        f"  {'' if repeats else 'const '}{result_type} result = real({real_names});",
    ]
    if repeats:
        again = f"again_{hooks_name}(provider, hook, result{given})"
        lines.append(f"  while ({again}) result = real({real_names});")
    lines.append("  scope.stop();")
    if call.is_async and "before" in call.flags:
        lines.append("  hook.pending = result >= 0 && is_pending(provider, arg_events);")
    if "quiet" in call.flags:
        if "after" in call.flags:
            lines.append(f"  after_{call.name}(provider, hook, result{hook_arguments});")
        return "\n".join([*lines, "  return result;", "}", ""])
    # The extras of a call with hooks tell the tuner of its end, recorded or not.
    has_duties = call.extras and "before" in call.flags
    wanted = "" if has_duties else "if (scope.recorded()) "
    if not is_learnt_from(call):
        wanted = "if (scope.recorded() && !g_records_to_learn) "
    lines += [
        f"  {wanted}{{",
        f"    RecordWriter record(scope, CallNumber::k{call.name}, Times::{times_of(call)});",
        *(f"    {code}" for code in record_arguments(call)),
    ]
    hook_name = ", hook" if "before" in call.flags else ""
    if call.extras == ["type_bytes"]:
        lines.append("    append_type_bytes(provider, record, result, arg_type);")
    elif call.extras or call.texts:
        lines.append(
            f"    extras_{hooks_name}(provider{hook_name}, record, result{hook_arguments});"
        )
    lines += ["    record.commit();", "  }"]
    if "after" in call.flags:
        lines.append(f"  after_{hooks_name}(provider{hook_name}, result{hook_arguments});")
    lines += ["  return result;", "}", ""]
    return "\n".join(lines)


def exported_names(call: Call) -> list[str]:
    profiling = [f"P{call.name}"] if call.layer == "mpi" else []
    return [call.name, *call.aliases, *profiling]


def entry_section(name: str, lines: list[str]) -> list[str]:
    def line(text: str) -> str:
        return f'    "    {text}\\n"'

    return [
        line(f'.pushsection {name}, \\"ax\\", @progbits'),
        line(".cfi_startproc"),
        *lines,
        line(".cfi_endproc"),
        line(".popsection"),
    ]


def entries(calls: list[Call], layer: str) -> str:
    """The exported names in assembly; those of hot calls lie together."""
    lines: dict[bool, list[str]] = {True: [], False: []}
    for call in calls:
        if call.layer != layer:
            continue
        for name in exported_names(call):
            symbol = symbol_name(name)
            if is_plain(call):
                symbol = f"iotune_plain_symbols+32*{calls.index(call)}"
            lines[is_hot(call)].append(f'    "    IOTUNE_ENTRY {name}, {symbol}\\n"')
    return "\n".join(
        [
            "#if defined(__x86_64__)",
            "static_assert(sizeof(CallerSymbol) == 32);",
            *(
                f"static_assert(CallNumber::k{call.name} == CallNumber{{{calls.index(call)}}});"
                for call in calls
                if call.layer == layer and is_plain(call)
            ),
            "__asm__(IOTUNE_ENTRY_MACRO",
            *entry_section(".text.hot.entries", lines[True]),
            *entry_section(".text.entries", lines[False]),
            "    );",
            "#endif",
        ]
    )


def wrappers_file(calls: list[Call], layer: str) -> str:
    parts = [
        f"// Generated from recorder/calls.table: wrappers of layer {layer}.",
        "#include <bit>",
        "",
        '#include "recorder/wrappers/call_entry.h"',
        f'#include "recorder/wrappers/{layer}/hooks_{layer}.h"',
        '#include "recorder/wrappers/plain_call.h"',
        '#include "recorder/ring/record_writer.h"',
        '#include "recorder/wrappers/wrapper_parts.h"',
        "",
        "using namespace iotune;",
        "using namespace iotune::recorder;",
        "",
        'extern "C" {',
        "",
    ]
    for call in calls:
        if call.layer != layer:
            continue
        if is_plain(call):
            parts.append(plain_wrapper(call))
            continue
        if layer == "mpi":  # its names are two, and its calls take microseconds
            parts.append(wrapper(call, call.name, shared=True))
            parts += [entry(call, name) for name in exported_names(call)]
            continue
        parts += [wrapper(call, exported) for exported in exported_names(call)]
    parts.append('}  // extern "C"')
    parts.append(entries(calls, layer))
    return "\n".join(parts) + "\n"


def main() -> int:
    table, layer, output = sys.argv[1:4]
    try:
        calls = read_table(Path(table))
    except TableError as error:
        print(error, file=sys.stderr)
        return 1
    text = wrappers_file(calls, layer)
    path = Path(output)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
