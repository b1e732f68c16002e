"""Lines for POSIX, stdio and shells."""

from __future__ import annotations

from iotune.findings.finding import Snippet
from iotune.findings.snippets.languages import c, fortran, python, shell

GATHER: tuple[Snippet, ...] = (
    c("""
/* gather records, write them together */
static char block[4 << 20];
size_t used = 0;
for (size_t k = 0; k < records; ++k) {
  if (used + bytes > sizeof block) {            /* it is full */
    pwrite(fd, block, used, at);  at += used;  used = 0;
  }
  memcpy(block + used, record + k * bytes, bytes);  used += bytes;
}
pwrite(fd, block, used, at);                    /* and what is left */
"""),
    fortran("""
! many records with one statement, in place of one statement each
open(newunit=unit, file=name, access="stream", form="unformatted")
write(unit) records(:, 1:number)
close(unit)
"""),
    python("""
# a buffer of some MiB joins them; what is left goes with the close
with open(name, "wb", buffering=4 << 20) as file:
    for record in records: file.write(record)
"""),
)
READ_AHEAD: tuple[Snippet, ...] = (
    c("""
/* one request for many records */
ssize_t got, whole = (4 << 20) / bytes * bytes;
while ((got = pread(fd, block, whole, at)) >= (ssize_t)bytes) {
  got -= got % bytes;
  for (ssize_t k = 0; k < got; k += bytes) use(block + k);
  at += got;
}
"""),
    fortran("""
! many records with one statement, in place of one statement each
open(newunit=unit, file=name, access="stream", form="unformatted")
read(unit) records(:, 1:number)
close(unit)
"""),
    python("""
# a buffer of some MiB: most of these reads ask nobody
with open(name, "rb", buffering=4 << 20) as file:
    while record := file.read(length): use(record)
"""),
)
SORTED: tuple[Snippet, ...] = (
    c("""
/* from the front of the file to its back; struct part {off_t at; ...} */
qsort(parts, number, sizeof *parts, by_offset);
for (size_t k = 0; k < number; ++k)
  pread(fd, parts[k].data, parts[k].bytes, parts[k].at);
"""),
    python("""
order = numpy.argsort(offsets)   # from the front of the file to its back
for k in order: use(os.pread(fd, length, offsets[k]))
"""),
)
SORTED_WRITES: tuple[Snippet, ...] = (
    c("""
/* from the front of the file to its back; struct part {off_t at; ...} */
qsort(parts, number, sizeof *parts, by_offset);
for (size_t k = 0; k < number; ++k)
  pwrite(fd, parts[k].data, parts[k].bytes, parts[k].at);
"""),
    python("""
order = numpy.argsort(offsets)          # from front to back
for k in order: os.pwrite(fd, records[k], offsets[k])
"""),
)
KEEP: tuple[Snippet, ...] = (
    c("""
/* read once before the loop, keep it */
double* table = malloc(bytes);
pread(fd, table, bytes, 0);
for (int step = 0; step < steps; ++step) use(table);
"""),
    python("""
table = numpy.fromfile(name)     # once, before the loop
for step in range(steps): use(table)
"""),
)
OPEN_ONCE: tuple[Snippet, ...] = (
    c("""
int fd = open(name, O_WRONLY | O_CREAT, 0644);   /* before the loop */
for (int k = 0; k < steps; ++k) pwrite(fd, data, bytes, k * (off_t)bytes);
close(fd);                                       /* behind it */
"""),
    fortran("""
open(newunit=unit, file=name, access="stream", form="unformatted")
do step = 1, steps                               ! open before the loop
  write(unit) records(:, step)
end do
close(unit)                                      ! close behind it
"""),
    python("""
with open(name, "ab") as file:       # around the loop, not inside of it
    for record in records: file.write(record)
"""),
)
SYNC: tuple[Snippet, ...] = (
    c("""
if (checkpoint_is_whole) fsync(fd);   /* or once, before close */
"""),
    python("""
if checkpoint_is_whole: os.fsync(fd)  # or once, before close
"""),
)
AT: tuple[Snippet, ...] = (
    c("""
pread(fd, data, bytes, at);           /* instead of lseek and read */
"""),
    python("""
data = os.pread(fd, length, at)       # instead of seek and read
"""),
)
BULK: tuple[Snippet, ...] = (
    c("""
int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
write(fd, data, bytes);                          /* some MiB at once */
close(fd);
"""),
)
STRIPES = shell("""
lfs setstripe -c 8 -S 4M output/     # new files of this folder
""")
NO_LOCKS = shell("""
# only where ranks never write overlapping bytes:
export ROMIO_FSTYPE_FORCE=ufs:                        # MPICH and its kin
export OMPI_MCA_fs_ufs_lock_algorithm=1               # Open MPI's OMPIO
""")
AHEAD = shell("""
# one order for all epochs: read ahead by the plan of the epoch before
export IOTUNE_PREFETCH=recorded IOTUNE_PREFETCH_SCHEDULE=ours
iotune run -- python train.py
""")
WORKERS = python("""
# more reads wait at the same time, and workers stay for the next epoch
DataLoader(
    data, num_workers=8, prefetch_factor=4, persistent_workers=True
)
""")
