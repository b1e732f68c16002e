"""What the calls of a trace mean for the order of its processes, written anew from the standards.

Only the decoding of calls is iotune's: the iterator and the names of their arguments. All else,
which call sends, receives, completes and enters what, stands here a second time, so that
`iotune verify` has a judge that does not share its mistakes. Everything is expanded.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from iotune import core
from iotune.traces.calls import Call, calls

PROC_NULL = -1
NOTHING = -3  # the source and tag where nothing was received

# Communicators that no call makes, in the ABIs that give them numbers; processes say theirs.
WORLDS, SELVES = {0x44000000, 257}, {0x44000001, 258}

END = 1 << 62  # behind every byte

Name = tuple[Any, ...]  # of a communicator: ("world",), or parent, number, colour


@dataclass(frozen=True)
class Access:
    """Some bytes of one file, from the first up to but without the last."""

    file: str
    begin: int
    end: int
    write: bool
    atomic: bool = False
    stored: bool = False  # when the call ends: O_DSYNC


@dataclass
class Entry:
    """A process's part in one collective call."""

    comm: Name
    number: int  # of the collective calls on the communicator
    call: str
    root: int = 0  # in the communicator
    empty: bool = False  # this process has no data to give (to a root or to all), or to get


@dataclass
class Send:
    """One message on its way."""

    comm: Name
    to: int  # in the communicator
    tag: int


@dataclass
class Receive:
    """One that was posted, and what it got in the end."""

    comm: Name
    source: int = NOTHING  # in the communicator
    tag: int = NOTHING


@dataclass
class Step:
    """One call of a process, which begins and ends. Those that ran inside it stand before it."""

    call: str
    access: Access | None = None
    file: str = ""
    # commit, close, open, mpi_sync, mpi_close, mpi_open: what it does to the file.
    does: frozenset[str] = frozenset()
    sends: list[Send] = field(default_factory=list)
    sent: list[Send] = field(default_factory=list)  # synchronous ones that end here
    posts: list[Receive] = field(default_factory=list)
    completes: list[Receive] = field(default_factory=list)
    enters: list[Entry] = field(default_factory=list)
    leaves: list[Entry] = field(default_factory=list)
    inside: int = 0  # steps before it that ran inside it
    forks: int | None = None  # the child's process id
    waits: int | None = None


@dataclass
class History:
    """All that matters of a run."""

    steps: list[list[Step]]  # by process
    members: dict[Name, list[int]]  # processes by their rank in the communicator
    pids: dict[int, int]  # process by process id


# What a call on a file does, whatever handle it has. HDF5's opens and closes do what the calls
# inside them do.
FILE_CALLS = {
    **dict.fromkeys(("fsync", "fdatasync", "syncfs", "msync", "H5Fflush"), {"commit"}),
    **dict.fromkeys(("close", "fclose"), {"commit", "close"}),
    **dict.fromkeys(("open", "openat", "creat", "fopen"), {"open"}),
    "MPI_File_sync": {"commit", "mpi_sync"},
    "MPI_File_close": {"commit", "close", "mpi_close"},
    "MPI_File_open": {"open", "mpi_open"},
}
SENDS = {"MPI_Send", "MPI_Ssend", "MPI_Bsend", "MPI_Rsend"}
ISENDS = {f"MPI_I{kind}send" for kind in ("", "s", "b", "r")}
SEND_INITS = {f"MPI_{kind}_init" for kind in ("Send", "Ssend", "Bsend", "Rsend")}
COMPLETIONS = {
    f"MPI_{kind}{which}" for kind in ("Wait", "Test") for which in ("", "all", "any", "some")
}

