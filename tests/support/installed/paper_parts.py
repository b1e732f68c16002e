"""What a run on paper is made of: communicators, messages, requests, open files, processes."""

from __future__ import annotations

from dataclasses import dataclass, field

ANY_SOURCE, ANY_TAG, NOTHING, UNDEFINED = -2, -1, -3, -32766
WORLD_WORD, SELF_WORD, COMM_NULL_WORD = 0x44000000, 0x44000001, 0x04000000
FIRST_COMM_WORD, FIRST_REQUEST_WORD = 0x84000001, 0x98000001


@dataclass
class Comm:
    """A communicator: ranks of the world, in its order; a word of its own in each of them."""

    members: tuple[int, ...]
    words: dict[int, int]

    def rank_of(self, world_rank: int) -> int:
        return self.members.index(world_rank)


@dataclass
class Message:
    comm: Comm
    source: int  # in the communicator, as is `to`
    to: int
    tag: int
    taken: bool = False  # by a receive


@dataclass
class Request:
    """What a rank has under way: a receive until its message is there, a synchronous send until
    it is received, or anything else.
    """

    word: int
    comm: Comm | None = None
    source: int = NOTHING
    tag: int = NOTHING
    message: Message | None = None
    receive: bool = False
    sent: Message | None = None  # of a synchronous send

    @property
    def ready(self) -> bool:
        if self.receive:
            return self.message is not None
        return self.sent is None or self.sent.taken

    @property
    def got(self) -> tuple[int, int]:
        return (NOTHING, NOTHING) if self.message is None else (
            self.message.source, self.message.tag)  # fmt: skip

    def takes(self, message: Message) -> bool:
        return (
            self.receive
            and self.message is None
            and self.comm is message.comm
            and self.source in (ANY_SOURCE, message.source)
            and self.tag in (ANY_TAG, message.tag)
        )


@dataclass
class File:
    """A file that a process has open: descriptor, its number; with MPI-IO the handle."""

    path: str
    descriptor: int
    number: int
    handle: int = 0
    comm: Comm | None = None


@dataclass
class Process:
    number: int  # in the trace
    pid: int
    files: list[File] = field(default_factory=list)
    posted: list[Request] = field(default_factory=list)  # receives without a message, in order
    arrived: list[Message] = field(default_factory=list)  # messages that no receive waits for
    pending: list[Request] = field(default_factory=list)  # of any kind, not yet completed
    next_word: int = FIRST_REQUEST_WORD
    next_comm: int = FIRST_COMM_WORD
    next_handle: int = 1
    next_descriptor: int = 3
    next_file: int = 1
    ended: bool = False
