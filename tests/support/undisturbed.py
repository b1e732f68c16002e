"""A program bare and under the preload: the same end, output and files."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import Any

from support.place import Place

PYTHON = r"""
import hashlib, mmap, multiprocessing, os, shutil, sqlite3, subprocess, tempfile, threading
with open("x.bin", "wb") as f:
    for i in range(1000): f.write(bytes([i % 251]) * 100)
    f.flush(); os.fsync(f.fileno())
with open("x.bin", "r+b") as f:
    f.seek(500); f.write(b"patch"); f.truncate(90000)
    m = mmap.mmap(f.fileno(), 0); m[0:3] = b"map"; m.close()
print(hashlib.sha1(open("x.bin", "rb").read()).hexdigest())
base = sqlite3.connect("s.db")
base.execute("create table t(a)")
base.executemany("insert into t values(?)", [(i,) for i in range(1000)])
base.commit(); print(base.execute("select sum(a) from t").fetchone()); base.close()
shutil.copy("x.bin", "y.bin"); print(os.path.getsize("y.bin"))
print(subprocess.run(["cat"], input=b"piped", capture_output=True).stdout)
def work(n): open(f"w{n}", "w").write("w" * n)
threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 5)]
[t.start() for t in threads]; [t.join() for t in threads]
with multiprocessing.get_context("fork").Pool(2) as pool: print(pool.map(abs, [-1, -2]))
try: open("/nonexistent/x")
except OSError as e: print(e.errno)
try: os.close(999)
except OSError as e: print(e.errno)
fds = sorted(os.listdir("/proc/self/fd"), key=int); print(len(fds), fds[:3])
"""


def contents(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha1(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def compare(place: Place, *command: object, ignore: tuple[str, ...] = (), **env: Any) -> None:
    """Run bare and under the preload in equal folders of one name; everything has to be equal."""
    folder = place.scratch / "here"
    seen = []
    for preload in (False, True):
        folder.mkdir()
        done = place.run(*command, cwd=folder, preload=preload, IOTUNE_TRACE=None, **env)
        files = contents(folder)
        for name in ignore:
            files.pop(name, None)
        seen.append((done, files))
        shutil.rmtree(folder)
    (bare, bare_files), (under, under_files) = seen
    assert under.status == bare.status, (bare.status, under.status, under.err)
    assert under.out == bare.out, f"bare: {bare.out!r}\nunder: {under.out!r}"
    assert under.err == bare.err, f"bare: {bare.err!r}\nunder: {under.err!r}"
    assert under_files == bare_files and bare_files, (bare_files, under_files)