ALL_TO_ALL = {
    "Barrier", "Allreduce", "Allgather", "Allgatherv", "Alltoall", "Alltoallv", "Alltoallw",
    "Reduce_scatter", "Reduce_scatter_block",
    "Comm_dup", "Comm_idup", "Comm_dup_with_info", "Comm_split", "Comm_split_type", "Comm_create",
    "Comm_create_group",
    "Cart_create", "Cart_sub", "Graph_create", "Dist_graph_create", "Dist_graph_create_adjacent",
}  # fmt: skip
FROM_ROOT = {"Bcast", "Scatter", "Scatterv"}
TO_ROOT = {"Reduce", "Gather", "Gatherv"}
UPWARDS = {"Scan", "Exscan"}
COLLECTIVE = ALL_TO_ALL | FROM_ROOT | TO_ROOT | UPWARDS
# The argument that says how much this process gives, or gets from a root.
AMOUNT = {
    **dict.fromkeys(("Bcast", "Reduce", "Allreduce", "Scan", "Exscan"), "count"),
    **dict.fromkeys(("Gather", "Gatherv", "Alltoall"), "sendcount"),
    **dict.fromkeys(("Scatter", "Scatterv", "Allgather", "Reduce_scatter_block"), "recvcount"),
    "Allgatherv": "recvcounts",  # of them this rank's own is recorded
}
# What is collective on an open file and taken for all to all (docs/explain/verify-models.md): the
# standard does not promise it, usual MPIs do so, and VerifyIO counts it so.
FILE_ALL_TO_ALL = {f"MPI_File_{what}" for what in ("open", "close", "sync", "set_size", "set_view")}
MAKES = {name for name in ALL_TO_ALL if "omm_" in name or "create" in name or name == "Cart_sub"}


def collective_kind(call: str) -> str:
    """Barrier for MPI_Barrier and for MPI_Ibarrier; "" where it is no collective call."""
    name = call.removeprefix("MPI_")
    if name == call:
        return ""
    if name in COLLECTIVE:
        return name
    later = name.removeprefix("I").capitalize()
    return later if name.startswith("I") and later in COLLECTIVE else ""


