"""Reads recorder/calls.table: the one list of the calls that iotune intercepts."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from call_meanings import PROGRAM_LINE, Argument, Meaning, is_asynchronous, parsed, problems

LAYERS = ("hdf5", "mpi", "stdio", "posix", "iotune")

# kind: (type in the preload, type in the real header). The preload sees handles as machine
# words: one binary serves MPIs whose handles are ints, pointers or integers of their own.
C_TYPES = {
    "hid": ("std::int64_t", "hid_t"),
    "int": ("int", "int"),
    "uint": ("unsigned", "unsigned"),
    "enum": ("int", "int"),
    "hbool": ("bool", "hbool_t"),
    "hsize": ("std::uint64_t", "hsize_t"),
    "size": ("std::size_t", "size_t"),
    "ssize": ("ssize_t", "ssize_t"),
    "htri": ("int", "htri_t"),
    "hssize": ("std::int64_t", "hssize_t"),
    "haddr": ("std::uint64_t", "haddr_t"),
    "uint64": ("std::uint64_t", "uint64_t"),
    "double": ("double", "double"),
    "dims": ("const std::uint64_t*", "const hsize_t*"),
    "hids": ("const std::int64_t*", "const hid_t*"),
    "uints": ("const unsigned*", "const unsigned*"),
    "sizep": ("std::size_t*", "size_t*"),
    "uintp": ("unsigned*", "uint32_t*"),
    "hboolp": ("bool*", "hbool_t*"),
    "cstr": ("const char*", "const char*"),
    "ptr": ("void*", "void*"),
    "comm": ("Word", "MPI_Comm"),
    "info": ("Word", "MPI_Info"),
    "fh": ("Word", "MPI_File"),
    "fhp": ("Word*", "MPI_File*"),
    "fhclose": ("Word*", "MPI_File*"),
    "dtype": ("Word", "MPI_Datatype"),
    "mpioff": ("std::int64_t", "MPI_Offset"),
    "errhandler": ("Word", "MPI_Errhandler"),
    "sessionp": ("void*", "MPI_Session*"),
    "sessionclose": ("void*", "MPI_Session*"),
    "amode": ("int", "int"),
    "whence": ("int", "int"),
    "thread_level": ("int", "int"),
    "anytype": ("Word", "MPI_Datatype"),
    "rank": ("int", "int"),
    "tag": ("int", "int"),
    "request": ("Word", "MPI_Request"),
    "requestp": ("void*", "MPI_Request*"),
    "requestof": ("void*", "MPI_Request*"),
    "requests": ("void*", "MPI_Request*"),
    "messagep": ("void*", "MPI_Message*"),
    "messageof": ("void*", "MPI_Message*"),
    "status": ("void*", "MPI_Status*"),
    "statuses": ("void*", "MPI_Status*"),
    "flagp": ("int*", "int*"),
    "intp": ("int*", "int*"),
    "outcount": ("int*", "int*"),
    "ints": ("const int*", "const int*"),
    "op": ("Word", "MPI_Op"),
    "group": ("Word", "MPI_Group"),
    "owncount": ("const int*", "const int*"),
    "counts": ("const int*", "const int*"),
    "ownlargecount": ("const std::int64_t*", "const MPI_Count*"),
    "largecounts": ("const std::int64_t*", "const MPI_Count*"),
    "commp": ("void*", "MPI_Comm*"),
    "samecommp": ("void*", "MPI_Comm*"),
    "commof": ("void*", "MPI_Comm*"),
    "winp": ("void*", "MPI_Win*"),
    "winof": ("void*", "MPI_Win*"),
    "requestat": ("void*", "MPI_Request*"),
    "requestsat": ("void*", "MPI_Request*"),
    "fd": ("int", "int"),
    "off": ("std::int64_t", "off64_t"),
    "mode": ("unsigned", "mode_t"),
}


# Of calls that order processes.
ORDER_KINDS = {
    *("anytype", "rank", "tag", "requestp", "requestof", "requests", "requestat", "requestsat"),
    *("messagep", "messageof", "status", "statuses", "flagp", "intp", "outcount", "ints"),
    *("op", "group", "owncount", "counts", "ownlargecount", "largecounts"),
    *("commp", "samecommp", "commof", "winp", "winof"),
}
NEW_COMMUNICATOR = ["new_rank", "new_size", "new_leader", "new_members"]
ARRAYS = (
    *("dims", "hids", "uints", "requests", "requestsat", "statuses", "ints"),
    *("counts", "largecounts"),
)


@dataclass
class Call:
    layer: str
    result: str
    name: str
    arguments: list[Argument]
    meaning: Meaning
    flags: set[str] = field(default_factory=set)
    aliases: list[str] = field(default_factory=list)
    extras: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    sync: str = ""  # of an asynchronous form: whose hooks it has
    since: str = ""  # HDF5 versions, "" for all
    until: str = ""
    needs: str = ""  # a macro of its configuration

    @property
    def hooked(self) -> list[Argument]:
        """The arguments that hooks get: an asynchronous form's own are none of theirs."""
        return self.arguments[PROGRAM_LINE:-1] if self.is_async else self.arguments

    @property
    def is_order(self) -> bool:
        """It orders processes, and is recorded where that was asked for."""
        return "order" in self.flags

    @property
    def is_async(self) -> bool:
        return is_asynchronous(self.arguments)


