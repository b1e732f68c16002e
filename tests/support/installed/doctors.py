"""`iotune doctor`, asked as a user of a home of his own asks it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any


class Patient:
    """A user with a home, who types in a folder of his own."""

    def __init__(self, root: Path):
        self.root = root
        self.home = root / "home"
        self.work = root / "here"
        for folder in (self.home, self.work):
            folder.mkdir(exist_ok=True)
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("IOTUNE_", "HDF5_", "ROMIO_", "MPICH_", "OMPI_", "XDG_"))
        }
        self.environment |= {"HOME": str(self.home), "IOTUNE_BUFFER_DIR": str(root / "buffers")}

    def typed(
        self, *words: object, before: Callable[[], None] | None = None, **more: object
    ) -> subprocess.CompletedProcess[str]:
        """What `iotune doctor` with these words says; `more`: variables of the environment."""
        done = subprocess.run(
            [sys.executable, "-m", "iotune", "doctor", *map(str, words)],
            cwd=self.work,
            env=self.environment | {name: str(value) for name, value in more.items()},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            preexec_fn=before,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def ask(self, *words: object, **how: Any) -> list[dict[str, str]]:
        """Its checks; the exit status is held to them."""
        done = self.typed("--json", *words, **how)
        assert done.returncode in (0, 1), done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        fails = any(one["verdict"] == "does not work" for one in found["checks"])
        assert done.returncode == (1 if fails else 0)
        checks: list[dict[str, str]] = found["checks"]
        return checks

    def about(self, *command: object, **how: Any) -> list[dict[str, str]]:
        """The checks of a program's command line."""
        return self.ask("--", *command, **how)


def says(
    found: Sequence[dict[str, str]], wanted: str, verdict: str, *texts: str, subject: str = ""
) -> None:
    """Demand a check with this verdict and texts, of that subject where one is given."""
    of_kind = [one for one in found if one["id"] == wanted and subject in one["subject"]]
    assert any(
        one["verdict"] == verdict
        and all(text in f"{one['evidence']} {one['todo']} {one['subject']}" for text in texts)
        for one in of_kind
    ), of_kind
