"""What `strace -f -ttt -T` prints, with -y or without.

A line is `pid time call(arguments) = result <seconds>`; the pid may stand as `[pid N]` or be left
out. A call that others interrupt is `call(… <unfinished ...>`, and later `<... call resumed>…`.
Positions follow from the calls before them, as the kernel keeps them: one for each open file,
whichever process moves it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from iotune.errors import Error
from iotune.importing.lines import Malformed, lines_of, quoted, seconds_ns, whole
from iotune.importing.sink import CLOSE, OPEN, READ, SYNC, WRITE, AccessSink

EXPECTED = "strace -f -ttt -T writes `pid seconds call(…) = result <seconds>`"
_LINE = re.compile(rb"(?:\[pid\s+(\d+)\]\s+|(\d+)\s+)?(\d{9,10}\.\d{3,9})\s+(.*)")
_CALL = re.compile(
    rb"(\w+)\((.*)\)\s+=\s(-?\d+|\?|0x[0-9a-f]+)(?:<(.*?)>)?"
    rb"(?:\s[A-Z]\w+\s\(.*?\))?(?:\s\(.*?\))?\s*(?:<(\d+\.\d+)>)?\s*"
)
_UNFINISHED = b"<unfinished ...>"
_RESUMED = re.compile(rb"<\.\.\. (\w+) resumed>(.*)")
_DESCRIPTOR = re.compile(rb"(\d+)(?:<(.*?)>)?\s*(?:,|$)")
_TEXT = re.compile(rb'"((?:[^"\\]|\\.)*)"(\.\.\.)?')
_LAST = re.compile(rb",\s*(\d+)$")
_SEEK = re.compile(rb",\s*(-?\d+),\s*(?:\[.*\],\s*)?SEEK_(\w+)$")
_ESCAPE = re.compile(rb"\\(x[0-9a-f]{2}|[0-7]{1,3}|.)", re.DOTALL)
_ESCAPED = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"v": b"\v", b"f": b"\f"}
_NO_FILE = re.compile(rb"(?:socket|pipe|anon_inode|TCP|UDP|UNIX|NETLINK)\w*:.*")
_POINTER = {
    **dict.fromkeys((b"read", b"readv"), READ),
    **dict.fromkeys((b"write", b"writev"), WRITE),
}
_PLACED = {
    **dict.fromkeys((b"pread64", b"pread", b"preadv"), READ),
    **dict.fromkeys((b"pwrite64", b"pwrite", b"pwritev"), WRITE),
}
_FORKS = (b"clone", b"clone3", b"fork", b"vfork")
_MOVES = (b"sendfile", b"sendfile64", b"copy_file_range", b"splice", b"preadv2", b"pwritev2",
          b"io_submit", b"mmap")  # fmt: skip
_OPENS = (b"open", b"openat", b"openat2", b"creat")


def is_call(line: bytes) -> bool:
    """Whether a line is one of strace's with -ttt."""
    match = _LINE.fullmatch(line.rstrip())
    if match is None:
        return False
    text = match[4]
    return (
        _CALL.fullmatch(text) is not None
        or text.endswith(_UNFINISHED)
        or text.startswith((b"<... ", b"+++ ", b"--- "))
    )


def read(log: Path, sink: AccessSink) -> None:
    """Put all calls on files into the sink; each process becomes a rank, in their order."""
    reader = _Reader(sink)
    for number, line in lines_of(log, 1 << 20):
        if not line.strip() or line.startswith(b"strace: "):
            continue
        try:
            reader.take(line.rstrip())
        except Malformed as problem:
            raise Error(f"{log}:{number}: {problem}") from None


@dataclass
class _Open:
    """An open file, which descriptors of several processes may be of."""

    path: bytes
    append: bool = False
    position: int | None = 0


@dataclass
class _Process:
    number: int  # in the sink
    folder: bytes = b""
    files: dict[int, _Open] = field(default_factory=dict)


@dataclass(frozen=True)
class _Call:
    name: bytes
    arguments: bytes
    result: int
    result_path: bytes
    start_ns: int
    end_ns: int


