! Around lines of Fortran for HDF5: test_snippets.py compiles it with each of them.
#include "about.inc"
program around
  use mpi
  use hdf5
  implicit none
  integer :: error, rank, ranks, k, info
  integer, parameter :: n = 16, number = 16, length = 8
  integer(HID_T) :: file, set, space, memory, part, dapl, dcpl, dxpl, fapl, whole
  integer(HSIZE_T) :: dims(2), start(2), count(2), stride(2), block(2), all(2)
  double precision :: data(64, n)
  double precision :: values(64, n)
  character(256) :: name
  call MPI_Init(error)
  info = MPI_INFO_NULL
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call h5open_f(error)
  call get_command_argument(1, name)
  dims = [64, n]
  all = [64, n * ranks]
  start = [0, n * rank]
  count = [4, 4]
  stride = [16, 4]
  block = [16, 4]
#ifdef DIVIDES
  count = dims
#endif
  data = rank
  values = rank
  call h5pcreate_f(H5P_FILE_ACCESS_F, fapl, error)
  call h5pcreate_f(H5P_DATASET_XFER_F, dxpl, error)
  call h5pcreate_f(H5P_DATASET_CREATE_F, dcpl, error)
  call h5pset_fapl_mpio_f(fapl, MPI_COMM_WORLD, info, error)
  call h5fcreate_f(name, H5F_ACC_TRUNC_F, file, error, access_prp=fapl)
  call h5screate_simple_f(2, all, whole, error)
  call h5screate_simple_f(2, all, space, error)
  call h5screate_simple_f(2, all, part, error)
  call h5sselect_hyperslab_f(part, H5S_SELECT_SET_F, start, dims, error)
  call h5screate_simple_f(2, dims, memory, error)
#ifdef OPENS
  call h5dcreate_f(file, OPENS, H5T_NATIVE_DOUBLE, whole, set, error)
  call h5dclose_f(set, error)
#endif
  call h5dcreate_f(file, "given", H5T_NATIVE_DOUBLE, whole, set, error)
#ifdef REOPENS
  call h5dclose_f(set, error)
  call h5fclose_f(file, error)
#endif
#include "snippet.inc"
  if (error < 0) stop 1
#ifdef CHUNKS_OF
  call h5screate_simple_f(size([CHUNKS_OF]), int([CHUNKS_OF], HSIZE_T), whole, error)
  call h5dcreate_f(file, "made", H5T_NATIVE_DOUBLE, whole, set, error, dcpl)
  if (error < 0) stop 2
#endif
  call h5close_f(error)
  call MPI_Finalize(error)
contains
  subroutine read_part(set, row)
    integer(HID_T), intent(in) :: set
    integer, intent(in) :: row
    double precision :: line(64, 1)
    integer(HID_T) :: from, to
    integer(HSIZE_T) :: first(2), extent(2)
    first = [0, row - 1]
    extent = [64, 1]
    call h5dget_space_f(set, from, error)
    call h5sselect_hyperslab_f(from, H5S_SELECT_SET_F, first, extent, error)
    call h5screate_simple_f(2, extent, to, error)
    call h5dread_f(set, H5T_NATIVE_DOUBLE, line, extent, error, to, from)
  end subroutine
end program
