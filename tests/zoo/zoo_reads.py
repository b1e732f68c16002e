"""What iotune's reading commands say of a recorded run: each ends well and prints nothing absurd.

What they say is compared where two of them tell the same: the calls of a CSV and of perfetto, the
bytes of a file in `show` and in what moved by time.
"""

from __future__ import annotations

import csv
import json
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zoo.zoo_cage import Cage

# A number that is none, less than nothing of something, or more than all of it.
ABSURD = re.compile(r"(?<![\w./-])(nan|inf|None)(?![\w./-])"
                    r"|(?<![\w.)-])-\d[\d.,]* ?([KMGT]iB|B|µs|ms|s|%)(?!\w)"
                    r"|\b(10[1-9]|1[1-9]\d|[2-9]\d\d|\d{4,})(\.\d+)? ?%")  # fmt: skip
# Fields that count or measure something; below 0 is -1 alone, where the schema says so.
COUNTS = ("calls", "ranks", "processes", "nodes", "repeats", "dropped", "speaker_count")
LARGEST_BYTES = 1 << 50  # no program of the zoo moves a PiB


@dataclass
class Said:
    """One command: how it ended and what it printed."""

    words: tuple[str, ...]
    status: int
    out: str
    err: str

    def __str__(self) -> str:
        return " ".join(word.rpartition("/")[2] for word in self.words)


@dataclass
class Reader:
    """All reading commands, on the traces that the arms of one program left."""

    cage: Cage
    faults: list[str] = field(default_factory=list)

    def run(self) -> list[str]:
        """The faults, each one line."""
        scratch = self.cage.scratch
        trace = scratch / "recorded.iotrace"
        if not trace.exists():
            return self.faults
        reported = self._json("show", "--json", trace)
        for words in ("show", "show --all", "show --calls --limit 3000", "explain", "advise",
                      "analyze"):  # fmt: skip
            self._ask(*words.split(), trace)
        for words in ("explain --json", "advise --all --json", "analyze --json"):
            self._json(*words.split(), trace)
        self._report(trace)
        other = scratch / "prefetch-hint.iotrace"
        if other.exists():
            self._ask("diff", trace, other)
            self._json("diff", "--json", trace, other)
        self._exports(trace, reported)
        return self.faults

    def _ask(self, *words: object) -> Said:
        """Run a command; faults of how it ended and of what stands in its lines."""
        said = self._call(words)
        if said.status != 0:
            self.faults.append(f"{said}: exit status {said.status}: {said.err[-300:]!r}")
        for line in said.err.splitlines():
            if not line.startswith("iotune:") or "fault of iotune's own" in line:
                self.faults.append(f"{said}: on stderr: {line[:200]!r}")
                break
        if "--json" not in words and words[0] != "export":
            self._absurd(said)
        return said

    def _call(self, words: tuple[object, ...]) -> Said:
        env = self.cage.environment(IOTUNE_BUFFER_DIR=self.cage.buffers)
        texts = tuple(map(str, words))
        done = subprocess.run([self.cage.iotune, *texts], cwd=self.cage.scratch, env=env,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=300,
                              text=True, errors="surrogateescape", check=False)  # fmt: skip
        return Said(texts, done.returncode, done.stdout, done.stderr)

    def _absurd(self, said: Said) -> None:
        for line in said.out.splitlines():
            if found := ABSURD.search(line):
                self.faults.append(f"{said}: {found.group()!r} in {line.strip()[:160]!r}")
                return

    def _json(self, *words: object) -> dict[str, Any]:
        said = self._ask(*words)
        try:
            value: dict[str, Any] = json.loads(said.out, parse_constant=_no_constant)
        except ValueError as problem:
            self.faults.append(f"{said}: not JSON: {problem}")
            return {}
        self.faults += [f"{said}: {text}" for text in list(absurd_numbers(value))[:3]]
        return value

    def _report(self, trace: Path) -> None:
        page = self.cage.scratch / "report.html"
        said = self._ask("report", "--force", "-o", page, trace)
        text = page.read_text(errors="replace") if page.exists() else ""
        page.unlink(missing_ok=True)
        words = re.sub(r"<(script|style|code)\b.*?</\1>", " ", text, flags=re.S)
        self._absurd(Said(said.words, 0, re.sub(r"<[^>]*>", "\n", words), ""))
        if len(text) > 3 << 20:
            self.faults.append(f"{said}: a page of {len(text)} bytes")
        if found := re.search(r'(x|y|width|height|d|points|transform)="[^"]*\b(nan|inf)\b', text):
            self.faults.append(f"{said}: {found.group()[:100]!r} in a figure")

    def _exports(self, trace: Path, reported: dict[str, Any]) -> None:
        scratch = self.cage.scratch
        kinds = {"csv": "calls.csv", "perfetto": "calls.json", "bytes-by-time": "time.csv",
                 "parquet": "calls.parquet"}  # fmt: skip
        for kind, name in kinds.items():
            self._ask("export", trace, "--format", kind, "-o", scratch / name)
        with (scratch / "calls.csv").open(newline="", errors="surrogateescape") as file:
            rows = list(csv.DictReader(file))
        events = json.loads((scratch / "calls.json").read_text(errors="surrogateescape"))
        slices = [one for one in events["traceEvents"] if one.get("ph") in ("X", "B")]
        if reported and reported["calls"] != len(rows):
            self.faults.append(f"show counts {reported['calls']} calls, the CSV has {len(rows)}")
        if len(slices) < sum(row["layer"] != "iotune" for row in rows):
            self.faults.append(f"perfetto has {len(slices)} slices of {len(rows)} calls")
        moved = bytes_by_file((scratch / "time.csv").open(newline="", errors="surrogateescape"))
        for one in reported.get("files", []):
            for way, operation in (("written", "write"), ("read", "read")):
                here, there = one[f"bytes_{way}"], moved.get((one["path"], operation), 0)
                if here != there:
                    self.faults.append(f"{one['path']}: show: {here} bytes {way}, by time: {there}")


def _no_constant(word: str) -> None:
    raise ValueError(f"{word} is no number of JSON")


def bytes_by_file(lines: Iterable[str]) -> dict[tuple[str, str], int]:
    """(file, "read" or "write") -> bytes, of an export by time."""
    moved: dict[tuple[str, str], int] = defaultdict(int)
    for row in csv.DictReader(lines):
        moved[row["file"], row["operation"]] += int(row["bytes"])
    return moved


def absurd_numbers(value: object, path: str = "") -> Iterator[str]:
    """Counts, bytes, seconds and shares in JSON that cannot be."""
    if isinstance(value, dict):
        for name, one in value.items():
            yield from absurd_numbers(one, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list):
        for one in value:
            yield from absurd_numbers(one, path + "[]")
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        name = path.rpartition(".")[2].removesuffix("[]")
        counts = "bytes" in name or "seconds" in name or name in COUNTS
        if counts and value < 0:
            yield f"{path} is {value}"
        if ("bytes" in name and value > LARGEST_BYTES) or (name == "share" and value > 1):
            yield f"{path} is {value}"
