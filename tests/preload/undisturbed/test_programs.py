"""Programs that nobody here wrote answer alike under the preload, their files being traced."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from support.place import Place, main, not_verified
from support.preloaded import Done
from support.repository import ROOT
from support.undisturbed import compare

PYTHON = "/usr/bin/python3"

MULTIPROCESSING = r"""
import multiprocessing, os, sys
def work(n):
    with open(f"part{n}", "wb", buffering=0) as f:
        return sum(f.write(bytes([n]) * 100) for _ in range(50))
if __name__ == "__main__":
    for way in ("fork", "spawn", "forkserver"):
        with multiprocessing.get_context(way).Pool(3) as pool:
            print(way, pool.map(work, range(1, 9)), flush=True)
        process = multiprocessing.get_context(way).Process(target=work, args=(9,))
        process.start(); process.join()
        print(process.exitcode, os.path.getsize("part9"), flush=True)
"""


def missing(*programs: str) -> bool:
    absent = [name for name in programs if shutil.which(name) is None]
    if absent:
        not_verified(f"{', '.join(absent)}: not here (tools/setup.sh companions)")
    return bool(absent)


def head(file: Path) -> bytes:
    with file.open("rb") as buffer:
        return buffer.read(6)


def all_calls(place: Place) -> list[dict[str, Any]]:
    # A process that was ended while it began has a buffer that is none yet.
    begun = [file for file in place.leftovers() if head(file).strip(b"\0")]
    return [call for file in (*place.traces(), *begun) for call in place.calls(file)]


def everything(place: Place) -> str:
    """IOTUNE_INCLUDE for whatever the program touches in its folder."""
    return f"{place.scratch}/*"


def tools(place: Place) -> None:
    tree = place.scratch / "tree"
    (tree / "deep").mkdir(parents=True)
    for number in range(30):
        (tree / "deep" / f"file {number}").write_bytes(bytes([number]) * (number * 3001))
    (tree / "link").symlink_to("deep/file 3")
    steps = {
        "tar": f"tar -cf a.tar -C '{tree}' . && tar -xf a.tar --one-top-level=out && ls out/deep &&"
               " tar -czf b.tgz out && tar -tzf b.tgz | sort; rm a.tar b.tgz",
        "cp": f"cp -a '{tree}' copy && cp --sparse=always -r copy again && diff -r copy again",
        "rsync": f"rsync -a '{tree}/' one/ && rsync -ai --delete one/ two/ &&"
                 " echo more >> one/deep/file\\ 4 && rsync -ac --inplace one/ two/ && ls -R two",
        "git": f"git init -q r && cd r && git config user.email a@b && git config user.name a &&"
               f" cp -r '{tree}' t && git add . && GIT_COMMITTER_DATE='2020-01-01T00:00:00Z'"
               " git commit -q --date 2020-01-01T00:00:00Z -m one && cd .. &&"
               " git clone -q r s && git -C s log --format=%H && git -C s fsck && cat s/t/link | wc"
               " -c; rm -rf r/.git s/.git",
        "bash": "for i in 1 2 3 4; do ( echo $i > f$i; exec cat f$i ) & wait; done;"
                " exec 5<> both; echo five >&5; (echo six >&5); exec 5>&-; cat both;"
                " exec bash -c 'echo seven > last; exit 7'",
    }  # fmt: skip
    for name, script in steps.items():
        if missing(name):
            continue
        place.clear()
        compare(place, "bash", "-c", script, IOTUNE_INCLUDE=everything(place),
                GIT_CONFIG_GLOBAL="/dev/null")  # fmt: skip
        moved = [c for c in all_calls(place) if c["name"] in ("read", "write")]
        assert moved, f"{name} has written files, but its trace has no transfer"
        print(f"{name}: {len(moved)} transfers")


def sqlite(place: Place) -> None:
    if missing("sqlite3"):
        return
    script = ("pragma page_size=4096; create table t(a integer primary key, b);"
              " with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000)"
              " insert into t select i, hex(i) || 'x' from n; delete from t where a % 3 = 0;"
              " vacuum; select count(*), sum(a) from t; pragma integrity_check;")  # fmt: skip
    for journal in ("delete", "wal"):
        place.clear()
        compare(place, "sqlite3", "s.db", f"pragma journal_mode={journal}; {script}",
                IOTUNE_INCLUDE=everything(place))  # fmt: skip
        assert any(c["name"] == "pwrite" and c["numbers"][0] == 4096 for c in all_calls(place))


def fio_run(place: Place, engine: str, *more: str, preload: bool = True) -> tuple[Done, Any]:
    """What fio itself reports; None where it refuses the engine."""
    here = place.scratch / "fio"
    shutil.rmtree(here, ignore_errors=True)
    here.mkdir()
    done = place.run(
        "fio", "--name=job", f"--ioengine={engine}", "--rw=randrw", "--bsrange=4k-16k", "--size=2m",
        "--randseed=7", "--filename=data", "--output-format=json", *more, cwd=here, preload=preload,
        IOTUNE_TRACE=None, IOTUNE_INCLUDE=f"{here}/*",
    )  # fmt: skip
    assert done.said() == [], done.said()
    match = re.search(rb"\{.*\}", done.out, re.DOTALL)
    if done.status != 0 or match is None:
        return done, None
    (job,) = json.loads(match.group())["jobs"]
    numbers = {way: (job[way]["io_bytes"], job[way]["total_ios"]) for way in ("read", "write")}
    return done, (job["error"], numbers)


def fio_engine(place: Place, engine: str, seen: bool, *more: str) -> None:
    place.clear()
    bare, bare_report = fio_run(place, engine, *more, preload=False)
    if bare_report is None:
        not_verified(f"fio's engine {engine} does not run here: {bare.err.decode().strip()[-120:]}")
        return
    _, report = fio_run(place, engine, *more)
    assert report == bare_report, (bare_report, report)
    if not seen:
        return
    moved = {"read": [0, 0], "write": [0, 0]}
    calls = all_calls(place)
    data = {(c["pid"], c["keys"][0]) for c in calls
            if c["name"] == "iotune_file" and c["texts"][0].endswith("/fio/data")}  # fmt: skip
    for call in calls:
        name = call["name"]
        if len(call["keys"]) < 2 or (call["pid"], call["keys"][1]) not in data:
            continue
        if name in ("pread", "read", "preadv", "readv", "pwrite", "write", "pwritev", "writev"):
            way = moved["read" if "read" in name else "write"]
            way[0] += call["arguments"]["result"]
            way[1] += 1
    want = {way: list(numbers) for way, numbers in report[1].items()}
    # fio lays the file out before it begins.
    assert moved["read"] == want["read"], (engine, moved, want)
    laid_out = moved["write"][0] - want["write"][0]
    assert laid_out in (0, 2 << 20), (engine, moved, want)
    print(f"{engine} {' '.join(more)}: {want}")


def fio(place: Place) -> None:
    if missing("fio"):
        return
    for engine in ("psync", "sync", "pvsync"):
        fio_engine(place, engine, True)
    fio_engine(place, "psync", True, "--thread")


def fio_engines(place: Place) -> None:
    if missing("fio"):
        return
    for engine in ("pvsync2", "mmap", "splice", "libaio", "posixaio", "io_uring", "vsync"):
        fio_engine(place, engine, False, *(["--rw=write"] if engine == "splice" else []))
        fio_engine(place, engine, False, "--iodepth=8", "--fsync=16")


def multiprocessing(place: Place) -> None:
    script = place.scratch / "pools.py"
    script.write_text(MULTIPROCESSING)
    compare(place, sys.executable, "-B", script, IOTUNE_INCLUDE=everything(place))
    # Of each way eight files, and one: fifty writes each, in whatever process.
    calls = all_calls(place)
    files = {(c["pid"], c["keys"][0]): c["texts"][0] for c in calls if c["name"] == "iotune_file"}
    writes = [c for c in calls if c["name"] == "write" and c["numbers"][0] == 100
              and "/part" in files.get((c["pid"], c["keys"][1]), "")]  # fmt: skip
    assert len(writes) == 3 * 9 * 50, len(writes)


def compiler(place: Place) -> None:
    if missing("g++"):
        return
    sources = " ".join(f"'{ROOT / 'patterns' / name}'"
                       for name in ("tuple_loops.cpp", "crc32c.cpp", "extents.cpp")
                       if (ROOT / "patterns" / name).exists())  # fmt: skip
    compare(
        place, "sh", "-c", f"g++ -std=c++20 -O1 -I'{ROOT}' -c {sources} && ls && size *.o",
        IOTUNE_INCLUDE=everything(place),
    )  # fmt: skip


def python_failures(place: Place, preload: bool, *tests: str) -> tuple[int, set[str]]:
    done = place.run(PYTHON, "-m", "test", *tests, preload=preload, seconds=400, IOTUNE_TRACE=None,
                     IOTUNE_INCLUDE="/tmp/*")  # fmt: skip
    said = (done.out + done.err).decode(errors="replace")
    failed = set(re.findall(r"^(?:FAIL|ERROR): (\S+ \(\S+\))", said, re.MULTILINE))
    failed |= set(re.findall(r"^(test_\w+) (?:failed|crashed)", said, re.MULTILINE))
    assert "Total duration" in said, said[-2000:]
    return done.status, failed


def own_tests(place: Place, *tests: str) -> None:
    have = subprocess.run([PYTHON, "-c", "import test.test_os"], capture_output=True, check=False)
    if have.returncode != 0:
        not_verified("python's own tests: libpython3.11-testsuite is not here")
        return
    bare = python_failures(place, False, *tests)
    under = python_failures(place, True, *tests)
    assert under == bare, (bare, under)
    print(f"{' '.join(tests)}: status {bare[0]}, failing with and without: {sorted(bare[1])}")


def python_os(place: Place) -> None:
    own_tests(place, "test_os")


def python_tests(place: Place) -> None:
    own_tests(place, "test_io", "test_subprocess", "test_posix", "test_mmap", "test_shutil",
              "test_tempfile", "test_fcntl", "test_pty", "test_largefile")  # fmt: skip


if __name__ == "__main__":
    main({
        "tools": tools, "sqlite": sqlite, "fio": fio, "fio-engines": fio_engines,
        "multiprocessing": multiprocessing, "compiler": compiler, "python-os": python_os,
        "python-tests": python_tests,
    })  # fmt: skip
