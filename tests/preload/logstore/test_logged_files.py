"""Files below IOTUNE_LOGSTORE are files to every program: the same calls give the same answers.

Each program runs twice, on ordinary files and on logged ones, and what it prints and leaves is
compared.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support.place import Place, main, not_verified
from support.repository import ROOT
from support.small_disks import mounted

PROGRAMS = ROOT / "tests" / "preload" / "programs" / "logstore"


def folders(place: Place, name: str) -> tuple[Path, Path]:
    """An ordinary folder and a logged one, new and empty."""
    both = (place.scratch / "plain" / name, place.scratch / "logs" / name)
    for one in both:
        shutil.rmtree(one, ignore_errors=True)
        one.mkdir(parents=True)
    return both


def logged(place: Place, *command: object, **how: Any) -> bytes:
    """What a program prints that has the log store, once it has ended well."""
    how.setdefault("IOTUNE_LOGSTORE", place.scratch / "logs")
    done = place.run(*command, **how)
    place.right(done, str(command[0]))
    assert b"iotune:" not in done.err, done.err
    return done.out


def is_container(path: Path) -> bool:
    return (path / "container").is_file() and (path / "handle").is_file()


def differences(one: bytes, other: bytes) -> Iterator[tuple[str, str]]:
    first, second = one.decode().splitlines(), other.decode().splitlines()
    for a, b in zip(first, second):
        if a != b:
            yield a, b
    assert len(first) == len(second), (len(first), len(second))


def content(place: Place, path: Path) -> bytes:
    return logged(place, "cat", path)


def posix(place: Place) -> None:
    """Every POSIX call of the table. A container has one name, and its maps are copies."""
    seed = random.SystemRandom().randrange(2**31)
    print("seed", seed)
    plain, logs = folders(place, "posix")
    program = place.bin / "posix_random"
    wanted = place.right(place.run(program, plain, seed, preload=False)).out
    got = logged(place, program, logs, seed)

    def shown(out: bytes, folder: Path) -> bytes:
        text = out.decode().replace(str(folder), "F")
        text = re.sub(r"^(mmap|msync|munmap) .*\n", "", text, flags=re.MULTILINE)
        return re.sub(r"F/\w{6}(\.\w+)?$", "F/made", text, flags=re.MULTILINE).encode()

    refused = {"link", "linkat", "unlink", "unlinkat"}  # of the second name
    for one, other in differences(shown(wanted, plain), shown(got, logs)):
        assert other.split()[0] in refused and " -1" in other, (one, other)
    assert is_container(logs / "created")


def streams(place: Place) -> None:
    """Stdio with all of its ways to move, and calls on a stream's descriptor in between."""
    for name in ("stdio_calls", "mixed_stream"):
        for _ in range(3):
            seed = random.SystemRandom().randrange(2**31)
            print(name, "seed", seed)
            plain, logs = folders(place, name)
            program = place.bin / name
            wanted = place.right(place.run(program, plain / "f", seed, preload=False)).out
            got = logged(place, program, logs / "f", seed)
            assert list(differences(wanted, got)) == []
            assert is_container(logs / "f")
            assert content(place, logs / "f") == (plain / "f").read_bytes()


def _script(place: Place, name: str) -> None:
    plain, logs = folders(place, "work")
    script = PROGRAMS / name
    wanted = place.right(place.run("bash", script, plain, preload=False), name)
    assert wanted.err == b"", wanted.err
    got = logged(place, "bash", script, logs)
    assert list(differences(wanted.out, got)) == []
    assert any(is_container(path) for path in logs.iterdir())
    # What is left is the same, name by name.
    files = sorted(path.relative_to(plain) for path in plain.rglob("*") if path.is_file())
    for file in files:
        if (logs / file).is_dir():
            assert content(place, logs / file) == (plain / file).read_bytes(), file


def tools(place: Place) -> None:
    """Programs that nobody here wrote: sort, tar, gzip, sed, dd, cp, sqlite, zip."""
    _script(place, "tools.sh")


