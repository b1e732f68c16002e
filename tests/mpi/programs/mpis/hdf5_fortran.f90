! Writes and reads a dataset of 10 * ranks columns of 12 values through HDF5's Fortran library.
!   hdf5_fortran FILE
program hdf5_fortran
  use mpi
  use hdf5
  implicit none
  integer :: error, rank, ranks
  integer(hid_t) :: access, transfer, file, space, memory, set
  integer(hsize_t) :: whole(2), start(2), count(2), stride(2), block(2)
  double precision :: written(5, 10), seen(2, 10)
  character(len=256) :: name

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call get_command_argument(1, name)
  written = rank + 1
  call h5open_f(error)
  call h5pcreate_f(H5P_FILE_ACCESS_F, access, error)
  call h5pset_fapl_mpio_f(access, MPI_COMM_WORLD, MPI_INFO_NULL, error)
  call h5fcreate_f(trim(name), H5F_ACC_TRUNC_F, file, error, access_prp=access)
  if (error /= 0) call MPI_Abort(MPI_COMM_WORLD, 9, error)
  whole = [integer(hsize_t) :: 12, 10 * ranks]
  call h5screate_simple_f(2, whole, space, error)
  call h5dcreate_f(file, "columns", H5T_NATIVE_DOUBLE, space, set, error)

  ! A block of its own, collectively.
  start = [integer(hsize_t) :: 2, 10 * rank]
  count = [integer(hsize_t) :: 5, 10]
  call h5sselect_hyperslab_f(space, H5S_SELECT_SET_F, start, count, error)
  call h5screate_simple_f(2, count, memory, error)
  call h5pcreate_f(H5P_DATASET_XFER_F, transfer, error)
  call h5pset_dxpl_mpio_f(transfer, H5FD_MPIO_COLLECTIVE_F, error)
  call h5dwrite_f(set, H5T_NATIVE_DOUBLE, written, count, error, memory, space, transfer)
  if (error /= 0) call MPI_Abort(MPI_COMM_WORLD, 9, error)
  call h5sclose_f(memory, error)

  ! Two values of every ranks-th column, independently.
  start = [integer(hsize_t) :: 3, rank]
  stride = [integer(hsize_t) :: 1, ranks]
  count = [integer(hsize_t) :: 1, 10]
  block = [integer(hsize_t) :: 2, 1]
  call h5sselect_hyperslab_f(space, H5S_SELECT_SET_F, start, count, error, stride, block)
  count = [integer(hsize_t) :: 2, 10]
  call h5screate_simple_f(2, count, memory, error)
  call h5dread_f(set, H5T_NATIVE_DOUBLE, seen, count, error, memory, space)
  if (error /= 0) call MPI_Abort(MPI_COMM_WORLD, 9, error)

  call h5sclose_f(memory, error)
  call h5sclose_f(space, error)
  call h5dclose_f(set, error)
  call h5pclose_f(transfer, error)
  call h5pclose_f(access, error)
  call h5fclose_f(file, error)
  call h5close_f(error)
  call MPI_Finalize(error)
end program hdf5_fortran
