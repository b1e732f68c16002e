"""Writes the wrappers of HDF5 and MPI calls from recorder/calls.table.

Usage: generate_wrappers.py calls.table LAYER output.cpp

wrapper_templates.py shows what comes out, wrapper_kinds.py says which call gets which; here the
templates are filled.
"""

from __future__ import annotations

import sys
from pathlib import Path

import wrapper_templates as templates
from call_meanings import Argument
from call_signatures import ARRAYS, C_TYPES, Call, TableError, read_table
from wrapper_kinds import (
    COMMON_INTEGERS,
    LAYER_NAMES,
    ORDER_FORMS,
    calls_back,
    changes_space,
    exported_names,
    has_small_form,
    is_fast,
    is_for_each_dataset,
    is_hot,
    is_learnt_from,
    is_left,
    is_of_file,
    is_ordered,
    is_plain,
    is_transfer_of_file,
    stays_in_memory,
    times_of,
    uses_provider,
)
from wrapper_templates import fill

FILLED = ("sizep", "uintp", "hboolp")


# --- Its arguments ---------------------------------------------------------------


def parameter(argument: Argument) -> str:
    """The parameter's name, out of the way of the wrapper's own."""
    return f"arg_{argument.name}"


def with_comma(words: str) -> str:
    """Words in front of others in a list."""
    return f"{words}, " if words else ""


def after_comma(words: list[str]) -> str:
    """Words behind others in a list."""
    return "".join(f", {word}" for word in words)


def signature(call: Call) -> dict[str, str]:
    """What the templates put in of any call: its name, types, parameters and arguments."""
    types = [C_TYPES[a.kind][0] for a in call.arguments]
    names = [parameter(a) for a in call.arguments]
    parameters = ", ".join(f"{c_type} {name}" for c_type, name in zip(types, names))
    return {
        "name": call.name,
        "layer": LAYER_NAMES[call.layer],
        "result": C_TYPES[call.result][0],
        "types": ", ".join(types),
        "arguments": ", ".join(names),
        "arguments_": with_comma(", ".join(names)),
        "parameters": parameters,
        "parameters_": with_comma(parameters),
        "hot": "[[gnu::hot]] " if is_hot(call) else "",
        "hot_": "gnu::hot, " if is_hot(call) else "",
    }


def length_owner(call: Call, argument: Argument) -> int:
    """The argument that says how long an array is."""
    if argument.length.startswith("@"):
        return next(i for i, a in enumerate(call.arguments) if a.kind == "hid")
    return next(i for i, a in enumerate(call.arguments) if a.name == argument.length)


def recorded_number(argument: Argument) -> str | None:
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


def record_words(call: Call) -> str:
    """Arguments and result, numbers that follow each other in one go."""
    lines: list[str] = []
    numbers: list[str] = []

    def flush() -> None:
        if numbers:
            lines.append(f"record.numbers({{{', '.join(numbers)}}});")
            numbers.clear()

    for argument in call.arguments:
        number = recorded_number(argument)
        if number is not None:
            numbers.append(number)
        elif argument.kind == "cstr":
            lines.append(f"record.text({parameter(argument)});")
        elif argument.kind in ARRAYS:
            flush()
            lines.append(record_array(call, argument))
    numbers.append("static_cast<std::int64_t>(result)")
    flush()
    return "\n".join(lines)


# --- The parts of a wrapper --------------------------------------------------------


def symbol_name(exported: str) -> str:
    return f"iotune_symbol_{exported}"


def straight(call: Call, condition: str, symbol: str, guard: str = "", inline: bool = True) -> str:
    """The real call at once, in front of the wrapper."""
    find = "newest_function_inline" if inline else "newest_function"
    texts = {"condition": condition, "symbol": symbol, "guard": guard, "find": find}
    return fill(templates.STRAIGHT, **texts, **signature(call))


def find_real(call: Call, own_name: str, caller: str) -> str:
    """The real function of a call, or what stands in for it."""
    texts = {"own_name": own_name, "caller": caller, **signature(call)}
    if not has_small_form(call):
        return fill(templates.FIND_REAL, **texts)
    types = [C_TYPES[a.kind][0] for a in call.arguments]
    is_count = [a.name == "count" for a in call.arguments]
    words = [f"word{i}" for i in range(len(types))]
    return fill(
        templates.FIND_REAL_OF_LARGE_COUNT,
        **texts,
        count=words[is_count.index(True)],
        words=", ".join(words),
        typed_words=", ".join(f"{t} {w}" for t, w in zip(types, words)),
        small_types=", ".join("int" if n else t for t, n in zip(types, is_count)),
        small_words=", ".join(
            f"static_cast<int>({w})" if n else w for w, n in zip(words, is_count)
        ),
    )


