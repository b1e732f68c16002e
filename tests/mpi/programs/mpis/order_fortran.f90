! Messages between two ranks from Fortran: compiled with -DBINDING 1 (mpif.h), 2 (use mpi) or
! 3 (use mpi_f08).
program order_fortran
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
  type(MPI_Request) :: requests(2)
#else
  integer :: requests(2)
#endif
  integer :: rank, ierror, sent, values(2)
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  sent = rank
  if (rank == 0) then
    call MPI_Send(sent, 1, MPI_INTEGER, 1, 7, MPI_COMM_WORLD, ierror)
  else
    call MPI_Recv(values, 1, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &
                  MPI_STATUS_IGNORE, ierror)
  end if
  call MPI_Irecv(values(1), 1, MPI_INTEGER, 1 - rank, 8, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_Isend(sent, 1, MPI_INTEGER, 1 - rank, 8, MPI_COMM_WORLD, requests(2), ierror)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  call MPI_Finalize(ierror)
end program order_fortran
