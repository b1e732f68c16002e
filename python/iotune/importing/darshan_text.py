"""The text that darshan-parser and darshan-dxt-parser write, as the words that darshan_log takes.

Both have the job's comments at the head. A counter is a line `module rank record name value file
mount kind`, between tabs; a segment of DXT `X_POSIX rank write number offset length start end`,
below comments that name its file. The two may stand in one file, one behind the other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote_from_bytes

from iotune.importing.darshan_totals import MODULES
from iotune.importing.darshan_worker import true_extents
from iotune.importing.lines import Malformed, lines_of

_COMMENT = re.compile(rb"#\s*([A-Za-z][\w ]*?):\s*(.*?)\s*")
_MODULE = re.compile(rb"#\s*([\w/-]+) module: \d+ bytes.*")
_CUT = re.compile(rb"#.*\b([A-Z][\w-]+) module contains incomplete data.*")
_FILE = re.compile(rb"#\s*DXT,\s*file_id:\s*\d+,\s*file_name:\s*(.*?)\s*")
_HOST = re.compile(rb"#\s*DXT,\s*rank:\s*(\d{1,9}),\s*hostname:\s*(\S+)\s*")
_TARGET = re.compile(r"LUSTRE_(?:COMP(\d*)_)?OST_ID_\d+")
_PART = re.compile(r"LUSTRE_COMP(\d*)_(.*)")
_SEGMENT = re.compile(
    rb"\s*X_(POSIX|MPIIO)\s+(-?\d+)\s+(read|write)\s+\d+\s+(\S+)\s+(\S+)\s+(\S+)\s+(\S+).*"
)
_OLD = re.compile(rb"-?\d+\t\d+\tCP_\w+\t.*")  # of Darshan 2
_UNNAMED = b"unnamed"


def is_darshan_text(line: bytes) -> bool:
    """Whether a line is one that Darshan's text has and no other log."""
    if re.match(rb"#\s*darshan log version:", line) or _SEGMENT.fullmatch(line):
        return True
    return _OLD.fullmatch(line) is not None or _is_counter(line)


def _is_counter(line: bytes) -> bool:
    words = line.split(b"\t")
    return len(words) >= 6 and words[0].decode("latin-1") in (*MODULES, "HEATMAP")


