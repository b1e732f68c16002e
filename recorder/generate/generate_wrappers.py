"""Writes the wrappers of HDF5 and MPI calls from recorder/calls.table.

Usage: generate_wrappers.py calls.table LAYER output.cpp
       generate_wrappers.py calls.table check-LAYER output.cpp

The second form writes a file that compiles only where the table agrees with the real headers
of that layer: names, numbers and types of arguments, results.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from call_signatures import C_TYPES, Argument, Call, TableError, read_table  # noqa: E402

LAYER_NAMES = {"hdf5": "kHdf5", "mpi": "kMpiIo"}
# What a wrapper returns when the function it stands for cannot be found.
FAILURES = {"hid": "-1", "int": "-1", "ssize": "-1", "off": "-1"}
# Integers that mean the same under different values in the MPIs' ABIs (mpi_abi.h).
COMMON_INTEGERS = ("amode", "whence", "thread_level")


def parameter(argument: Argument) -> str:
    """The parameter's name, out of the way of the wrapper's own."""
    return f"arg_{argument.name}"


def parameter_list(call: Call) -> str:
    return ", ".join(f"{C_TYPES[a.kind][0]} {parameter(a)}" for a in call.arguments)


def record_argument(call: Call, argument: Argument) -> str | None:
    name = parameter(argument)
    if argument.kind == "ptr":
        return None
    if argument.kind == "fhp":
        return f"record.number(static_cast<std::int64_t>({name} == nullptr ? 0 : *{name}));"
    if argument.kind == "sessionp":
        return f"record.number(static_cast<std::int64_t>(handle_at(provider, {name})));"
    if argument.kind in ("fhclose", "sessionclose"):
        return f"record.number(static_cast<std::int64_t>(closing_{name}));"
    if argument.kind == "cstr":
        return f"record.text({name});"
    if argument.kind == "dims":
        if argument.length == "@space":
            length = f"space_dimensions(provider, {parameter(call.arguments[0])})"
        elif argument.length == "@dataset":
            length = f"dataset_dimensions(provider, {parameter(call.arguments[0])})"
        else:
            length = f"arg_{argument.length}"
        # After a failed call nothing is asked (the error stack is the program's), nor are
        # arrays read whose length may have been the fault.
        return f"record.array({name}, result < 0 ? -1 : static_cast<std::int64_t>({length}));"
    if argument.kind in COMMON_INTEGERS:
        return f"record.number(std::int64_t{{common_{argument.kind}(abi_of(provider), {name})}});"
    if argument.kind == "double":
        return f"record.number({name});"
    return f"record.number(static_cast<std::int64_t>({name}));"


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


def wrapper(call: Call, exported: str) -> str:
    result_type = C_TYPES[call.result][0]
    types = ", ".join(C_TYPES[a.kind][0] for a in call.arguments)
    names = ", ".join(parameter(a) for a in call.arguments)
    hook_arguments = "".join(f", {parameter(a)}" for a in call.arguments)
    lines = [
        f"IOTUNE_EXPORT {result_type} {exported}({parameter_list(call)}) {{",
        "  static constinit CallerSymbol symbol;",
        f'  const RealFunction found = symbol.find("{exported}", __builtin_return_address(0));',
        f"  auto* const real = reinterpret_cast<{result_type} (*)({types})>(found.function);",
        f"  if (real == nullptr) return missing_function<{result_type}>"
        f'("{exported}", {FAILURES[call.result]});',
        f"  CallScope scope(Layer::{LAYER_NAMES[call.layer]});",
        f"  if (!scope.active() || found.provider == nullptr) return real({names});",
    ]
    if uses_provider(call):
        lines.append("  Provider& provider = *found.provider;")
    real_names = names
    if "before" in call.flags:
        lines.append("  HookState hook{};")
        # The hook may replace arguments; what is recorded is what the program passed.
        for argument in call.arguments:
            lines.append(f"  auto given_{argument.name} = {parameter(argument)};")
        real_names = ", ".join(f"given_{a.name}" for a in call.arguments)
        given = "".join(f", given_{a.name}" for a in call.arguments)
        lines.append(f"  before_{call.name}(provider, hook{given});")
    for argument in call.arguments:
        if argument.kind == "fhclose":
            name = parameter(argument)
            lines.append(f"  const Word closing_{name} = {name} == nullptr ? 0 : *{name};")
        if argument.kind == "sessionclose":
            name = parameter(argument)
            lines.append(f"  const Word closing_{name} = handle_at(provider, {name});")
    lines += [
        "  scope.start();",
        f"  const {result_type} result = real({real_names});",
        "  scope.stop();",
    ]
    if "quiet" in call.flags:
        if "after" in call.flags:
            lines.append(f"  after_{call.name}(provider, hook, result{hook_arguments});")
        return "\n".join([*lines, "  return result;", "}", ""])
    times = "kOften" if "often" in call.flags else "kControl"
    if "transfer" in call.flags:
        times = LAYER_NAMES[call.layer]
    lines += [
        "  {",
        f"    RecordWriter record(scope, CallNumber::k{call.name}, Times::{times});",
    ]
    for argument in call.arguments:
        code = record_argument(call, argument)
        if code is not None:
            lines.append(f"    {code}")
    lines.append("    record.number(static_cast<std::int64_t>(result));")
    hook_name = ", hook" if "before" in call.flags else ""
    if call.extras == ["type_bytes"]:
        lines.append("    append_type_bytes(provider, record, result, arg_type);")
    elif call.extras or call.texts:
        lines.append(
            f"    extras_{call.name}(provider{hook_name}, record, result{hook_arguments});"
        )
    lines += ["    record.commit();", "  }"]
    if "after" in call.flags:
        lines.append(f"  after_{call.name}(provider{hook_name}, result{hook_arguments});")
    lines += ["  return result;", "}", ""]
    return "\n".join(lines)


def wrappers_file(calls: list[Call], layer: str) -> str:
    parts = [
        f"// Generated from recorder/calls.table: wrappers of layer {layer}.",
        f'#include "recorder/preload/hooks_{layer}.h"',
        '#include "recorder/preload/record_writer.h"',
        '#include "recorder/preload/wrapper_parts.h"',
        "",
        "using namespace iotune::recorder;",
        "",
        'extern "C" {',
        "",
    ]
    for call in calls:
        if call.layer != layer:
            continue
        for exported in [call.name, *call.aliases]:
            parts.append(wrapper(call, exported))
        if layer == "mpi":
            parts.append(wrapper(call, f"P{call.name}"))
    parts.append('}  // extern "C"')
    return "\n".join(parts) + "\n"


def check_file(calls: list[Call], layer: str) -> str:
    header = {"hdf5": "<hdf5.h>", "mpi": "<mpi.h>"}[layer]
    # Where handles are pointers, one kind must not pass for another.
    kinds = ("Comm", "Info", "File", "Datatype", "Errhandler") if layer == "mpi" else ()
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
        # What only newer MPIs have is held against those.
        if call.name.endswith("_c"):
            parts.append("#if MPI_VERSION >= 4")
        elif call.name.startswith("MPI_Session"):
            parts.append("#ifdef MPI_SESSION_NULL")
        parts.append(
            f"static_assert(SignaturesAgree<{result}({types}), "
            f'std::remove_pointer_t<decltype(&{call.name})>>::value, "{call.name}");'
        )
        if parts[-2].startswith("#if"):
            parts.append("#endif")
    return "\n".join(parts) + "\n"


def main() -> int:
    table, what, output = sys.argv[1:4]
    try:
        calls = read_table(Path(table))
    except TableError as error:
        print(error, file=sys.stderr)
        return 1
    if what.startswith("check-"):
        text = check_file(calls, what.removeprefix("check-"))
    else:
        text = wrappers_file(calls, what)
    path = Path(output)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