def recorded_arguments(call: Call, rows: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The recorded numbers by their names, arrays as lists; `extras` is what is left."""
    row, numbers = rows[call.name], list(call.numbers)
    found: dict[str, Any] = {}
    for argument in row["arguments"]:
        if argument["form"] == "number":
            found[argument["name"]] = numbers.pop(0)
        elif argument["form"] == "array":
            length = max(numbers.pop(0), 0)
            found[argument["name"]], numbers = numbers[:length], numbers[length:]
    if row["layer"] != "iotune" and numbers:
        found["result"] = numbers.pop(0)
    found["extras"] = numbers
    found.update(zip(row["extras"], numbers))
    return found


@dataclass
class _Request:
    receive: Receive | None = None
    send: Send | None = None  # a synchronous one
    entry: Entry | None = None
    persistent: tuple[str, Any] | None = None  # "send" or "receive", and of what


class _Process:
    """Reads one process's calls in the order of their ends."""

    def __init__(self, rows: Mapping[str, Mapping[str, Any]], head: Mapping[str, Any]) -> None:
        self.rows = rows
        self.worlds = WORLDS | {int(head["comm_world"])} if "comm_world" in head else WORLDS
        self.selves = SELVES | {int(head["comm_self"])} if "comm_self" in head else SELVES
        self.steps: list[Step] = []
        self.read_calls: dict[int, list[bool]] = defaultdict(list)  # by thread: those with a step
        self.comms: dict[int, Name] = {}
        self.made: dict[Name, int] = defaultdict(int)  # communicators by their parent; files
        self.entered: dict[Name, int] = defaultdict(int)
        self.belongs: dict[Name, tuple[int, Name]] = {}  # key, parent
        self.requests: dict[int, list[_Request]] = defaultdict(list)
        self.messages: dict[int, Receive] = {}
        self.atomic: dict[int, bool] = {}
        self.stored: dict[str, bool] = {}  # files, as they were opened last
        self.file_comms: dict[int, Name] = {}  # by the handle of MPI-IO

    def comm(self, word: int) -> Name:
        if word in self.comms:
            return self.comms[word]
        if word in self.selves:
            return ("self", id(self))
        return ("world",) if word in self.worlds else ("unknown", word)

    def read(self, call: Call, leaf: bool, around: int | None, inside: int) -> None:
        """One call; `leaf` where no transfer was recorded inside, `around` is the handle of the
        MPI-IO call around it, `inside` the number of calls that ran inside it.
        """
        row = self.rows.get(call.name)
        if row is None or row["layer"] == "iotune":
            return
        said = recorded_arguments(call, self.rows)
        step = Step(call.name)
        if call.name == "open" and call.file:
            self.stored[call.file] = bool(said["flags"] & os.O_DSYNC)
        if call.file and row["transfer"]:
            if leaf and row["layer"] != "hdf5" and (access := self.access(call, row, said, around)):
                step.access = access
        elif call.name in ("ftruncate", "truncate") and call.file and succeeded(call):
            step.access = Access(call.file, said["bytes"], END, True)
        elif call.name == "MPI_File_set_atomicity":
            self.atomic[said["file"]] = bool(said["flag"])
        elif call.name in FILE_CALLS and call.file and succeeded(call):
            step.file, step.does = call.file, frozenset(FILE_CALLS[call.name])
        if call.name in FILE_ALL_TO_ALL and succeeded(call):
            self.enter_file(step, call.name, said)
        elif call.name in ("fork", "vfork"):
            step.forks = said["result"] if said["result"] > 0 else None
        elif call.name in ("wait", "waitpid", "wait3", "wait4"):
            step.waits = said["result"] if said["result"] > 0 else None
        elif call.name.startswith("MPI_"):
            self.communication(call.name, said, step)
        made = self.read_calls[call.thread]
        counts = step != Step(call.name)
        if counts:
            step.inside = sum(made[len(made) - inside :])
            self.steps.append(step)
        made.append(counts)

    def access(
        self, call: Call, row: Mapping[str, Any], said: Mapping[str, Any], around: int | None
    ) -> Access | None:
        meaning = row["meaning"]
        if meaning["offset"] is None or meaning["bytes"] is None:
            return None
        begin = call.numbers[meaning["offset"]]
        length = call.numbers[meaning["bytes"]]
        if meaning["item_bytes"] is not None:
            length *= call.numbers[meaning["item_bytes"]]
        if begin < 0 or length <= 0 or call.file is None:
            return None
        handle = said.get("file") if row["layer"] == "mpiio" else around
        atomic = handle is not None and self.atomic.get(handle, False)
        stored = row["layer"] == "posix" and self.stored.get(call.file, False)
        return Access(call.file, begin, begin + length, row["writes"], atomic, stored)

    def communication(self, name: str, said: dict[str, Any], step: Step) -> None:
        if said.get("result", 0) != 0:
            return
        comm = self.comm(said["comm"]) if "comm" in said else ("world",)
        name = name.removesuffix("_c")  # for large counts
        kind = collective_kind(name)
        if name in SENDS | ISENDS:
            send = self.send(step, comm, said["dest"], said["tag"])
            if name in ISENDS:
                own = send if name == "MPI_Issend" else None
                self.requests[said["request"]].append(_Request(send=own))
            elif name == "MPI_Ssend" and send is not None:
                step.sent.append(send)
        elif name == "MPI_Recv":
            self.receive_now(step, comm, said)
        elif name == "MPI_Irecv":
            self.post(step, said["request"], _Request(Receive(comm)))
        elif name in ("MPI_Sendrecv", "MPI_Sendrecv_replace"):
            self.send(step, comm, said["dest"], said["sendtag"])
            self.receive_now(step, comm, said)
        elif name in ("MPI_Isendrecv", "MPI_Isendrecv_replace"):
            self.send(step, comm, said["dest"], said["sendtag"])
            self.post(step, said["request"], _Request(Receive(comm)))
        elif name in SEND_INITS:
            what = (comm, said["dest"], said["tag"])
            kind = "ssend" if name == "MPI_Ssend_init" else "send"
            self.requests[said["request"]].append(_Request(persistent=(kind, what)))
        elif name == "MPI_Recv_init":
            self.requests[said["request"]].append(_Request(persistent=("receive", comm)))
        elif name in ("MPI_Start", "MPI_Startall"):
            for word in said.get("requests", [said.get("request")]):
                self.begin_again(step, word)
        elif name in ("MPI_Mprobe", "MPI_Improbe"):
            receive = Receive(comm, said["got_source"], said["got_tag"])
            if receive.source != NOTHING:
                step.posts.append(receive)  # what a probe matched is no other receive's
                self.messages[said["message"]] = receive
        elif name == "MPI_Mrecv" and said["message"] in self.messages:
            step.completes.append(self.messages.pop(said["message"]))
        elif name == "MPI_Imrecv" and said["message"] in self.messages:
            receive = self.messages.pop(said["message"])
            self.requests[said["request"]].append(_Request(receive))
        elif name in COMPLETIONS:
            self.complete(step, said)
        elif name == "MPI_Request_free":
            self.requests.pop(said["request"], None)
        elif kind:
            self.enter(step, name, kind, comm, said)

    def send(self, step: Step, comm: Name, to: int, tag: int) -> Send | None:
        if to == PROC_NULL:
            return None
        step.sends.append(Send(comm, to, tag))
        return step.sends[-1]

    def receive_now(self, step: Step, comm: Name, said: Mapping[str, Any]) -> None:
        if said["got_source"] >= 0:
            receive = Receive(comm, said["got_source"], said["got_tag"])
            step.posts.append(receive)
            step.completes.append(receive)

    def post(self, step: Step, word: int, request: _Request) -> None:
        self.requests[word].append(request)
        if request.receive is not None:
            step.posts.append(request.receive)

    def begin_again(self, step: Step, word: int) -> None:
        request = self.requests[word][-1]
        assert request.persistent is not None, "started, but no persistent request"
        kind, what = request.persistent
        if kind.endswith("send"):
            send = self.send(step, *what)
            request.send = send if kind == "ssend" else None
        else:
            request.receive = Receive(what)
            step.posts.append(request.receive)

    def complete(self, step: Step, said: Mapping[str, Any]) -> None:
        """Complete what the call completed; those that are not done do not stand there."""
        for word, source, tag in completed(said):
            waiting = self.requests[word]
            if not waiting:
                continue
            request = waiting[0] if waiting[0].persistent else waiting.pop(0)
            if request.receive is not None:
                if source >= 0:
                    request.receive.source, request.receive.tag = source, tag
                    step.completes.append(request.receive)
                request.receive = None
            if request.send is not None:
                step.sent.append(request.send)
                request.send = None
            if request.entry is not None:
                step.leaves.append(request.entry)

    def enter(self, step: Step, name: str, kind: str, comm: Name, said: dict[str, Any]) -> None:
        amount = said.get(AMOUNT.get(kind, ""), 1)
        empty = not (any(amount) if isinstance(amount, list) else amount)
        if kind in MAKES:
            made = self.make(kind, comm, said)
            comm = made if kind == "Comm_create_group" else comm  # those alone call it
        entry = Entry(comm, self.entered[comm], kind, said.get("root", 0), empty)
        self.entered[comm] += 1
        step.enters.append(entry)
        if name == f"MPI_{kind}" and kind != "Comm_idup":
            step.leaves.append(entry)
        else:
            self.requests[said["request"]].append(_Request(entry=entry))

    def enter_file(self, step: Step, name: str, said: Mapping[str, Any]) -> None:
        """A collective on a file's own communicator; its opening is one on the program's."""
        if name == "MPI_File_open":
            comm = self.comm(said["comm"])
            opening = (comm, "file", self.made[comm, "file"])
            self.made[comm, "file"] += 1
            self.file_comms[said["file"]] = opening
            self.belongs[opening] = (0, comm)
        comm = self.file_comms.get(said["file"], ("unknown",))
        if comm != ("unknown",):
            entry = Entry(comm, self.entered[comm], "Barrier")
            self.entered[comm] += 1
            step.enters.append(entry)
            step.leaves.append(entry)

    def make(self, kind: str, comm: Name, said: Mapping[str, Any]) -> Name:
        colour, key = said.get("color", 0), said.get("key", 0)
        is_member = colour >= 0
        if kind not in ("Comm_split", "Comm_dup", "Comm_idup", "Comm_dup_with_info"):
            # Whom a group or a topology takes in, only the recorded extras say.
            colour, key = said["new_members"], said["new_rank"]
            is_member = key >= 0
        # A group makes its own without the others of the parent.
        among = (colour, said["tag"]) if kind == "Comm_create_group" else ()
        new = (comm, self.made[comm, among], kind, colour, among)
        self.made[comm, among] += 1
        if is_member:
            self.comms[said["newcomm"]] = new
            self.belongs[new] = (key, comm)
        return new


def completed(said: Mapping[str, Any]) -> list[tuple[int, int, int]]:
    """The requests that the call completed, each with the source and tag of what it received."""
    if "requests" not in said:
        return [(said["request"], said["got_source"], said["got_tag"])]
    got = said["statuses"]
    return list(zip(said["requests"], got[0::2], got[1::2]))


def succeeded(call: Call) -> bool:
    """Whether the call did what its name says: MPI gives 0, others nothing negative."""
    if call.result is None:
        return True
    if call.name.startswith("MPI_"):
        return call.result == 0
    return call.result != 0 if call.name == "fopen" else call.result >= 0


def by_ends(of_process: Iterable[Call]) -> list[tuple[Call, bool, int | None, int]]:
    """The calls in the order of their ends, each with whether it is the innermost transfer, the
    handle of the MPI-IO call around it, and the number of calls that ran inside it. Threads are
    merged by the times of their ends.
    """
    lines: dict[int, list[tuple[float, Call, bool, int | None, int]]] = defaultdict(list)
    # Call, transfers inside, calls of the thread that ended before it began.
    open_calls: dict[int, list[list[Any]]] = defaultdict(list)

    def close(thread: int, depth: int) -> None:
        stack = open_calls[thread]
        while stack and stack[-1][0].depth >= depth:
            call, transfers, ended = stack.pop()
            if stack:
                stack[-1][1] += transfers + (call.layer in ("posix", "stdio", "mpiio"))
            around = next((c.numbers[0] for c, *_ in reversed(stack) if c.layer == "mpiio"), None)
            line = lines[thread]
            end = max(call.start + call.seconds, line[-1][0] if line else 0.0)
            line.append((end, call, not transfers, around, len(line) - ended))

    for call in of_process:
        if call.layer == "iotune":
            continue
        close(call.thread, call.depth)
        open_calls[call.thread].append([call, 0, len(lines[call.thread])])
    for thread in list(open_calls):
        close(thread, 0)
    merged = sorted((one for line in lines.values() for one in line), key=lambda one: one[0])
    return [one[1:] for one in merged]


def read_history(trace: Path) -> History:
    """Everything that the trace says about accesses and order."""
    rows = {row["name"]: row for row in core.call_table()}
    heads = core.processes(trace)
    of_process: list[list[Call]] = [[] for _ in heads]
    for call in calls(trace):
        of_process[call.process].append(call)
    readers = [_Process(rows, head) for head in heads]
    for reader, own in zip(readers, of_process):
        for one in by_ends(own):
            reader.read(*one)
    # A forked child has its parent's rank and makes no calls of MPI.
    ranks: dict[int, int] = {}
    for number, head in enumerate(heads):
        of_mpi = any(step.call.startswith("MPI_") for step in readers[number].steps)
        if head["rank"] >= 0 and (head["rank"] not in ranks or of_mpi):
            ranks[head["rank"]] = number
    members: dict[Name, list[int]] = {("world",): [ranks[rank] for rank in sorted(ranks)]}
    for number, reader in enumerate(readers):
        members["self", id(reader)] = [number]
    made = {name for reader in readers for name in reader.belongs}
    for name in sorted(made, key=lambda name: len(repr(name))):  # parents first
        parent = members.get(name[0])
        if parent is None:
            continue
        own_key = {number: reader.belongs[name][0]
                   for number, reader in enumerate(readers) if name in reader.belongs}  # fmt: skip
        members[name] = sorted(own_key, key=lambda n: (own_key[n], parent.index(n)))
    pids = {head["pid"]: number for number, head in enumerate(heads)}
    return History([reader.steps for reader in readers], members, pids)
