"""Lines for MPI-IO, and for ranks that work together."""

from __future__ import annotations

from iotune.findings.finding import Snippet
from iotune.findings.snippets.languages import c, fortran, python, shell

COLLECTIVE: tuple[Snippet, ...] = (
    c("""
MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C,
                         MPI_DOUBLE, &part);
MPI_Type_commit(&part);
MPI_File_set_view(file, 0, MPI_DOUBLE, part, "native", MPI_INFO_NULL);
MPI_File_write_all(file, data, count, MPI_DOUBLE, &status);
"""),
    fortran("""
call MPI_Type_create_subarray(2, sizes, parts, starts, &
    MPI_ORDER_FORTRAN, MPI_DOUBLE_PRECISION, part, error)
call MPI_Type_commit(part, error)
call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, &
    MPI_DOUBLE_PRECISION, part, "native", MPI_INFO_NULL, error)
call MPI_File_write_all(file, data, count, &
    MPI_DOUBLE_PRECISION, status, error)
"""),
)
GATHERING: tuple[Snippet, ...] = (
    c("""
MPI_Info_create(&info);
MPI_Info_set(info, "romio_cb_write", "enable");   /* and romio_cb_read */
MPI_File_open(comm, name, mode, info, &file);
"""),
    fortran("""
call MPI_Info_create(info, error)
call MPI_Info_set(info, "romio_cb_write", "enable", error)  ! and _read
call MPI_File_open(comm, name, mode, info, file, error)
"""),
    shell("""
mpirun --mca fcoll vulcan ...   # Open MPI's OMPIO: ranks exchange first
mpirun --mca io ^ompio ...      # or ROMIO instead of it
"""),
)
NO_SIEVING: tuple[Snippet, ...] = (
    c("""
MPI_Info_create(&info);
/* where the pieces are not tiny */
MPI_Info_set(info, "romio_ds_write", "disable");
MPI_File_open(comm, name, mode, info, &file);
"""),
    fortran("""
call MPI_Info_create(info, error)
! where the pieces are not tiny
call MPI_Info_set(info, "romio_ds_write", "disable", error)
call MPI_File_open(comm, name, mode, info, file, error)
"""),
)
STRIPES: tuple[Snippet, ...] = (
    c("""
MPI_Info_set(info, "striping_factor", "8");
MPI_Info_set(info, "striping_unit", "4194304");   /* of new files */
"""),
    fortran("""
call MPI_Info_set(info, "striping_factor", "8", error)
call MPI_Info_set(info, "striping_unit", "4194304", error)  ! new files
"""),
)
SPREAD: tuple[Snippet, ...] = (
    c("""
/* one rank reads, the network spreads it */
if (rank == 0) pread(fd, table, bytes, 0);
MPI_Bcast(table, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
/* or all read together: MPI-IO reads each byte once */
MPI_File_read_at_all(file, 0, table, bytes, MPI_BYTE, &status);
"""),
    fortran("""
! all read together: MPI-IO reads each byte once
call MPI_File_read_at_all(file, 0_MPI_OFFSET_KIND, table, size(table), &
    MPI_DOUBLE_PRECISION, status, error)
"""),
)
DIVIDE: tuple[Snippet, ...] = (
    c("""
/* each rank writes its part at its own place */
MPI_Offset at = 0, mine = bytes;
MPI_Exscan(&mine, &at, 1, MPI_OFFSET, MPI_SUM, MPI_COMM_WORLD);
if (rank == 0) at = 0;
MPI_File_write_at_all(file, at, data, bytes, MPI_BYTE, &status);
"""),
    fortran("""
! each rank writes its part at its own place
mine = size(data) * storage_size(data) / 8
call MPI_Exscan(mine, at, 1, MPI_OFFSET, MPI_SUM, MPI_COMM_WORLD, error)
if (rank == 0) at = 0
call MPI_File_write_at_all(file, at, data, size(data), &
    MPI_DOUBLE_PRECISION, status, error)
"""),
)
OWN_BYTES: tuple[Snippet, ...] = (
    c("""
/* what all ranks have is one rank's to write */
if (rank == 0) {
  MPI_File_write_at(file, 0, table, count, MPI_DOUBLE, &status);
}
/* and behind it each has a part of its own */
MPI_Offset at = bytes + (MPI_Offset)rank * bytes;
MPI_File_write_at_all(file, at, data, count, MPI_DOUBLE, &status);
"""),
    python("""
# what all ranks have is one rank's to write
rank, header = 0, b"512 bytes of all".ljust(512)
if rank == 0:
    os.pwrite(fd, header, 0)
# and behind it each has a part of its own
os.pwrite(fd, data.tobytes(), len(header) + rank * data.nbytes)
"""),
)
ORDER: tuple[Snippet, ...] = (
    c("""
if (rank == 0) {
  MPI_File_write_at(file, 0, table, count, MPI_DOUBLE, &status);
}
/* what was written is stored, all come together, all see it */
MPI_File_sync(file);
MPI_Barrier(MPI_COMM_WORLD);
MPI_File_sync(file);
if (rank != 0) {
  MPI_File_read_at(file, 0, table, count, MPI_DOUBLE, &status);
}
"""),
)
KNOW: tuple[Snippet, ...] = (
    c("""
struct stat known;
if (rank == 0) stat(name, &known);    /* once, and sent to the others */
MPI_Bcast(&known, sizeof known, MPI_BYTE, 0, MPI_COMM_WORLD);
"""),
    fortran("""
if (rank == 0) inquire(file=name, exist=known)   ! once, and sent on
call MPI_Bcast(known, 1, MPI_LOGICAL, 0, MPI_COMM_WORLD, error)
"""),
)
