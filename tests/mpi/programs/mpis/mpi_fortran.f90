! Writes a file through MPI-IO from Fortran: compiled with -DBINDING 1 (mpif.h), 2 (use mpi) or
! 3 (use mpi_f08).
!   mpi_fortran FILE
program mpi_fortran
#if BINDING == 3
  use mpi_f08
#elif BINDING == 2
  use mpi
#endif
  implicit none
#if BINDING == 1
  include 'mpif.h'
#endif
#if BINDING == 3
  type(MPI_File) :: file
  type(MPI_Datatype) :: part
#else
  integer :: file, part
#endif
  integer :: rank, ranks, ierror, values(100)
  integer(kind=MPI_OFFSET_KIND) :: place
  character(len=1000) :: name
  call get_command_argument(1, name)
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  values = rank + 1
  call MPI_Type_vector(10, 10, 10 * ranks, MPI_INTEGER, part, ierror)
  call MPI_Type_commit(part, ierror)
  call MPI_File_open(MPI_COMM_WORLD, trim(name), MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, &
                     file, ierror)
  if (ierror /= MPI_SUCCESS) call MPI_Abort(MPI_COMM_WORLD, 9, ierror)
  place = 40 * rank
  call MPI_File_set_view(file, place, MPI_INTEGER, part, 'native', MPI_INFO_NULL, ierror)
  call MPI_File_write_all(file, values, 100, MPI_INTEGER, MPI_STATUS_IGNORE, ierror)
  if (ierror /= MPI_SUCCESS) call MPI_Abort(MPI_COMM_WORLD, 9, ierror)
  call MPI_File_close(file, ierror)
  call MPI_Type_free(part, ierror)
  call MPI_Finalize(ierror)
end program mpi_fortran
