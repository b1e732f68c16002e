"""An h5py script that nobody changed: what training brings it, as a whole, interpreter and all.

The script reads a compressed dataset row by row with the chunk cache that its HDF5 has by default
(8 MiB in a wheel of HDF5 2.0, and a row needs 16 MB of chunks). It runs once under iotune, is
trained for by `iotune train`, and is then timed bare, under iotune with what was stored, and with
the cache that its author could have written, in turns. Each run of the second arm must have the
setting applied, and all must print the same sum.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench import paired
from support import preloaded

SCRIPT = Path(__file__).resolve().parent / "h5py_rows.py"
OWN_CACHE = 64 << 20
SECONDS = 600


class User:
    """A folder, and a database of its own."""

    def __init__(self, scratch: Path, rows: int) -> None:
        self.scratch = scratch
        self.words = [sys.executable, str(SCRIPT), str(scratch / "rows.h5")]
        self.rows = str(rows)
        kept = preloaded.plain_environment()
        kept.update({f"XDG_{kind}_HOME": str(scratch / kind.lower())
                     for kind in ("DATA", "STATE", "CONFIG", "CACHE")})  # fmt: skip
        # No run is left at its default, and the first one is learnt from at its end.
        kept |= {"IOTUNE_EXPLORE": "off", "IOTUNE_LEARN_MS": "20000",
                 "IOTUNE_BUFFER_DIR": str(scratch / "buffers")}  # fmt: skip
        self.environment = kept
        self.sums: set[str] = set()
        self._run(*self.words, "make")

    def _run(self, *command: str) -> str:
        done = subprocess.run(command, env=self.environment, cwd=self.scratch, text=True,
                              capture_output=True, timeout=SECONDS, check=False)  # fmt: skip
        if done.returncode != 0:
            raise paired.ArmFailed(f"{' '.join(command)}: {done.stderr[-2000:]}")
        return done.stdout

    def iotune(self, *words: str) -> str:
        """What one of its commands prints."""
        return self._run(sys.executable, "-m", "iotune", *words)

    def timed(self, *command: str) -> float:
        """Seconds of a run of the script."""
        began = time.perf_counter()
        self.sums.add(self._run(*command))
        return time.perf_counter() - began

    def bare(self) -> float:
        """As it is."""
        return self.timed(*self.words, self.rows)

    def with_own_cache(self) -> float:
        """As its author could have written it."""
        return self.timed(*self.words, self.rows, str(OWN_CACHE))

    def tuned(self) -> float:
        """Under the preload, as a user types it; demands that the setting was applied."""
        trace = self.scratch / "run.iotrace"
        trace.unlink(missing_ok=True)
        plain = self.environment
        self.environment = plain | preloaded.variables(self.library) | {"IOTUNE_TRACE": str(trace)}
        try:
            seconds = self.timed(*self.words, self.rows)
        finally:
            self.environment = plain
        files = json.loads(self.iotune("explain", str(trace), "--json"))["files"]
        verdicts = {(one["parameter"], one["verdict"])
                    for file in files for one in file["settings"]}  # fmt: skip
        if ("chunk_cache", "applied") not in verdicts:
            raise paired.ArmFailed(f"chunk_cache was not applied: {files}")
        return seconds

    def train(self) -> str:
        """Record one run and train for it; what was stored, in words."""
        self.library = self.iotune("lib").strip()
        self.iotune("run", "--", *self.words, self.rows)
        (outcome,) = json.loads(self.iotune("train", "--json"))
        if outcome["state"] != "tuned":
            raise paired.ArmFailed(f"nothing was stored: {outcome}")
        return json.dumps(outcome["settings"])


def main() -> int:
    """Measure it."""
    options = paired.arguments(__doc__, rounds=10, rows=200)
    paired.clean_up_when_stopped()
    table = paired.Table("h5py")
    with tempfile.TemporaryDirectory(prefix="iotune-h5py-") as scratch:
        user = User(Path(scratch), options.rows)
        print(f"trained: {user.train()}", file=sys.stderr)
        arms = {"bare": user.bare, "iotune": user.tuned, "own cache": user.with_own_cache}
        comparison = paired.compare(f"{options.rows} rows", arms, options.rounds, seed=options.seed)
        if len(user.sums) != 1:
            raise paired.ArmFailed(f"the arms read different values: {user.sums}")
    table.keep(comparison)
    for arm in arms:
        table.add(f"seconds of the script, {arm}", comparison.median(arm))
    table.judge("times as fast, trained", comparison.ratio("bare", "iotune"), paired.at_least(5))
    table.add("times as fast, own cache", comparison.ratio("bare", "own cache"))
    return table.finish(options.out)


if __name__ == "__main__":
    sys.exit(main())