def mark(call: Call) -> str:
    if not is_of_file(call):
        return ""
    kinds = {a.kind for a in call.arguments}
    if "cstr" not in kinds or "fh" in kinds:
        return templates.MARK
    return templates.MARK_OF_OPEN if "comm" in kinds else templates.MARK_OF_NAME


def joint(call: Call) -> str:
    """What ranks do together where they open or close an MPI file."""
    if call.name == "MPI_File_open":
        return fill(templates.JOINT_OPEN, file="file")
    closed = [a.name for a in call.arguments if a.kind == "fhclose"]
    return fill(templates.JOINT_CLOSE, file=closed[0]) if closed else ""


def closing(call: Call) -> str:
    kinds = {"fhclose": templates.CLOSING_FILE, "sessionclose": templates.CLOSING_SESSION}
    return "\n".join(
        fill(kinds[a.kind], argument=parameter(a)) for a in call.arguments if a.kind in kinds
    )


def ordered(call: Call) -> str:
    if not is_ordered(call):
        return ""
    return fill(
        templates.ORDERED, file=next(parameter(a) for a in call.arguments if a.kind == "fh")
    )


def record_condition(call: Call) -> str:
    if not is_learnt_from(call):
        return "if (scope.recorded() && !g_records_to_learn) "
    # The extras of a call with hooks tell the tuner of its end, recorded or not.
    has_duties = call.extras and "before" in call.flags
    return "" if has_duties else "if (scope.recorded()) "


def extras(call: Call, hooks: dict[str, str]) -> str:
    if call.extras == ["type_bytes"]:
        return templates.TYPE_BYTES
    return fill(templates.EXTRAS, **hooks) if call.extras or call.texts else ""


def record(call: Call, hooks: dict[str, str]) -> str:
    if "quiet" in call.flags:
        return ""
    return fill(
        templates.RECORD,
        condition=record_condition(call),
        name=call.name,
        times=times_of(call),
        words=record_words(call),
        extras=extras(call, hooks),
    )


def body(call: Call, own_name: str, caller: str) -> str:
    """What the wrapper does, between its braces."""
    has_before, repeats = "before" in call.flags, "again" in call.flags
    copies = {a.name: f"given_{a.name}" for a in call.hooked} if has_before else {}
    hooks = {
        "hooks": call.sync or call.name,
        "_hook": ", hook" if has_before else "",
        "_passed": after_comma([parameter(a) for a in call.hooked]),
        "_given": after_comma(list(copies.values())),
        "given": ", ".join(copies.get(a.name, parameter(a)) for a in call.arguments),
        "copies": "\n".join(f"auto {copies[a]} = arg_{a};" for a in copies),
    }
    return fill(
        templates.BODY,
        find_real=find_real(call, own_name, caller),
        # What HDF5 does with files that are sampled out, but not the run's end in there.
        ignored=", kUnrecordedBit" if is_of_file(call) else "",
        mark=mark(call),
        joint=joint(call),
        provider=templates.PROVIDER if uses_provider(call) else "",
        before=fill(templates.BEFORE, **hooks) if has_before else "",
        closing=closing(call),
        ordered=ordered(call),
        const="" if repeats else "const ",
        given=hooks["given"],
        again=fill(templates.AGAIN, **hooks) if repeats else "",
        pending=templates.PENDING if call.is_async and has_before else "",
        record=record(call, hooks),
        after=fill(templates.AFTER, **hooks) if "after" in call.flags else "",
        **signature(call),
    )


# --- Whole wrappers ------------------------------------------------------------------


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


def plain_wrapper(call: Call) -> str:
    front = ""
    symbol = f"plain_symbol(CallNumber::k{call.name})"
    if is_hot(call) and not is_learnt_from(call):
        front = straight(
            call,
            "is_selection_passed()" if changes_space(call) else "is_unlearnt_call_passed()",
            symbol,
            guard="" if stays_in_memory(call) else "const PassedCall inside;",
            inline=not is_left(call),
        )
    answers = (calls_back(call), is_learnt_from(call), is_left(call))
    words = [f"CallNumber::k{call.name}", f"Times::{times_of(call)}"]
    words += ["true" if answer else "false" for answer in answers]
    texts = {
        "straight": front,
        "kinds": after_comma([plain_kind(call, a) for a in call.arguments]),
        "description": ", ".join(words),
        **signature(call),
    }
    if not changes_space(call):
        return fill(templates.PLAIN, **texts)
    is_set = call.name == "H5Sselect_hyperslab"
    return fill(
        templates.SPACE_CHANGE,
        symbol=symbol,
        space=parameter(call.arguments[0]),
        selects="true" if "selects" in call.meaning.words else "false",
        noted=templates.NOTED_HYPERSLAB if is_set else "",
        **texts,
    )


