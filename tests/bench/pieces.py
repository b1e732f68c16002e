"""Benchmarks in pieces: each is measured and kept by itself.

  CASE=REGEX    those pieces alone
  --list        their names, and what each took when it was measured last
  --again       those that were measured already, too

NAME.state.json holds what was measured; a stopped benchmark goes on from it. NAME.json is the table
of all pieces that it holds.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import time
from collections.abc import Callable, Mapping
from typing import Any

from bench import paired

Piece = Callable[[paired.Table], None]


def arguments(description: str | None, **defaults: int) -> argparse.Namespace:
    """As paired.arguments, and what a run in pieces takes."""
    paired.clean_up_when_stopped()
    parser = paired.parser(description, **defaults)
    parser.add_argument("--list", action="store_true", help="the pieces' names and times")
    parser.add_argument("--again", action="store_true", help="measure what is measured already")
    return parser.parse_args()


def run(name: str, options: argparse.Namespace, pieces: Mapping[str, Piece]) -> int:
    """Measure what is wanting, print and write all; return the exit status."""
    path = options.out / f"{name}.state.json"
    state: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    chosen = re.compile(os.environ.get("CASE") or "")
    wanted = [piece for piece in pieces if chosen.search(piece)]
    if options.list:
        for piece in wanted:
            known = state.get(piece)
            print(f"{piece}: {known['seconds']:.0f} s" if known else f"{piece}: not measured")
        return 0
    if not wanted:
        raise SystemExit(f"CASE={chosen.pattern} is none of: {'; '.join(pieces)}")
    options.out.mkdir(parents=True, exist_ok=True)
    for piece in wanted:
        if piece in state and not options.again:
            continue
        table = paired.Table(name)
        began = time.monotonic()
        pieces[piece](table)
        if not table.rows:  # it could not be measured here, and has said so
            continue
        state[piece] = {
            "rows": table.rows, "rounds": table.rounds, "machine": table.machine,
            "seconds": time.monotonic() - began,
        }  # fmt: skip
        draft = path.with_suffix(".json.new")
        draft.write_text(json.dumps(state) + "\n")
        draft.replace(path)
    whole = paired.Table(name)
    for piece in pieces:
        whole.rows += state.get(piece, {}).get("rows", [])
        whole.rounds |= state.get(piece, {}).get("rounds", {})
    return whole.finish(options.out)
