"""A user of iotune, for tests that type its commands on real runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from iotune.replay.mpi import find_mpi
from iotune.schemas import names
from support import preloaded
from support.installed.json_schemas import conforming
from support.repository import KERNELS


class Home:
    """A user of iotune: a directory to work in, a database, traces and buffers of its own."""

    def __init__(self, root: Path):
        self.work = root / "work dir"  # a blank: paths are never split
        self.work.mkdir()
        self.root = root
        self.buffers = root / "buffers"
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("IOTUNE_") or name in ("IOTUNE_LIB", "IOTUNE_MPIRUN")
        }
        for kind in ("DATA", "STATE", "CONFIG"):
            self.environment[f"XDG_{kind}_HOME"] = str(root / kind.lower())
        # One run in eight would do without its settings else.
        self.environment["IOTUNE_EXPLORE"] = "off"
        # Short runs have no time to learn else, and the next command does it.
        self.environment["IOTUNE_LEARN_MS"] = "20000"
        # And they move little.
        self.environment["IOTUNE_KEEP_ABOVE_MIB"] = "0"
        self.environment["IOTUNE_EXCLUDE_PROGRAMS"] = "none"
        self.environment["IOTUNE_BUFFER_DIR"] = str(self.buffers)

    def on_fake_storage(self, storage: str) -> Path:
        """Let `work` pass for "lustre" or "ceph"; where the stand-in keeps layouts and its log."""
        store = self.root / "store"
        store.mkdir()
        self.environment |= {
            **preloaded.variables(KERNELS.parent / "lib" / "libfake_storage.so"),
            "FAKE_STORAGE": storage,
            "FAKE_ROOT": str(self.work),
            "FAKE_STORE": str(store),
        }
        return store

    def type(
        self, *words: str, status: int = 0, state_home: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Type a command of iotune and demand its exit status."""
        done = subprocess.run(
            [sys.executable, "-m", "iotune", *words],
            cwd=self.work,
            env=self.environment | ({"XDG_STATE_HOME": str(state_home)} if state_home else {}),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == status, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done

    def asked(self, *words: str) -> Any:
        """What a command answers with --json, held against its schema."""
        name = next(known for known in ("-".join(words[:2]), words[0]) if known in names())
        if words[0] == "train" and "--dry-run" in words:
            name = "train-plan"
        return conforming(name, self.type(*words, "--json").stdout)

    def calls(self, *words: str) -> list[dict[str, Any]]:
        """The newest trace's calls."""
        text = self.type("show", "--calls", *words, "--json").stdout
        return [json.loads(line) for line in text.splitlines()]

    def mpi(self, kernel: str, *options: str, ranks: int = 2) -> list[str]:
        return [*find_mpi().command(ranks), str(KERNELS / kernel), *options]

    def run(self, kernel: str, *options: str, ranks: int = 2) -> str:
        return self.type("run", "--", *self.mpi(kernel, *options, ranks=ranks)).stderr

    def dominant(self, *trace: str) -> dict[str, Any]:
        """The dominant dataset of the newest trace's only HDF5 file."""
        files = [one for one in self.asked("show", *trace)["files"] if one["speaker"] is not None]
        assert len(files) == 1
        found: dict[str, Any] = files[0]["datasets"][files[0]["speaker"]]
        return found

    def traces(self) -> list[Path]:
        return sorted((self.root / "state").rglob("*.iotrace"))
