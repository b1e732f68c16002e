"""What all of pytest's tests share."""

from __future__ import annotations

import os

# Tests that run at once have homes of their own, as far as they use the environment's.
worker = os.environ.get("PYTEST_XDIST_WORKER")
if worker is not None:
    for kind in ("DATA", "STATE", "CONFIG"):
        name = f"XDG_{kind}_HOME"
        if name in os.environ:
            os.environ[name] = os.path.join(os.environ[name], worker)
