"""Python's own ways to files: mmap, dbm, shelve, sqlite3, pools, shared memory, os calls."""

import array
import bz2
import dbm.dumb
import mmap
import multiprocessing
import os
import shelve
import shutil
import sqlite3
import tempfile
import threading
import zipfile
from concurrent.futures import ProcessPoolExecutor
from typing import Any


def make(number):
    with open(f"pool{number}", "wb", buffering=0) as file:
        file.write(bytes([number]) * 30000)
    return os.path.getsize(f"pool{number}")


def main():
    with open("mapped", "w+b") as file:
        file.truncate(100000)
        with mmap.mmap(file.fileno(), 0) as memory:
            memory[500:600] = b"m" * 100
            memory.flush()
        print(file.seek(550), file.read(3))
    descriptor = os.open("raw", os.O_RDWR | os.O_CREAT)
    os.pwritev(descriptor, [b"a" * 3000, b"b" * 5000], 100)
    buffers = [bytearray(4000), bytearray(5000)]
    print(os.preadv(descriptor, buffers, 0), sum(buffers[1]))
    copy = os.open("sent", os.O_WRONLY | os.O_CREAT)
    print(os.sendfile(copy, descriptor, 0, 8100), os.copy_file_range(descriptor, copy, 500, 0))
    os.posix_fallocate(copy, 0, 20000)
    os.close(copy)
    os.close(descriptor)
    database: Any = dbm.dumb.open("shelf")
    shelf: shelve.Shelf[list[int]] = shelve.Shelf(database)
    with shelf:
        for i in range(50):
            shelf[str(i)] = list(range(i))
    with sqlite3.connect("data.db") as base:
        base.execute("create table t (a, b)")
        base.executemany("insert into t values (?, ?)", ((i, str(i)) for i in range(3000)))
        print(base.execute("select sum(a) from t").fetchone())
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        print(list(pool.map(make, range(6))))
    threads = [threading.Thread(target=make, args=(n,)) for n in range(10, 16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with zipfile.ZipFile("all.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("one"), "x" * 50000)
    with bz2.open("t.bz2", "wt") as file:
        file.writelines(f"{i}\n" for i in range(3000))
    with bz2.open("t.bz2", "rt") as file:
        print(sum(map(int, file)))
    with tempfile.TemporaryFile() as file, open("appended", "ab") as out:
        array.array("d", range(5000)).tofile(file)
        file.seek(0)
        shutil.copyfileobj(file, out)
    print(os.path.getsize("appended"))
    child = os.fork()
    if child == 0:
        with open("child", "w") as file:
            file.write("c" * 12345)
        os._exit(4)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), os.path.getsize("child"))


if __name__ == "__main__":
    main()