class _Reader:
    def __init__(self, sink: AccessSink):
        self._sink = sink
        self._processes: dict[bytes, _Process] = {}  # by thread
        self._begun: dict[bytes, tuple[bytes, bytes]] = {}  # by thread: start, text
        self._ends: dict[bytes, int] = {}  # of a file that was written here
        self._named = False

    def take(self, line: bytes) -> None:
        """A line. Raises Malformed."""
        match = _LINE.fullmatch(line)
        if match is None:
            raise Malformed(f"{quoted(line)} is no line of strace's: {EXPECTED}")
        thread, start, text = match[1] or match[2] or b"0", match[3], match[4]
        if text.startswith((b"--- ", b"+++ ")):
            return
        if text.endswith(_UNFINISHED):
            self._begun[thread] = (start, text[: -len(_UNFINISHED)].rstrip())
            return
        resumed = _RESUMED.fullmatch(text)
        if resumed is not None:
            begun = self._begun.pop(thread, None)
            if begun is None:
                return  # begun before strace came
            start, text = begun[0], begun[1] + resumed[2]
        said = _CALL.fullmatch(text)
        if said is None:
            raise Malformed(f"{quoted(text)} is no call of strace's: {EXPECTED}")
        name, arguments, result, path, seconds = said.groups()
        begin = seconds_ns(start, "the time")
        taken = seconds_ns(seconds, "the duration") if seconds else 0
        if not (result.startswith(b"-") or result == b"?"):
            try:
                value = int(result, 0)
            except ValueError:
                raise Malformed(f"the result {quoted(result)} is no number") from None
            self._call(thread, _Call(name, arguments, value, path or b"", begin, begin + taken))

    def _process(self, thread: bytes) -> _Process:
        found = self._processes.get(thread)
        if found is None:
            pid = whole(thread, "the pid", most=(1 << 31) - 1)
            found = _Process(self._sink.process(("strace", thread), None, pid))
            self._processes[thread] = found
        return found

    def _call(self, thread: bytes, call: _Call) -> None:
        name = call.name
        if name in _FORKS:
            return self._fork(thread, call)
        if name == b"execve":
            if not self._named and (text := _TEXT.match(call.arguments)):
                self._named = True
                self._sink.program = _plain(text[1]).decode("utf-8", "surrogateescape")
            return None
        doing: Callable[[_Process, _Call], None] | None = None
        if name in _OPENS:
            doing = self._open
        elif name in _POINTER or name in _PLACED:
            doing = self._move
        else:
            doing = self._others.get(name)
        if doing is not None:
            return doing(self._process(thread), call)
        anonymous = name == b"mmap" and b"MAP_ANONYMOUS" in call.arguments
        if name in _MOVES and call.result and not anonymous:
            self._sink.left_out[name.decode()] += 1
        return None

    @property
    def _others(self) -> dict[bytes, Callable[[_Process, _Call], None]]:
        return {
            **dict.fromkeys((b"lseek", b"_llseek"), self._seek),
            **dict.fromkeys((b"fsync", b"fdatasync"), self._sync),
            **dict.fromkeys((b"dup", b"dup2", b"dup3", b"fcntl"), self._duplicate),
            **{b"close": self._close, b"chdir": self._chdir},
        }

    def _fork(self, thread: bytes, call: _Call) -> None:
        parent = self._process(thread)
        child = b"%d" % call.result
        if not call.result or child in self._processes:
            return
        if b"CLONE_THREAD" in call.arguments:
            self._processes[child] = parent
            return
        number = self._sink.process(("strace", child), None, call.result)
        self._processes[child] = _Process(number, parent.folder, dict(parent.files))

    def _open(self, process: _Process, call: _Call) -> None:
        text = _TEXT.search(call.arguments)
        if text is None or text[2]:
            return
        path = call.result_path or _plain(text[1])
        if not path.startswith(b"/") and process.folder:
            path = process.folder.rstrip(b"/") + b"/" + path
        flags = call.arguments[text.end() :]
        if b"O_DIRECTORY" in flags or b"O_PATH" in flags or not path:
            return
        if b"O_TRUNC" in flags or call.name == b"creat":
            self._ends[path] = 0
        process.files[call.result] = _Open(path, b"O_APPEND" in flags)
        self._put(process, call, OPEN, path, 0, 0)

    def _file(self, process: _Process, call: _Call) -> _Open | None:
        match = _DESCRIPTOR.match(call.arguments)
        if match is None:
            return None
        descriptor = int(match[1])
        found = process.files.get(descriptor)
        path = match[2]
        if path and (_NO_FILE.fullmatch(path) or not path.startswith(b"/")):
            return None
        if path and (found is None or found.path != path):
            # With -y a file is known that was open before strace came; its position is not.
            found = process.files[descriptor] = _Open(path, position=None)
        return found

    def _move(self, process: _Process, call: _Call) -> None:
        file = self._file(process, call)
        placed = call.name in _PLACED
        kind = _PLACED[call.name] if placed else _POINTER[call.name]
        if file is None:
            match = _DESCRIPTOR.match(call.arguments)
            if match is not None and int(match[1]) > 2 and not match[2]:
                self._sink.left_out[f"{call.name.decode()}, of what was not opened"] += 1
            return
        if placed:
            last = _LAST.search(call.arguments)
            if last is None:
                raise Malformed(f"{call.name.decode()} without an offset")
            offset = whole(last[1], "the offset")
        else:
            if file.append and kind == WRITE:
                file.position = self._ends.get(file.path, file.position)
            if file.position is None:
                self._sink.left_out[f"{call.name.decode()}, at a place that is not known"] += 1
                return
            offset = file.position
            file.position = offset + call.result
        if kind == WRITE:
            self._ends[file.path] = max(self._ends.get(file.path, 0), offset + call.result)
        self._put(process, call, kind, file.path, offset, call.result)

    def _seek(self, process: _Process, call: _Call) -> None:
        file = self._file(process, call)
        if file is not None and call.name == b"lseek":
            file.position = call.result
        elif file is not None:
            match = _SEEK.search(call.arguments)
            known = match is not None and match[2] == b"SET"
            file.position = int(match[1]) if match is not None and known else None

    def _sync(self, process: _Process, call: _Call) -> None:
        file = self._file(process, call)
        if file is not None:
            self._put(process, call, SYNC, file.path, 0, 0)

    def _duplicate(self, process: _Process, call: _Call) -> None:
        if call.name == b"fcntl" and b"F_DUPFD" not in call.arguments:
            return
        file = self._file(process, call)
        if file is not None:
            process.files[call.result] = file
        else:
            process.files.pop(call.result, None)

    def _close(self, process: _Process, call: _Call) -> None:
        file = self._file(process, call)
        match = _DESCRIPTOR.match(call.arguments)
        if match is not None:
            process.files.pop(int(match[1]), None)
        if file is not None and file not in process.files.values():
            self._put(process, call, CLOSE, file.path, 0, 0)

    def _chdir(self, process: _Process, call: _Call) -> None:
        text = _TEXT.match(call.arguments)
        if text is not None and not text[2]:
            folder = _plain(text[1])
            absolute = folder.startswith(b"/")
            process.folder = folder if absolute else process.folder + b"/" + folder

    def _put(
        self, process: _Process, call: _Call, kind: int, path: bytes, offset: int, length: int
    ) -> None:
        if kind in (READ, WRITE) and not length:
            return  # the file's end: it moved nothing
        start, end = call.start_ns, call.end_ns
        self._sink.add(process.number, kind, path, offset, length, start, end)


def _plain(text: bytes) -> bytes:
    """A text without strace's escapes."""

    def character(match: re.Match[bytes]) -> bytes:
        word = match[1]
        if word[:1] == b"x":
            return bytes([int(word[1:], 16)])
        if b"0" <= word[:1] <= b"7":
            return bytes([int(word, 8) & 0xFF])
        return _ESCAPED.get(word, word)

    return _ESCAPE.sub(character, text)
