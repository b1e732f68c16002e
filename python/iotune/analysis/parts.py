"""The work as parts that any process can do: each leaves its result in files of a folder."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from iotune.analysis.sources import Source
from iotune.core import native_part
from iotune.errors import Error
from iotune.traces.log_totals import summarized

ALGORITHMS = ("ours", "he2013")
PREDICTORS = ("nest", "unit", "tree", "markov", "stride", "readahead")
LAYERS = {"mpiio": 1, "stdio": 2, "posix": 3}  # recorder::Layer

# A part opens its trace anew: it is worth so many calls at least.
_LEAST_CALLS = 1 << 18
_PARTS_A_WORKER = 4


@dataclass(frozen=True)
class Options:
    """What is asked for."""

    algorithm: str = "ours"
    layers: Sequence[str] = field(default_factory=lambda: tuple(LAYERS))
    ahead: int = 0  # accesses of each stream that are predicted
    predictor: str = ""  # default: nest, and unit with he2013
    shown: int = 64  # groups of streams a file and layer
    shown_terms: int = 8
    most_entries: int = 1 << 21  # he2013: of all streams of a trace, to be joined in memory

    def __post_init__(self) -> None:
        """Refuse what there is not. Raises Error."""
        if self.algorithm not in ALGORITHMS:
            raise Error(f"there is no algorithm {self.algorithm!r}: {', '.join(ALGORITHMS)}")
        if self.predictor and self.predictor not in PREDICTORS:
            raise Error(f"there is no predictor {self.predictor!r}: {', '.join(PREDICTORS)}")
        for layer in self.layers:
            if layer not in LAYERS:
                raise Error(f"there are no streams of layer {layer!r}: {', '.join(LAYERS)}")
        if not 0 <= self.ahead <= 1024:
            raise Error("at most 1024 accesses are predicted")

    @property
    def chosen_predictor(self) -> str:
        """The one that is asked for, or the algorithm's own."""
        return self.predictor or ("nest" if self.algorithm == "ours" else "unit")

    @property
    def layer_mask(self) -> int:
        """A bit for each recorder::Layer."""
        return sum(1 << LAYERS[layer] for layer in set(self.layers))


@dataclass(frozen=True)
class Part:
    """Some processes of one trace, or the summary of all of them."""

    number: int
    kind: str  # streams, he2013, summary
    source: int
    calls: int
    first: int = 0  # process
    count: int = 0

    def log(self, folder: Path) -> str:
        """Its pattern log."""
        return str(folder / f"part-{self.number}.patterns")

    def records(self, folder: Path) -> str:
        """What belongs to its streams (analyzer/streams/analyze_part.h)."""
        return str(folder / f"part-{self.number}.records")

    def done(self, folder: Path) -> Path:
        """There once the part is done."""
        return folder / f"part-{self.number}.json"


def parts_of(sources: Sequence[Source], options: Options, workers: int) -> list[Part]:
    """All parts, those that may take longest first of each trace."""
    parts: list[Part] = []

    def add(kind: str, source: int, calls: int, first: int = 0, count: int = 0) -> None:
        parts.append(Part(len(parts), kind, source, calls, first, count))

    for number, source in enumerate(sources):
        calls = native_part().process_calls(source.trace)
        total = sum(calls)
        add("summary", number, 0)
        if options.algorithm == "he2013":
            # Its index is one for all ranks.
            add("he2013", number, total)
            continue
        share = max(_LEAST_CALLS, total // (workers * _PARTS_A_WORKER) + 1)
        first = held = 0
        for process, count in enumerate(calls):
            held += count
            if held >= share or process == len(calls) - 1:
                add("streams", number, held, first, process + 1 - first)
                first, held = process + 1, 0
    return parts


def run_part(
    part: Part, source: Source, options: Options, folder: Path, tell: Callable[[int], None]
) -> None:
    """Do it. `tell` is called with calls done since the last time. Raises Error."""
    trace = source.trace
    result: Any
    if part.kind == "summary":
        result = summarized(Path(trace))
    else:
        native = native_part()
        common = {"layers": options.layer_mask, "predictor": options.chosen_predictor}
        if part.kind == "he2013":
            result = native.he2013_streams(
                trace,
                **common,
                ahead=options.ahead,
                shown=options.shown,
                most_entries=options.most_entries,
                tell=tell,
            )
        else:
            result = native.analyze_part(
                trace,
                part.first,
                part.count,
                **common,
                ahead=options.ahead,
                log=part.log(folder),
                records=part.records(folder),
                tell=tell,
            )
    done = part.done(folder)
    whole = done.with_suffix(".tmp")
    whole.write_text(json.dumps(result), encoding="ascii")
    os.replace(whole, done)
