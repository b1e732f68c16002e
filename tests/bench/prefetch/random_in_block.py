"""FILE make | FILE PAUSE_US: IOR's random offsets: the transfers of each block in one drawn order.

Prints "reads_ns total_ns check", timed by itself.
"""

import os
import random
import sys
import time
import zlib

TRANSFER, BLOCK, BLOCKS = 65536, 1 << 20, 16

if sys.argv[2] == "make":
    with open(sys.argv[1], "wb") as file:
        file.write(random.Random(3).randbytes(BLOCK * BLOCKS))
    sys.exit()
order = list(range(BLOCK // TRANSFER))
random.Random(4).shuffle(order)
pause = int(sys.argv[2]) / 1e6
waited = check = 0
fd = os.open(sys.argv[1], os.O_RDONLY)
begin = time.monotonic_ns()
for block in range(BLOCKS):
    for transfer in order:
        before = time.monotonic_ns()
        part = os.pread(fd, TRANSFER, block * BLOCK + transfer * TRANSFER)
        waited += time.monotonic_ns() - before
        check = zlib.crc32(part, check)
        time.sleep(pause)
print(waited, time.monotonic_ns() - begin, check)