def order_kind(call: Call, argument: Argument) -> str:
    words = [C_TYPES[argument.kind][0], f"OrderForm::{ORDER_FORMS[argument.kind]}"]
    if argument.length:
        words.append(str(length_owner(call, argument)))
    return f"Ordered<{', '.join(words)}>"


def order_wrapper(call: Call, exported: str) -> str:
    kinds = {argument.kind for argument in call.arguments}
    # Under an MPI older than 4 the call with an int as count is made.
    small = call.name.removesuffix("_c") if "mpioff" in kinds and not call.since else call.name
    tests = bool(kinds & {"flagp", "outcount"})
    description = {
        "number": f"CallNumber::k{call.name}",
        "small": f"CallNumber::k{small}",
        "profiling": str(exported != call.name).lower(),
        "tests": str(tests).lower(),
    }
    return fill(
        templates.ORDER,
        exported=exported,
        kinds=", ".join(order_kind(call, a) for a in call.arguments),
        description=", ".join(f".{key} = {value}" for key, value in description.items()),
        **signature(call),
    )


def with_symbol(template: str, call: Call, exported: str, **texts: str) -> str:
    """A wrapper that has a symbol of its own: one for each exported name."""
    symbol = symbol_name(exported)
    return fill(
        template,
        symbol_definition=fill(templates.SYMBOL_DEFINITION, symbol=symbol),
        symbol=symbol,
        exported=exported,
        **texts,
        **signature(call),
    )


def wrapper_alone(call: Call, exported: str) -> str:
    own_name = f'"{exported}"'
    if not is_for_each_dataset(call):
        made = body(call, own_name, "__builtin_return_address(0)")
        return with_symbol(templates.ALONE, call, exported, body=made)
    untouched = "t_thread.unrecorded == ThreadState::Unrecorded::kUntouched"
    front = straight(call, untouched, symbol_name(exported), guard="const PassedCall inside;")
    made = body(call, own_name, "caller")
    return with_symbol(templates.WATCHED, call, exported, straight=front, body=made)


def shared_wrapper(call: Call) -> str:
    parameters = fill(templates.SHARED_PARAMETERS, **signature(call))
    made = body(call, "exported", "caller")
    return fill(templates.SHARED, shared_parameters=parameters, body=made, **signature(call))


def name_of_shared(call: Call, exported: str) -> str:
    front = ""
    if is_transfer_of_file(call) and exported == call.name:
        inside = "(t_thread.layers & kUnrecordedBit) != 0"
        front = straight(call, inside, symbol_name(exported), guard=mark(call))
    return with_symbol(templates.NAME_OF_SHARED, call, exported, straight=front)


def wrappers_of(call: Call) -> list[str]:
    if is_plain(call):
        return [plain_wrapper(call)]
    if call.is_order:
        return [order_wrapper(call, name) for name in exported_names(call)]
    if call.layer == "mpi":  # its names are two, and its calls take microseconds
        return [shared_wrapper(call), *(name_of_shared(call, n) for n in exported_names(call))]
    return [wrapper_alone(call, name) for name in exported_names(call)]


# --- The file --------------------------------------------------------------------------


def wrappers_file(calls: list[Call], layer: str, fast: bool) -> str:
    generated = [call for call in calls if call.layer == layer and "manual" not in call.flags]
    chosen = [call for call in generated if is_fast(call) == fast]
    return fill(
        templates.FILE,
        layer=layer,
        which="small and frequent calls" if fast else "all but the small and frequent calls",
        more_headers=templates.HDF5_HEADERS if layer == "hdf5" else templates.MPI_HEADERS,
        wrappers="\n".join(text for call in chosen for text in wrappers_of(call)),
    )


def main() -> int:
    table, layer, output, fast_output = sys.argv[1:5]
    try:
        calls = read_table(Path(table))
    except TableError as error:
        print(error, file=sys.stderr)
        return 1
    for path, fast in ((Path(output), False), (Path(fast_output), True)):
        text = wrappers_file(calls, layer, fast)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