class DarshanText:
    """Reads a text; `line` is where it stands."""

    def __init__(self, log: Path):
        self.line = 0
        self._log = log
        self._job: dict[bytes, bytes] = {}
        self._modules: dict[str, bool] = {}  # whether it was cut
        self._mounts: list[tuple[bytes, bytes]] = []
        self._counters: tuple[Any, dict[str, Any]] = (None, {})
        self._heats: dict[tuple[int, bytes], dict[str, Any]] = {}
        self._ready: list[list[str]] = []
        self._segments: dict[tuple[int, str, bytes], list[tuple[bytes, ...]]] = {}
        self._hosts: dict[int, bytes] = {}
        self._path = _UNNAMED
        self._said_job = False

    def words(self) -> Iterator[list[str]]:
        """What darshan_worker would print of the log, split. Raises Malformed, Error."""
        for number, line in lines_of(self._log):
            self.line = number
            if line.startswith(b"#"):
                self._comment(line)
            elif line.strip():
                self._take(line)
            if self._ready:
                if not self._said_job:
                    yield from self._head()
                yield from self._ready
                self._ready.clear()
        self._end_record()
        yield from [] if self._said_job else self._head()
        yield from self._ready
        for (rank, name), heat in self._heats.items():
            text = json.dumps({"read": [], "write": [], "width": 0.0} | heat)
            yield ["heat", str(rank), quote_from_bytes(name), text]
        yield from self._traced()
        yield ["end"]

    def _comment(self, line: bytes) -> None:
        cut = _CUT.fullmatch(line)
        module = _MODULE.fullmatch(line)
        file, host = _FILE.fullmatch(line), _HOST.fullmatch(line)
        said = _COMMENT.fullmatch(line)
        if cut:
            self._modules[cut[1].decode()] = True
        elif module:
            self._modules.setdefault(module[1].decode(), False)
        elif file:
            self._path = file[1] or _UNNAMED
        elif host:
            self._hosts[int(host[1])] = host[2]
        elif line.startswith(b"# mount entry:"):
            words = line.split(b"\t")
            if len(words) >= 3:
                self._mounts.append((words[1], words[2].strip()))
        elif said:
            self._job.setdefault(said[1].strip(), said[2])

    def _take(self, line: bytes) -> None:
        segment = _SEGMENT.fullmatch(line)
        if segment is not None:
            module = "DXT_" + segment[1].decode()
            key = (int(segment[2]), module, self._path)
            self._modules.setdefault(module, False)
            self._segments.setdefault(key, []).append(segment.groups()[2:])
            return
        if _OLD.fullmatch(line):
            raise Malformed("the text of a log of Darshan 2: logs of 3.0 and later can be read")
        if not _is_counter(line):
            raise Malformed(
                "neither a counter of darshan-parser nor a segment of darshan-dxt-parser"
            )
        self._counter(line.split(b"\t"))

    def _counter(self, words: list[bytes]) -> None:
        module, name = words[0].decode(), words[3].decode("utf-8", "replace")
        rank, path = int(words[1]), words[5]
        self._modules.setdefault(module, False)
        value = _number(words[4])
        if module == "HEATMAP":
            self._heat(rank, path, name, value)
            return
        key = (module, rank, words[2], path)
        if key != self._counters[0]:
            self._end_record()
            self._counters = (key, {})
        counters = self._counters[1]
        target, part = _TARGET.fullmatch(name), _PART.fullmatch(name)
        if target:
            if target[1] in (None, "", "1"):
                counters.setdefault("osts", []).append(value)
        elif part:
            if part[1] in ("", "1"):  # of a composite layout the first
                counters["LUSTRE_COMP_" + part[2]] = value
        elif value not in (0, -1):
            counters[name] = value

    def _heat(self, rank: int, path: bytes, name: str, value: float) -> None:
        heat = self._heats.setdefault((rank, path), {})
        if name == "HEATMAP_F_BIN_WIDTH_SECONDS":
            heat["width"] = value
        elif name.startswith(("HEATMAP_READ_BIN_", "HEATMAP_WRITE_BIN_")):
            heat.setdefault(name.split("_")[1].lower(), []).append(int(value))

    def _end_record(self) -> None:
        key, counters = self._counters
        self._counters = (None, {})
        if key is None:
            return
        module, rank, _, path = key
        text = json.dumps(counters)
        self._ready.append(["counted", module, str(rank), quote_from_bytes(path), text])

    def _head(self) -> Iterator[list[str]]:
        self._said_job = True
        job = self._job
        start = _number(job.get(b"start_time", b"0"))
        seconds = _number(job.get(b"run time", b"0"))
        command = quote_from_bytes(job.get(b"exe", b""))
        whole = int(start)
        ranks = str(int(_number(job.get(b"nprocs", b"1"))))
        yield ["job", str(whole), str(round((start - whole) * 1e9)), ranks, command]
        version = quote_from_bytes(job.get(b"darshan log version", b"")) or "-"
        yield ["run", str(float(seconds)), version, "-"]
        for path, kind in self._mounts:
            yield ["mount", quote_from_bytes(path) or "-", quote_from_bytes(kind) or "-"]

    def _traced(self) -> Iterator[list[str]]:
        """DXT's records, rank by rank, of each those of POSIX first."""
        for name, cut in self._modules.items():
            yield ["module", name, str(int(cut))]
        order = sorted(self._segments, key=lambda key: (key[0], key[1] != "DXT_POSIX", key[2]))
        paths = sorted({path for _, _, path in order})
        if {"DXT_POSIX", "DXT_MPIIO"} <= self._modules.keys():
            for number in sorted(true_extents(self._records(order, paths))):
                yield ["true", quote_from_bytes(paths[number])]
        for rank, module, path in order:
            host = quote_from_bytes(self._hosts.get(rank, b"")) or "-"
            yield ["record", module, str(rank), host, quote_from_bytes(path)]
            for way, offset, length, start, end in self._segments[rank, module, path]:
                word = "?" if not offset.isdigit() and module == "DXT_MPIIO" else offset.decode()
                yield [way[:1].decode(), word, length.decode(), start.decode(), end.decode()]

    def _records(
        self, order: list[tuple[int, str, bytes]], paths: list[bytes]
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """As PyDarshan has them; a file's id is its place among `paths`."""
        ids = {path: number for number, path in enumerate(paths)}
        for rank, module, path in order:
            made: dict[str, Any] = {"id": ids[path], "rank": rank}
            made |= {"read_segments": [], "write_segments": []}
            for way, offset, length, start, end in self._segments[rank, module, path]:
                made[way.decode() + "_segments"].append(
                    {
                        "offset": int(offset) if offset.isdigit() else -1,
                        "length": int(length),
                        "start_time": float(start),
                        "end_time": float(end),
                    }
                )
            yield module, made


def _number(word: bytes) -> Any:
    """An int, or a float where it is written as one; 0 for N/A. Raises Malformed."""
    text = word.decode("latin-1").strip()
    try:
        return int(text)
    except ValueError:
        pass
    try:
        value = float(text)
    except ValueError:
        if text.upper() in ("N/A", "NA", ""):
            return 0
        raise Malformed(f"{text[:40]!r} is no number") from None
    if value != value or abs(value) > 1e300:
        return 0
    return value
