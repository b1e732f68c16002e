"""What calls.table says that a call means: its words, and what a line must not leave out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

# The head of calls.table explains them. Their order is that of the enumerations.
VERBS = (
    *("opens", "creates", "duplicates", "closes", "reads", "writes", "seeks", "syncs", "flushes"),
    *("completes", "asks", "changes"),
    *("sends", "receives", "exchanges", "matches", "starts", "frees", "orders"),
    "notes",  # pseudo calls of iotune's own
)
# What a pseudo call notes, beside files, datasets and views.
NOTED = (
    *("setting", "decision", "decision_again", "prefetch", "gather", "sampled_out"),
    *("region_begin", "region_end", "region_sum"),
)
THINGS = (
    *("file", "directory", "path", "pipe", "mapping", "view", "lock", "cache"),
    *("group", "dataset", "attribute", "object", "link", "type", "space", "plist", "events"),
    *("read", "write", "request", "process", "mpi", "message", "part", "ranks"),
    "window",
    *NOTED,
)
WORDS = (
    *("pointer", "shared", "ordered", "collective", "split", "begins", "chunk", "untimed"),
    *("calls_back", "selects", "persistent"),
)
PARTS = ("on", "at", "bytes", "count", "named", "begins")

MOVES_DATA = ("reads", "writes")
OPENS = ("opens", "creates")
# Where these stand among the arguments, they are the handle. A hid is one where it stands first.
HANDLES = ("fd", "fh", "fhp", "fhclose", "sessionp", "sessionclose")
NO_HANDLE = "none"
# What an asynchronous form of HDF5 has in front: file, function and line of the program.
PROGRAM_LINE = 3


@dataclass(frozen=True)
class Argument:
    kind: str
    name: str
    length: str = ""  # of an array: an argument's name, or @space, @dataset


@dataclass(frozen=True)
class Meaning:
    """One call's. The parts are names of arguments, of extras, or `result`; "" where none is."""

    verb: str
    thing: str
    words: frozenset[str] = frozenset()
    parts: dict[str, str] = field(default_factory=dict)

    @property
    def is_transfer(self) -> bool:
        return self.verb in MOVES_DATA and self.thing in ("file", "dataset")

    def opens(self, thing: str) -> bool:
        return self.verb in OPENS and self.thing == thing

    @property
    def stays_in_memory(self) -> bool:
        """Of HDF5's dataspaces and property lists: no file of the program's is touched."""
        return self.thing in ("space", "plist") and "calls_back" not in self.words

    @property
    def begins(self) -> bool:
        """Whether a later call completes what this one begins."""
        return "begins" in self.words

    def part(self, name: str) -> str:
        return self.parts.get(name, "")

    @property
    def bytes_moved(self) -> tuple[str, str]:
        """The number of bytes, or of items and the bytes of each; "" where there is none."""
        number, _, size = self.part("bytes").partition("*")
        return number, size

    def handle(self, arguments: Sequence[Argument]) -> int | None:
        """The argument that is the handle."""
        named = self.part("on")
        if named:
            names = [argument.name for argument in arguments]
            return None if named == NO_HANDLE else names.index(named)
        for place, argument in enumerate(arguments):
            if argument.kind in HANDLES:
                return place
        first = PROGRAM_LINE if is_asynchronous(arguments) else 0
        is_id = first < len(arguments) and arguments[first].kind == "hid"
        return first if is_id else None


def is_asynchronous(arguments: Sequence[Argument]) -> bool:
    """An asynchronous form of HDF5: the line of the program in front, an event set behind."""
    return (
        len(arguments) > PROGRAM_LINE
        and arguments[0].name == "app_file"
        and arguments[-1].name == "events"
    )


def parsed(text: str) -> Meaning:
    """The meaning in a line's second field. Raises ValueError that names the wrong word."""
    words = re.findall(r"\w+(?:\([^)]*\))?", text)
    if len(words) < 2 or words[0] not in VERBS or words[1] not in THINGS:
        raise ValueError(f"'{text.strip()}' is no meaning: a verb, then a thing")
    flags: set[str] = set()
    parts: dict[str, str] = {}
    for word in words[2:]:
        name, bracket, inner = word.rstrip(")").partition("(")
        if name not in (PARTS if bracket else WORDS):
            raise ValueError(f"unknown word '{word}' in the meaning")
        if name in flags or name in parts:
            raise ValueError(f"'{name}' twice in the meaning")
        if bracket:
            parts[name] = inner
        if name in WORDS:
            flags.add(name)
    return Meaning(words[0], words[1], frozenset(flags), parts)


def problems(
    meaning: Meaning,
    layer: str,
    arguments: Sequence[Argument],
    extras: Sequence[str],
    texts: Sequence[str],
) -> list[str]:
    """What the meaning of a line lacks, or says of something that is not there."""
    found = _unknown_parts(meaning, arguments, extras, texts)
    if found:
        return found
    if meaning.verb in OPENS and meaning.thing in ("file", "directory"):
        found += _lacks(meaning, "named", "opens by a name")
    on_handle = ("duplicates", "closes", "seeks", "syncs", "flushes", *MOVES_DATA)
    if meaning.verb in on_handle and meaning.thing != "mpi" and meaning.handle(arguments) is None:
        found.append(f"what {meaning.verb} needs a handle: on(ARG)")
    if meaning.is_transfer:
        found += _transfer_problems(meaning, layer, extras)
    begun = [a.name for a in arguments if a.kind in ("ptr", "requestp") and a.name == "request"]
    begun += ["events"] if is_asynchronous(arguments) else []
    if begun and meaning.part("begins") != begun[0]:
        found.append(f"has an argument {begun[0]}: begins({begun[0]})")
    if "ordered" in meaning.words and not {"shared", "collective"} <= meaning.words:
        found.append("ordered is shared and collective")
    return found


def _unknown_parts(
    meaning: Meaning, arguments: Sequence[Argument], extras: Sequence[str], texts: Sequence[str]
) -> list[str]:
    names = [argument.name for argument in arguments]
    recorded = [*(a.name for a in arguments if a.kind not in ("ptr", "cstr")), "result", *extras]
    known = {
        "on": [*names, NO_HANDLE],
        "begins": names,
        "named": [*(a.name for a in arguments if a.kind == "cstr"), *texts],
    }
    return [
        f"{part}({text}): there is no such number or text"
        for part, text in meaning.parts.items()
        for name in text.split("*")
        if name not in known.get(part, recorded)
    ]


def _lacks(meaning: Meaning, part: str, why: str) -> list[str]:
    return [] if meaning.part(part) else [f"{why}: {part}(ARG)"]


def _transfer_problems(meaning: Meaning, layer: str, extras: Sequence[str]) -> list[str]:
    if layer == "hdf5":
        return [] if extras else ["a transfer of HDF5 needs extra(…): what was selected"]
    number, size = meaning.bytes_moved
    if layer == "mpi":
        places = [bool(meaning.part("at")), "pointer" in meaning.words, "shared" in meaning.words]
        found = [] if number and size else ["a transfer of MPI-IO needs bytes(N*SIZE)"]
        return found + (["needs one of at(ARG), pointer, shared"] if sum(places) != 1 else [])
    return _lacks(meaning, "at", "a transfer") + _lacks(meaning, "bytes", "a transfer")