def formats(place: Place) -> None:
    """netCDF's, NCO's and HDF5's tools, SQLite, git, tar, rsync, zip, patch, Python's archives."""
    _script(place, "formats.sh")


def redirected(place: Place) -> None:
    """Shells lead files to stdin and stdout, where libc and libstdc++ have streams of their own."""
    _script(place, "redirected.sh")


def processes(place: Place) -> None:
    """fork, exec, _exit, dup, append, advisory locks: what one process did the next one sees."""
    plain, logs = folders(place, "processes")
    script = PROGRAMS / "processes.py"
    wanted = place.right(place.run(sys.executable, script, plain, preload=False), "plain").out
    got = logged(place, sys.executable, script, logs)
    assert list(differences(wanted, got)) == []


def corners(place: Place) -> None:
    """Children of vfork, shared positions, links that change, closed descriptors, odd ends."""
    plain, logs = folders(place, "corners")
    script = PROGRAMS / "corners.py"
    wanted = place.right(place.run(sys.executable, script, plain, preload=False), "plain").out
    assert list(differences(wanted, logged(place, sys.executable, script, logs))) == []
    assert is_container(logs / "log")
    program = place.bin / "leaving"
    wanted = place.right(place.run(program, plain / "f", preload=False), "plain").out
    assert list(differences(wanted, logged(place, program, logs / "f"))) == []


def watched(place: Place) -> None:
    """Who looks at a file while a program's stdout goes there takes nothing of it away."""
    _, logs = folders(place, "watched")
    lines = "import os\nfor i in range(100000): os.writev(1, [b'%06d\\n' % i])"
    text = 'for (i = 0; i < 300000; ++i) printf "%06d\\n", i'
    look = "import os, sys\nfor _ in range(20000): os.stat(sys.argv[1])"
    for name, command in (("python", [sys.executable, "-c", lines]),
                          ("awk", ["awk", f"BEGIN {{ {text} }}"])):  # fmt: skip
        file = logs / name
        env = place.environment(preload=True, IOTUNE_LOGSTORE=place.scratch / "logs")
        shell = ["bash", "-c", '"$@" > "$0"', str(file), *command]
        with subprocess.Popen(shell, env=env) as writer:
            while not file.exists():
                pass
            logged(place, sys.executable, "-c", look, file)
        assert writer.returncode == 0
        got = content(place, file).split()
        assert got == [b"%06d" % i for i in range(len(got))] and len(got) >= 100000, len(got)


