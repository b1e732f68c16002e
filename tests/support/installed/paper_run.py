"""A run of an MPI program on paper: calls are put down one after the other, as one execution makes
them, and become a trace as the recorder would have written it.

Messages find their receives by MPI's rules: in the order of posting, and none overtakes another.
So what is put down is always a possible run, and wildcards get a real source and tag.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from fcntl import F_SETLKW
from pathlib import Path
from types import TracebackType
from typing import Any

from iotune.core import call_table, native_part
from support.installed.paper_parts import (
    ANY_SOURCE,
    COMM_NULL_WORD,
    SELF_WORD,
    WORLD_WORD,
    Comm,
    File,
    Message,
    Process,
    Request,
)

# Layers as bits of the mask around a call.
MPI_LAYER, POSIX_LAYER = 1, 3
STEP_NS = 1000
ZERO_NS = 1_700_000_000_000_000_000


def membership(members: Sequence[int], rank: int) -> dict[str, int]:
    """The extras of a call that makes a communicator (FORMAT.md), for one of its ranks."""
    if not members:
        return {"new_rank": -1, "new_size": 0, "new_leader": -1, "new_members": 0}
    mixed = 0xCBF29CE484222325
    for byte in b"".join(one.to_bytes(4, "little") for one in members):
        mixed = (mixed ^ byte) * 0x100000001B3 % (1 << 64)
    return {
        "new_rank": list(members).index(rank),
        "new_size": len(members),
        "new_leader": members[0],
        "new_members": mixed - (1 << 64) * (mixed >> 63),
    }


class PaperRun:
    """Puts down the calls; at the end of the `with` the trace is there."""

    def __init__(self, trace: Path, ranks: int, below: bool = True) -> None:
        """With `below` the calls of MPI-IO have calls of POSIX inside."""
        self.below = below
        self._rows = {row["name"]: row for row in call_table()}
        self._writer = native_part().ImportWriter(os.fspath(trace), "exact", replace=True)
        self._now = ZERO_NS
        self.processes: dict[int, Process] = {}  # by rank; of children by numbers behind them
        for rank in range(ranks):
            self.processes[rank] = self._process(rank, ranks, 0)
        self.ranks = ranks
        self.world = Comm(tuple(range(ranks)), dict.fromkeys(range(ranks), WORLD_WORD))
        self._selves = [Comm((rank,), {rank: SELF_WORD}) for rank in range(ranks)]
        for rank in range(ranks):
            self._call(rank, "MPI_Init")

    def self_of(self, rank: int) -> Comm:
        """MPI_COMM_SELF of the rank."""
        return self._selves[rank]

    def __enter__(self) -> PaperRun:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        if kind is None:
            self._writer.finish()

    def _process(self, rank: int, size: int, parent: int) -> Process:
        pid = 1000 + len(self.processes)
        about = {"host": "paper", "pid": pid, "run": "paper", "rank": rank, "size": size,
                 "program": "/paper", "argv": "paper", "start_ticks": pid,
                 "mpi": "MPICH 4.0.2", "order": "yes", "comm_world": WORLD_WORD,
                 "comm_self": SELF_WORD}  # fmt: skip
        if parent:
            about["parent"] = parent
        number = self._writer.add_process({key: str(value) for key, value in about.items()})
        return Process(number, pid)

    def _call(
        self,
        rank: int,
        name: str,
        said: Mapping[str, Any] | None = None,
        keys: Sequence[int] = (),
        text: str = "",
        layers: int = 0,
        inside: Callable[[], None] | None = None,
    ) -> None:
        """One call with the arguments that are named here; the others are 0."""
        start = self._now
        self._now += STEP_NS
        if inside is not None:
            inside()
        row = self._rows[name]
        said = said or {}
        known = {argument["name"] for argument in row["arguments"]} | {"result", *row["extras"]}
        assert set(said) <= known, (name, set(said) - known)
        numbers: list[int] = []
        for argument in row["arguments"]:
            value = said.get(argument["name"], 0)
            if argument["form"] == "number":
                numbers.append(value)
            elif argument["form"] == "array":
                numbers += [len(value), *value] if value else [0]
        if row["layer"] != "iotune":
            numbers.append(said.get("result", 0))
        numbers += [said.get(extra, 0) for extra in row["extras"]]
        self._writer.add_call(
            self.processes[rank].number, 0, name, layers, keys, numbers, text, start, self._now
        )
        self._now += STEP_NS

    # --- files, by calls of POSIX
    def open(self, rank: int, path: str, layers: int = 0, flags: int = 0) -> File:
        process = self.processes[rank]
        file = File(path, process.next_descriptor, process.next_file)
        process.next_descriptor += 1
        process.next_file += 1
        flags |= os.O_RDWR | os.O_CREAT
        self._call(rank, "open", {"flags": flags, "result": file.descriptor}, (), path, layers)
        noted = layers | 1 << POSIX_LAYER if layers else 0
        self._note(rank, (file.number,), (file.descriptor, POSIX_LAYER), path, noted)
        process.files.append(file)
        return file

    def _note(
        self, rank: int, keys: Sequence[int], numbers: Sequence[int], text: str, layers: int
    ) -> None:
        at = self._now - STEP_NS
        self._writer.add_call(self.processes[rank].number, 0, "iotune_file", layers, keys,
                              numbers, text, at, at)  # fmt: skip

    def _keys(self, file: File) -> tuple[int, int]:
        return file.descriptor, file.number

    def close(self, rank: int, file: File, layers: int = 0) -> None:
        self._call(rank, "close", {}, self._keys(file), layers=layers)
        if layers == 0:
            self.processes[rank].files.remove(file)

    def fsync(self, rank: int, file: File, layers: int = 0) -> None:
        self._call(rank, "fsync", {}, self._keys(file), layers=layers)

    def truncate(self, rank: int, file: File) -> None:
        self._call(rank, "ftruncate", {"bytes": 0}, self._keys(file))

    def lock(self, rank: int, file: File, length: int, kind: int) -> None:
        """The first bytes, by fcntl."""
        said = {"command": F_SETLKW, "lock_type": kind, "lock_length": length}
        self._call(rank, "fcntl", said, self._keys(file))

    def access(
        self, rank: int, file: File, offset: int, length: int, write: bool, layers: int = 0
    ) -> None:
        said = {"count": length, "offset": offset, "result": length}
        self._call(rank, "pwrite" if write else "pread", said, self._keys(file), layers=layers)

    # --- files, by calls of MPI-IO
    def mpi_open(self, comm: Comm, path: str) -> dict[int, File]:
        """By all of the communicator; the file of each."""
        found = {}
        for rank in comm.members:
            process = self.processes[rank]
            opened: list[File] = []

            def inside(rank: int = rank, opened: list[File] = opened) -> None:
                opened.append(self.open(rank, path, 1 << MPI_LAYER))

            if not self.below:
                opened.append(File(path, -1, process.next_file))
                process.next_file += 1
            handle = process.next_handle
            process.next_handle += 1
            said = {"comm": comm.words[rank], "amode": 1 + 8, "file": handle}
            self._call(rank, "MPI_File_open", said, (), path,
                       inside=inside if self.below else None)  # fmt: skip
            (file,) = opened
            file.handle, file.comm = handle, comm
            self._note(rank, (process.next_file,), (handle, MPI_LAYER), path, 0)
            process.next_file += 1
            if not self.below:
                process.files.append(file)
            found[rank] = file
        return found

    def mpi_close(self, rank: int, file: File) -> None:
        inside = (lambda: self.close(rank, file, 1 << MPI_LAYER)) if self.below else None
        self._call(rank, "MPI_File_close", {"file": file.handle}, inside=inside)
        self.processes[rank].files.remove(file)

    def mpi_sync(self, rank: int, file: File) -> None:
        inside = (lambda: self.fsync(rank, file, 1 << MPI_LAYER)) if self.below else None
        self._call(rank, "MPI_File_sync", {"file": file.handle}, inside=inside)

    def set_atomicity(self, rank: int, file: File, on: bool) -> None:
        self._call(rank, "MPI_File_set_atomicity", {"file": file.handle, "flag": int(on)})

    def mpi_access(self, rank: int, file: File, offset: int, length: int, write: bool) -> None:
        def inside() -> None:
            self.access(rank, file, offset, length, write, 1 << MPI_LAYER)

        said = {"file": file.handle, "offset": offset, "count": length, "type_bytes": 1}
        name = "MPI_File_write_at" if write else "MPI_File_read_at"
        self._call(rank, name, said, inside=inside if self.below else None)

    # --- messages; ranks are those of the communicator, but for the first
    def _request(self, rank: int) -> Request:
        process = self.processes[rank]
        request = Request(process.next_word)
        process.next_word += 1
        process.pending.append(request)
        return request

    def is_awaited(self, rank: int, comm: Comm, to: int, tag: int) -> bool:
        """Whether a receive is posted that takes such a message."""
        message = Message(comm, comm.rank_of(rank), to, tag)
        return any(one.takes(message) for one in self.processes[comm.members[to]].posted)

    def _deliver(self, rank: int, comm: Comm, to: int, tag: int) -> Message:
        message = Message(comm, comm.rank_of(rank), to, tag)
        receiver = self.processes[comm.members[to]]
        for request in receiver.posted:
            if request.takes(message):
                request.message = message
                message.taken = True
                receiver.posted.remove(request)
                return message
        receiver.arrived.append(message)
        return message

    def send(self, rank: int, comm: Comm, to: int, tag: int, name: str = "MPI_Send") -> None:
        said = {"comm": comm.words[rank], "dest": to, "tag": tag, "count": 1}
        request = self._request(rank) if name.startswith("MPI_I") else None
        if request is not None:
            said["request"] = request.word
        self._call(rank, name, said)
        message = self._deliver(rank, comm, to, tag)
        if request is not None and name == "MPI_Issend":
            request.sent = message

    def synchronous(self, source: int, to: int, comm: Comm, tag: int) -> None:
        """MPI_Ssend and its MPI_Recv, of two ranks of the world; the receiver is quiet."""
        self._deliver(source, comm, comm.rank_of(to), tag)
        self.receive(to, comm, comm.rank_of(source), tag)
        said = {"comm": comm.words[source], "dest": comm.rank_of(to), "tag": tag, "count": 1}
        self._call(source, "MPI_Ssend", said)

    def can_receive(self, rank: int, comm: Comm, source: int, tag: int) -> bool:
        asked = Request(0, comm, source, tag, receive=True)
        return any(asked.takes(message) for message in self.processes[rank].arrived)

    def _take(self, rank: int, request: Request) -> None:
        process = self.processes[rank]
        for message in process.arrived:
            if request.takes(message):
                request.message = message
                message.taken = True
                process.arrived.remove(message)
                return
        process.posted.append(request)

    def receive(self, rank: int, comm: Comm, source: int, tag: int) -> None:
        """Of a message that is there."""
        asked = Request(0, comm, source, tag, receive=True)
        self._take(rank, asked)
        assert asked.message is not None, "a receive that would wait for ever"
        said = {"comm": comm.words[rank], "source": source, "tag": tag, "count": 1,
                "got_source": asked.got[0], "got_tag": asked.got[1]}  # fmt: skip
        self._call(rank, "MPI_Recv", said)

    def post(self, rank: int, comm: Comm, source: int, tag: int) -> Request:
        request = self._request(rank)
        request.comm, request.source, request.tag, request.receive = comm, source, tag, True
        self._take(rank, request)
        said = {"comm": comm.words[rank], "source": source, "tag": tag, "count": 1,
                "request": request.word}  # fmt: skip
        self._call(rank, "MPI_Irecv", said)
        return request

    def complete(self, rank: int, requests: Sequence[Request], name: str = "MPI_Wait") -> None:
        """Wait, Test, Waitany … of requests of which all those to be completed are ready."""
        process = self.processes[rank]
        finished = [request for request in requests if request.ready]
        if name.endswith("all"):
            assert len(finished) == len(requests)
        elif not name.endswith("some"):
            finished = finished[:1]
        if name.endswith(("all", "some")):
            count = "incount" if name.endswith("some") else "count"
            said: dict[str, Any] = {
                count: len(requests),
                "requests": [one.word for one in finished],
                "statuses": [number for one in finished for number in one.got],
            }
            if name.endswith("some"):
                said["outcount"] = len(finished)
        else:
            said = {"request": finished[0].word}
            said["got_source"], said["got_tag"] = finished[0].got
            if name.endswith("any"):
                said |= {"count": len(requests), "index": requests.index(finished[0])}
        self._call(rank, name, said)
        for one in finished:
            process.pending.remove(one)

    def quiet(self, rank: int, comm: Comm) -> bool:
        """Whether no receive waits and no message lies there: the next two find each other."""
        process = self.processes[rank]
        comms = [one.comm for one in process.posted] + [one.comm for one in process.arrived]
        return not any(one is comm for one in comms)

    def exchange(self, ranks: tuple[int, int], comm: Comm, tag: int) -> None:
        """MPI_Sendrecv of two ranks with each other, both quiet."""
        places = [comm.rank_of(rank) for rank in ranks]
        for rank, to in zip(ranks, reversed(places)):
            self._deliver(rank, comm, to, tag)
        for rank, other in zip(ranks, reversed(places)):
            asked = Request(0, comm, ANY_SOURCE, tag, receive=True)
            self._take(rank, asked)
            self._call(rank, "MPI_Sendrecv",
                       {"comm": comm.words[rank], "dest": other, "sendtag": tag, "sendcount": 1,
                        "recvcount": 1, "source": ANY_SOURCE, "recvtag": tag,
                        "got_source": asked.got[0], "got_tag": asked.got[1]})  # fmt: skip

    def probe(self, rank: int, comm: Comm, source: int, tag: int) -> tuple[int, Request]:
        """MPI_Mprobe of a message that is there: its handle, for receive_probed."""
        found = Request(0, comm, source, tag, receive=True)
        self._take(rank, found)
        process = self.processes[rank]
        process.next_word += 1
        self._call(rank, "MPI_Mprobe",
                   {"comm": comm.words[rank], "source": source, "tag": tag,
                    "message": process.next_word, "got_source": found.got[0],
                    "got_tag": found.got[1]})  # fmt: skip
        return process.next_word, found

    def receive_probed(self, rank: int, word: int, found: Request) -> None:
        self._call(rank, "MPI_Mrecv", {"message": word, "count": 1, "got_source": found.got[0],
                                       "got_tag": found.got[1]})  # fmt: skip

    def again_and_again(
        self, source: int, to: int, comm: Comm, tag: int, between: Sequence[Callable[[], None]]
    ) -> None:
        """Persistent requests between two ranks, started once for each of `between`, which is
        called where both have begun; the receiver is quiet.
        """
        send, receive = self._request(source), self._request(to)
        receive.comm, receive.source, receive.tag, receive.receive = comm, ANY_SOURCE, tag, True
        self._call(source, "MPI_Send_init",
                   {"comm": comm.words[source], "dest": comm.rank_of(to), "tag": tag, "count": 1,
                    "request": send.word})  # fmt: skip
        self._call(to, "MPI_Recv_init",
                   {"comm": comm.words[to], "source": ANY_SOURCE, "tag": tag, "count": 1,
                    "request": receive.word})  # fmt: skip
        self.processes[source].pending.remove(send)
        self.processes[to].pending.remove(receive)
        for step in between:
            receive.message = None
            self._call(to, "MPI_Start", {"request": receive.word})
            self.processes[to].posted.append(receive)
            self._call(source, "MPI_Startall", {"count": 1, "requests": [send.word]})
            self._deliver(source, comm, comm.rank_of(to), tag)
            step()
            for rank, request in ((source, send), (to, receive)):
                self.processes[rank].pending.append(request)
                self.complete(rank, [request])
        for rank, request in ((source, send), (to, receive)):
            self._call(rank, "MPI_Request_free", {"request": request.word})

    # --- collectives, by all of a communicator; the order is that of the members
    def collective(
        self, comm: Comm, name: str, ranks: Sequence[int] = (), root: int = 0, count: int = 1
    ) -> dict[int, Request]:
        """By `ranks`, if not by all at once. A non-blocking one gives a request to each."""
        found = {}
        row = self._rows[name]
        known = {argument["name"] for argument in row["arguments"]}
        for rank in ranks or comm.members:
            said: dict[str, Any] = {"comm": comm.words[rank]}
            for argument in ("count", "sendcount", "recvcount"):
                if argument in known:
                    said[argument] = count
            if "root" in known:
                said["root"] = root
            if "request" in known:
                found[rank] = self._request(rank)
                said["request"] = found[rank].word
            self._call(rank, name, said)
        return found

    def _new_word(self, rank: int) -> int:
        process = self.processes[rank]
        process.next_comm += 1
        return process.next_comm - 1

    def make(
        self,
        comm: Comm,
        name: str,
        groups: Sequence[Sequence[int]],
        said: Mapping[int, Mapping[str, Any]] | None = None,
    ) -> list[Comm]:
        """Communicators of these ranks of the world. Who is in none gets none; of
        MPI_Comm_create_group it does not even call. `said`: further words by rank.
        """
        words: dict[int, int] = {}
        for rank in comm.members:
            (own,) = [group for group in groups if rank in group] or [()]
            if not own and name == "MPI_Comm_create_group":
                continue
            words[rank] = self._new_word(rank) if own else COMM_NULL_WORD
            more = said[rank] if said else {}
            self._call(rank, name, {"comm": comm.words[rank], "newcomm": words[rank], **more,
                                    **membership(own, rank)})  # fmt: skip
        return [Comm(tuple(group), {rank: words[rank] for rank in group}) for group in groups]

    def dup(self, comm: Comm) -> Comm:
        (made,) = self.make(comm, "MPI_Comm_dup", [comm.members])
        return made

    def split(self, comm: Comm, colours: Mapping[int, int], keys: Mapping[int, int]) -> list[Comm]:
        """By colour and key of each rank of the world; without those of MPI_UNDEFINED."""
        by_colour: dict[int, list[int]] = defaultdict(list)
        for rank in sorted(comm.members, key=lambda rank: (keys[rank], comm.rank_of(rank))):
            by_colour[colours[rank]].append(rank)
        said = {rank: {"color": colours[rank], "key": keys[rank]} for rank in comm.members}
        groups = [ranks for colour, ranks in by_colour.items() if colour >= 0]
        return self.make(comm, "MPI_Comm_split", groups, said)

    # --- children
    def fork(self, rank: int) -> int:
        """A child of the rank; the number by which it is called here."""
        parent = self.processes[rank]
        child = len(self.processes)
        self.processes[child] = self._process(-1, 0, parent.pid)
        self._call(rank, "fork", {"result": self.processes[child].pid})
        return child

    def wait(self, rank: int, child: int) -> None:
        self._call(rank, "waitpid", {"result": self.processes[child].pid})
