! Around lines of Fortran for MPI-IO: test_snippets.py compiles it with each of them.
program around
  use mpi
  implicit none
  integer :: file, info, part, error, rank, ranks, status(MPI_STATUS_SIZE), comm, mode
  integer, parameter :: count = 1024
  integer :: sizes(2), parts(2), starts(2)
  integer(MPI_OFFSET_KIND) :: at, mine
  double precision :: data(count), table(count)
  logical :: known
  character(256) :: name
  call MPI_Init(error)
  comm = MPI_COMM_WORLD
  mode = MPI_MODE_RDWR + MPI_MODE_CREATE
  call MPI_Comm_rank(comm, rank, error)
  call MPI_Comm_size(comm, ranks, error)
  call get_command_argument(1, name)
  call MPI_Info_create(info, error)
  call MPI_File_open(comm, name, mode, MPI_INFO_NULL, file, error)
  call MPI_File_set_errhandler(file, MPI_ERRORS_ARE_FATAL, error)
  call MPI_File_set_size(file, 2_MPI_OFFSET_KIND * 8 * count, error)
  sizes = [32 * ranks, 32]
  parts = [32, 32]
  starts = [32 * rank, 0]
  data = rank
  part = MPI_DATATYPE_NULL
  at = 0
  mine = 0
  known = .false.
#include "snippet.inc"
  if (part /= MPI_DATATYPE_NULL) call MPI_Type_free(part, error)
  call MPI_File_close(file, error)
  call MPI_Finalize(error)
end program