class TableError(Exception):
    """A line of the table that cannot be understood; the message names file and line."""


def _parse_line(text: str) -> Call:
    head, _, rest = text.partition("|")
    said, _, tail = rest.partition("|")
    words = head.split()
    if len(words) < 3 or words[0] not in LAYERS:
        raise ValueError("expected: layer result name arguments")
    arguments = []
    for word in words[3:]:
        match = re.fullmatch(r"(\w+)(?:\(([@\w]+)\))?:(\w+)", word)
        if not match or match[1] not in C_TYPES:
            raise ValueError(f"argument '{word}' is not kind:name of a known kind")
        arguments.append(Argument(match[1], match[3], match[2] or ""))
    call = Call(words[0], words[1], words[2], arguments, parsed(said))
    if call.result not in C_TYPES:
        raise ValueError(f"unknown result kind '{call.result}'")
    for match in re.finditer(r"(\w+)(?:\(([^)]*)\))?", tail):
        word, inner = match[1], (match[2] or "")
        if word == "as":
            call.aliases.append(inner)
        elif word == "extra":
            call.extras = inner.split()
        elif word == "text":
            call.texts = inner.split()
        elif word == "as_in":
            call.sync = inner
        elif word == "since":
            call.since = inner
        elif word == "until":
            call.until = inner
        elif word == "needs":
            call.needs = inner
        elif word in (
            "before",
            "after",
            "again",
            "often",
            "quiet",
            "manual",
            "side",
            "order",
        ):
            call.flags.add(word)
        else:
            raise ValueError(f"unknown attribute '{word}'")
    return call


def read_table(path: Path) -> list[Call]:
    """Returns the calls in the table's order. Raises TableError."""
    calls = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        text = line.split("#", 1)[0].strip()
        if not text:
            continue
        try:
            calls.append(_parse_line(text))
        except ValueError as error:
            raise TableError(f"{path}:{number}: {error}") from None
    by_name = {call.name: call for call in calls}
    for call in calls:
        if call.sync:
            _take_over(call, by_name, path)
        wrong = problems(call.meaning, call.layer, call.arguments, call.extras, call.texts)
        wrong += _order_problems(call)
        if wrong:
            raise TableError(f"{path}: {call.name}: {'; '.join(wrong)}")
    return calls


def _order_problems(call: Call) -> list[str]:
    """A call that orders processes says what its status says, and no other call has such kinds."""
    kinds = {argument.kind for argument in call.arguments}
    if not call.is_order:
        return [f"{kind} is for calls that order processes" for kind in kinds & ORDER_KINDS]
    if ("status" in kinds) != (call.extras == ["got_source", "got_tag"]):
        return ["a status, and no other call, needs extra(got_source got_tag)"]
    if bool(kinds & {"commp", "samecommp"}) != (call.extras == NEW_COMMUNICATOR):
        return [f"a new communicator, and no other call, needs extra({' '.join(NEW_COMMUNICATOR)})"]
    return []


def _take_over(call: Call, by_name: dict[str, Call], path: Path) -> None:
    """Give an asynchronous form what its twin has."""
    if call.sync not in by_name:
        raise TableError(f"{path}: {call.name} is as_in({call.sync}), which is not there")
    twin = by_name[call.sync]
    call.flags |= twin.flags
    call.extras, call.texts = twin.extras, twin.texts
    own, other = call.meaning, twin.meaning
    if (own.verb, own.thing, own.words - {"begins"}) != (other.verb, other.thing, other.words):
        raise TableError(f"{path}: {call.name} means something else than {call.sync}")
