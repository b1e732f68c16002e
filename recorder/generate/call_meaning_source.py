"""What each call means as C++: the generated call_meanings.h, and the words of call_meaning.h."""

from __future__ import annotations

from dataclasses import dataclass

from call_meanings import THINGS, VERBS, WORDS, Argument, Meaning

NOWHERE = -1


@dataclass(frozen=True)
class Places:
    """Where the parts of a meaning stand in a recorded call; NOWHERE: not, or nowhere fixed."""

    handle_argument: int
    named_text: int
    handle: int
    offset: int
    bytes_moved: int
    item_bytes: int
    count: int
    result: int


def places_of(
    meaning: Meaning,
    arguments: list[Argument],
    forms: list[str],
    extras: list[str],
    texts: list[str],
    has_result: bool = True,
) -> Places:
    """`forms`: how the arguments are recorded, as generate_call_table.FORMS has it."""
    numbers: dict[str, int] = {}
    with_array = "kArray" in forms
    for argument, form in zip(arguments, forms):
        if form == "kArray":
            break
        if form == "kNumber":
            numbers[argument.name] = len(numbers)
    if not with_array:
        for name in [*(["result"] if has_result else []), *extras]:
            numbers.setdefault(name, len(numbers))
    named = [a.name for a, form in zip(arguments, forms) if form == "kText"] + texts
    handle = meaning.handle(arguments)
    number, size = meaning.bytes_moved

    def place(name: str) -> int:
        return numbers.get(name, NOWHERE)

    return Places(
        handle_argument=NOWHERE if handle is None else handle,
        named_text=named.index(meaning.part("named")) if meaning.part("named") else NOWHERE,
        handle=NOWHERE if handle is None else place(arguments[handle].name),
        offset=place(meaning.part("at")),
        bytes_moved=place(number),
        item_bytes=place(size),
        count=place(meaning.part("count")),
        result=place("result"),
    )


def enumerator(word: str) -> str:
    return "k" + "".join(part.capitalize() for part in word.split("_"))


def meaning_row(name: str, meaning: Meaning, places: Places, order: bool) -> str:
    words = "".join(f".{word} = true, " for word in WORDS if word in meaning.words)
    words += ".order = true, " if order else ""
    numbers = {
        "handle_argument": places.handle_argument,
        "named_text": places.named_text,
        "handle_place": places.handle,
        "offset_place": places.offset,
        "bytes_place": places.bytes_moved,
        "item_bytes_place": places.item_bytes,
        "count_place": places.count,
        "result_place": places.result,
    }
    said = "".join(f".{key} = {value}, " for key, value in numbers.items() if value != NOWHERE)
    verb, thing = enumerator(meaning.verb), enumerator(meaning.thing)
    fields = f".verb = Verb::{verb}, .thing = Thing::{thing}, {words}{said}".rstrip(", ")
    return f"    {{{fields}}},  // {name}"


def meanings_header(rows: list[str]) -> str:
    return "\n".join(
        [
            "// Generated from recorder/calls.table: edit that.",
            "#pragma once",
            "",
            '#include "recorder/call_meaning.h"',
            '#include "recorder/call_numbers.h"',
            "",
            "namespace iotune::recorder {",
            "",
            "// By CallNumber.",
            "inline constexpr CallMeaning kCallMeanings[kCallCount] = {",
            *rows,
            "};",
            "",
            "constexpr const CallMeaning& meaning_of(CallNumber number) noexcept {",
            "  return kCallMeanings[static_cast<std::size_t>(number)];",
            "}",
            "",
            "}  // namespace iotune::recorder",
            "",
        ]
    )


def names_of_words() -> list[str]:
    """The words of calls.table, by the values of call_meaning.h."""

    def names(kind: str, argument: str, words: tuple[str, ...], nameless: str = "") -> list[str]:
        cases = [f'    case {kind}::{enumerator(word)}: return "{word}";' for word in words]
        cases += [f"    case {kind}::{nameless}: break;"] if nameless else []
        return [
            f"std::string_view name_of({kind} {argument}) noexcept {{",
            f"  switch ({argument}) {{",
            *cases,
            "  }",
            "  return {};",
            "}",
            "",
        ]

    return [*names("Verb", "verb", VERBS), *names("Thing", "thing", THINGS, "kNone")]