def killed(place: Place) -> None:
    """What was synced is there after SIGKILL, in order, and nothing that was not written."""
    _, logs = folders(place, "killed")
    file = logs / "f"
    program = (
        "import os, signal, sys\n"
        "fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)\n"
        "for i in range(1000): os.pwrite(fd, b'%07d\\n' % i, 8 * i)\n"
        "os.fsync(fd)\n"
        "for i in range(1000, 2000): os.pwrite(fd, b'%07d\\n' % i, 8 * i)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = place.run(sys.executable, "-c", program, file, IOTUNE_LOGSTORE=place.scratch / "logs")
    assert done.status in (-signal.SIGKILL, 128 + signal.SIGKILL), done
    got = content(place, file).decode().split()
    assert got == [f"{i:07d}" for i in range(len(got))] and len(got) >= 1000, len(got)


def killed_anywhere(place: Place) -> None:
    """Two processes that write in turns of their own, killed at any moment, some of them more than
    once on one file: what each had synced is there, and no other byte.
    """
    seed = random.SystemRandom().randrange(2**31)
    print("seed", seed)
    draw = random.Random(seed)
    program = (
        "import os, sys\n"
        "path, who, first = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])\n"
        "fd = os.open(path, os.O_RDWR | os.O_CREAT)\n"
        "for i in range(first, 100_000):\n"
        "    os.pwrite(fd, b'%d%07d' % (who, i), 8 * (2 * i + who))\n"
        "    if i % 7 == who:\n"
        "        os.fsync(fd)\n"
        "        print(i, flush=True)\n"
    )
    env = place.environment(preload=True, IOTUNE_LOGSTORE=place.scratch / "logs")
    _, logs = folders(place, "anywhere")
    file, synced = logs / "f", [-1, -1]
    for _ in range(6):
        running = [
            subprocess.Popen(
                [sys.executable, "-c", program, str(file), str(who), str(synced[who] + 1)],
                env=env, stdout=subprocess.PIPE,
            )
            for who in (0, 1)
        ]  # fmt: skip
        for one in running:  # both have begun
            assert one.stdout is not None
            synced[running.index(one)] = int(one.stdout.readline())
        time.sleep(draw.random() / 10)
        for who in draw.sample((0, 1), 2):
            running[who].kill()
            time.sleep(draw.random() / 50)
        for who, one in enumerate(running):
            assert one.stdout is not None
            # A line that was not written as a whole was not told.
            told = [int(line) for line in one.stdout.read().splitlines(True) if line[-1:] == b"\n"]
            synced[who] = max([synced[who], *told])
            one.wait()
        held = content(place, file)
        for who in (0, 1):
            own = [held[at : at + 8] for at in range(8 * who, len(held), 16)]
            wanted = [b"%d%07d" % (who, i) for i in range(len(own))]
            assert own[: synced[who] + 1] == wanted[: synced[who] + 1], (who, synced)
            rest = set(zip(own, wanted))
            assert all(a in (b, bytes(len(a))) for a, b in rest if len(a) == 8), (who, synced)


def left_alone(place: Place) -> None:
    """Elsewhere files are files, as are those that were there; a program without the preload sees
    a directory that says what it is.
    """
    plain, logs = folders(place, "alone")
    (logs / "old").write_text("old\n")
    logged(
        place, "sh", "-c", f"echo a > '{plain}/a'; echo new >> '{logs}/old'; echo b > '{logs}/b'"
    )
    assert (plain / "a").read_text() == "a\n"
    assert (logs / "old").read_text() == "old\nnew\n"
    assert is_container(logs / "b") and "iotune" in (logs / "b" / "README").read_text()
    assert content(place, logs / "b") == b"b\n"
    # Out of the prefix it is moved as to another file system.
    logged(place, "mv", logs / "b", plain / "b")
    assert (plain / "b").read_text() == "b\n" and not (logs / "b").exists()


def told(place: Place) -> None:
    """A prefix that is none, and a library that is missing: one line, and the program runs."""
    for value, words in (("logs", "no absolute path"), ("/", "all files cannot be logged")):
        done = place.right(place.run("true", IOTUNE_LOGSTORE=value))
        (line,) = done.err.decode().splitlines()
        assert line.startswith(f"iotune: IOTUNE_LOGSTORE={value}") and words in line, line
    alone = place.scratch / "alone"
    alone.mkdir()
    shutil.copy2(place.library, alone / "libiotune.so")
    for damaged in (None, b"no library"):
        if damaged is not None:
            (alone / "libiotune-logstore.so").write_bytes(damaged)
        link = Path("/dev/shm") / place.buffers.name / "alone"
        link.symlink_to(alone)
        done = place.right(place.run("sh", "-c", f"echo a > '{place.scratch}/a'", preload=[
            link / "libiotune.so"], IOTUNE_LOGSTORE=place.scratch))  # fmt: skip
        lines = set(done.err.decode().splitlines())
        assert len(lines) == 1 and "no file is kept as logs" in lines.pop(), done.err
        assert (place.scratch / "a").read_text() == "a\n"
        link.unlink()


def modes(place: Place) -> None:
    """In every mode logged files are files: a run that is not recorded must read them, too."""
    _, logs = folders(place, "modes")
    logged(place, "sh", "-c", f"echo text > '{logs}/f'")
    for mode in ("off", "record", "tune"):
        assert logged(place, "cat", logs / "f", IOTUNE_MODE=mode) == b"text\n", mode
    if shutil.which("setpriv") is None:
        not_verified("a narrowed program")
        return
    subprocess.run(["chmod", "-R", "a+rX", place.scratch], check=True)
    assert logged(place, "cat", logs / "f", IOTUNE_PREFETCH="pattern") == b"text\n"


def recorded(place: Place) -> None:
    """The trace names the file, not what it is made of."""
    _, logs = folders(place, "recorded")
    program = (
        "import os, sys\n"
        "fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)\n"
        "for i in range(100): os.pwrite(fd, b'x' * 64, 128 * i)\n"
    )
    logged(place, sys.executable, "-c", program, logs / "f")
    calls = [call for call in place.calls() if str(logs) in "".join(call["texts"])]
    names = {text for call in calls for text in call["texts"] if str(logs) in text}
    assert names == {str(logs / "f")}, names
    assert os.listdir(logs) == ["f"]


def untouched(place: Place) -> None:
    """Reads and writes of a program that touches no logged file take not an instruction more."""
    if shutil.which("valgrind") is None:
        not_verified("instructions are counted by valgrind")
        return

    def instructions(rounds: int, **env: Any) -> int:
        done = place.run("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
                         place.bin / "untouched", place.scratch / "file", rounds,
                         IOTUNE_MODE="off", **env)  # fmt: skip
        place.right(done, "valgrind")
        found = re.search(rb"Collected : (\d+)", done.err)
        assert found is not None, done.err
        return int(found[1])

    def of_a_thousand_rounds(**env: Any) -> int:
        return instructions(2000, **env) - instructions(1000, **env)

    without = of_a_thousand_rounds()
    assert without > 100_000, without
    assert of_a_thousand_rounds(IOTUNE_LOGSTORE=place.scratch / "logs") == without


def close_unknown(place: Place) -> None:
    _, logs = folders(place, "close")
    done = place.right(place.run("true", IOTUNE_LOGSTORE=logs, IOTUNE_LOGSTORE_CLOSE="melt"))
    (line,) = done.err.decode().splitlines()
    assert "IOTUNE_LOGSTORE_CLOSE=melt" in line and "flatten" in line, line


def full_disk(place: Place) -> None:
    """Writes that have no room fail, at the latest when the file is closed or synced; what was
    synced before is there, and the program goes on once there is room.
    """
    program = (
        "import os, sys\n"
        "fd = os.open(sys.argv[1] + '/f', os.O_RDWR | os.O_CREAT)\n"
        "block, good, told = bytes(range(256)) * 256, 0, ''\n"
        "for i in range(200):\n"
        "    try:\n"
        "        os.pwrite(fd, block, i * len(block))\n"
        "        os.fsync(fd)\n"
        "        good = i + 1\n"
        "    except OSError as problem:\n"
        "        told = problem.strerror\n"
        "        break\n"
        "os.remove(sys.argv[1] + '/ballast')\n"
        "print(told, all(os.pread(fd, len(block), i * len(block)) == block for i in range(good)))\n"
        "for i in range(good, good + 10): os.pwrite(fd, block, i * len(block))\n"
        "os.fsync(fd)\n"
        "os.close(fd)\n"
        "content = open(sys.argv[1] + '/f', 'rb').read()\n"
        "print(good > 10, content == block * (good + 10), len(content))\n"
    )
    with mounted(place, "tmpfs", "size=8m") as disk:
        if disk is None:
            return
        logs = disk / "logs"
        logs.mkdir()
        (logs / "ballast").write_bytes(b"x" * (4 << 20))
        out = logged(place, sys.executable, "-c", program, logs, IOTUNE_LOGSTORE=logs).decode()
    first, second = out.splitlines()
    assert first == "No space left on device True", out
    assert second.startswith("True True"), out


def damaged(place: Place) -> None:
    """Containers of a newer version, without an index, cut: an error and a line, no wrong byte."""
    _, logs = folders(place, "damaged")
    data = bytes(random.Random(1).randbytes(100_000))
    (place.scratch / "data").write_bytes(data)

    def made(name: str) -> Path:
        logged(place, "cp", place.scratch / "data", logs / name)
        return logs / name

    def reading(file: Path) -> tuple[int, bytes, str]:
        done = place.run("cat", file, IOTUNE_LOGSTORE=place.scratch / "logs")
        return done.status, done.out, done.err.decode()

    newer = made("newer") / "container"
    held = bytearray(newer.read_bytes())
    held[16] = 99
    newer.write_bytes(held)
    status, out, err = reading(newer.parent)
    assert status != 0 and out == b"" and "not supported" in err, (status, err)

    # No index, and nobody vouches for the log: nothing was ever synced.
    for index in made("unindexed").glob("*.index"):
        index.unlink()
    status, out, err = reading(logs / "unindexed")
    assert (status, out) == (0, b""), (status, len(out), err)

    program = (
        "import os, sys\n"
        "with open(sys.argv[1], 'wb') as file:\n"
        "    file.write(open(sys.argv[2], 'rb').read())\n"
        "    file.flush()\n"
        "    os.fsync(file.fileno())\n"
    )
    logged(place, sys.executable, "-c", program, logs / "cut", place.scratch / "data")
    (log,) = (logs / "cut").glob("*.log")
    with log.open("r+b") as file:
        file.truncate(60_000)
    status, out, err = reading(logs / "cut")
    assert status != 0 and data.startswith(out), (status, len(out))
    assert "Input/output error" in err and "iotune: " in err, err
    log.unlink()
    status, out, err = reading(logs / "cut")
    assert (status != 0, out) == (True, b""), (status, len(out))
    assert "Input/output error" in err and "100000 bytes were synced" in err, err


def two_jobs(place: Place) -> None:
    """Two jobs write one file at once: each byte is one that a job wrote there, and once both have
    ended every reader has the same ones.
    """
    _, logs = folders(place, "jobs")
    program = (
        "import os, random, sys\n"
        "fd, who = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT), int(sys.argv[2])\n"
        "draw = random.Random(who)\n"
        "for i in range(2000):\n"
        "    at = draw.randrange(5000)\n"
        "    os.pwrite(fd, bytes([who + 2 * (at % 100)]) * 20, 20 * at)\n"
        "os.close(fd)\n"
    )
    env = place.environment(preload=True, IOTUNE_LOGSTORE=place.scratch / "logs")
    jobs = [
        subprocess.Popen([sys.executable, "-c", program, str(logs / "f"), str(who)], env=env)
        for who in (1, 2)
    ]
    assert [job.wait() for job in jobs] == [0, 0]
    read = content(place, logs / "f")
    assert read == content(place, logs / "f")
    wrote = [{random_one.randrange(5000) for _ in range(2000)}
             for random_one in (random.Random(1), random.Random(2))]  # fmt: skip
    for at in range(len(read) // 20):
        record = set(read[20 * at : 20 * at + 20])
        allowed = {who + 2 * (at % 100) for who in (1, 2) if at in wrote[who - 1]} or {0}
        assert len(record) == 1 and record <= allowed, (at, record, allowed)


if __name__ == "__main__":
    main(
        {
            "posix": posix,
            "streams": streams,
            "tools": tools,
            "formats": formats,
            "redirected": redirected,
            "processes": processes,
            "corners": corners,
            "watched": watched,
            "killed": killed,
            "killed-anywhere": killed_anywhere,
            "left-alone": left_alone,
            "told": told,
            "modes": modes,
            "recorded": recorded,
            "untouched": untouched,
            "close-unknown": close_unknown,
            "full-disk": full_disk,
            "damaged": damaged,
            "two-jobs": two_jobs,
        }
    )
