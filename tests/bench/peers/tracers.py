"""The tracers that are set beside each other: none, iotune, and dftracer out of its wheel."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from support import preloaded
from support.repository import ROOT

# What tools/setup.sh peers fetched.
PEERS = ROOT / "build" / "peers"


def dftracer_library() -> Path | None:
    """The preload of dftracer's wheel; None where it is not installed."""
    found = PEERS.glob("lib/python*/site-packages/dftracer/lib*/libdftracer_preload.so")
    return next(iter(sorted(found)), None)


def version_of(package: str) -> str:
    """The version of a package in the peers' environment; "" where it is not there."""
    words = [str(PEERS / "bin" / "python"), "-c",
             f"from importlib.metadata import version; print(version({package!r}))"]  # fmt: skip
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip()


@dataclass
class Tracer:
    """A tracer, and a folder of its own that holds all that it leaves."""

    name: str
    libraries: tuple[Path, ...]
    folder: Path

    def environment(self, *shim: Path) -> dict[str, str]:
        """The whole environment of a traced process; a shim is in every arm alike."""
        env = preloaded.plain_environment() | preloaded.variables(*shim, *self.libraries)
        if self.name == "iotune":
            env |= {
                "IOTUNE_MODE": "record", "IOTUNE_RECORD": "all", "IOTUNE_DB": "none",
                "IOTUNE_BUFFER_DIR": str(self.folder / "buffers"),
                "XDG_STATE_HOME": str(self.folder), "XDG_DATA_HOME": str(self.folder),
            }  # fmt: skip
        elif self.name == "dftracer":
            # With metadata, or there are no offsets; its defaults otherwise.
            env |= {
                "DFTRACER_ENABLE": "1", "DFTRACER_INC_METADATA": "1", "DFTRACER_INIT": "PRELOAD",
                "DFTRACER_DATA_DIR": "all", "DFTRACER_LOG_FILE": str(self.folder / "trace"),
            }  # fmt: skip
        return env

    def clear(self) -> None:
        """Forget what earlier runs left."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    def bytes_left(self) -> int:
        """The size of all files that the tracer left."""
        return sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())

    def kept(self, path: Path) -> int:
        """How many pwrites of a file it kept; iotune's as a user's next command finds them."""
        if self.name == "iotune":
            return self._kept_by_iotune(path)
        return sum(self._kept_by_dftracer(log) for log in self.folder.glob("trace*"))

    def _kept_by_iotune(self, path: Path) -> int:
        import iotune

        env = {
            name: value for name, value in self.environment().items() if name != preloaded.VARIABLE
        }
        subprocess.run([sys.executable, "-m", "iotune", "show"], env=env, check=False,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        traces = [iotune.open_trace(trace) for trace in self.folder.rglob("*.iotrace")]
        return sum(
            sum(1 for _ in trace.each_call(call="pwrite", file=str(path))) for trace in traces
        )

    def _kept_by_dftracer(self, log: Path) -> int:
        return sum(1 for line in lines_of(log) if _is_pwrite(line))


def lines_of(log: Path) -> Iterator[str]:
    """The lines of a log, compressed or not, as far as it goes: a killed process cuts it."""
    content = log.read_bytes()
    text = b""
    while content[:2] == b"\x1f\x8b":  # gzip, perhaps several members
        stream = zlib.decompressobj(wbits=31)
        try:
            text += stream.decompress(content)
        except zlib.error:
            break
        content = stream.unused_data
    else:
        text += content
    yield from text.decode(errors="replace").splitlines()


def _is_pwrite(line: str) -> bool:
    try:
        call = json.loads(line.strip().rstrip(","))
    except ValueError:
        return False
    return isinstance(call, dict) and call.get("name") in ("pwrite", "pwrite64")


def tracers(library: Path, scratch: Path) -> dict[str, Tracer]:
    """All that can be had here, by name."""
    found = {
        "none": Tracer("none", (), scratch / "none"),
        "iotune": Tracer("iotune", (library,), scratch / "iotune"),
    }
    peer = dftracer_library()
    if peer is None:
        print("NOT VERIFIED dftracer: not installed (tools/setup.sh peers)", file=sys.stderr)
    else:
        found["dftracer"] = Tracer("dftracer", (peer,), scratch / "dftracer")
    return found
