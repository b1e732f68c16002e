/* Preloaded behind iotune: opens that one rank alone fails, where they carry a setting.
 * MPI_File_open with a hint cb_buffer_size, H5Fcreate with an alignment: rank 0 makes the file, by
 * itself, and rank 1 fails.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <hdf5.h>
#include <mpi.h>

static int is_first(MPI_Comm comm) {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  return rank == 0;
}

int MPI_File_open(MPI_Comm comm, const char* path, int mode, MPI_Info info, MPI_File* file) {
  char value[64];
  int found = 0;
  if (info != MPI_INFO_NULL) PMPI_Info_get(info, "cb_buffer_size", 63, value, &found);
  if (!found) return PMPI_File_open(comm, path, mode, info, file);
  if (is_first(comm)) return PMPI_File_open(MPI_COMM_SELF, path, mode, info, file);
  *file = MPI_FILE_NULL;
  return MPI_ERR_IO;
}

hid_t H5Fcreate(const char* path, unsigned flags, hid_t fcpl, hid_t fapl) {
  hid_t (*const real)(const char*, unsigned, hid_t, hid_t) =
      (hid_t(*)(const char*, unsigned, hid_t, hid_t))dlsym(RTLD_NEXT, "H5Fcreate");
  hsize_t threshold = 0, alignment = 1;
  if (fapl != H5P_DEFAULT) H5Pget_alignment(fapl, &threshold, &alignment);
  if (alignment == 1) return real(path, flags, fcpl, fapl);
  if (!is_first(MPI_COMM_WORLD)) return real("/nowhere/file", flags, fcpl, H5P_DEFAULT);
  return real(path, flags, fcpl, H5P_DEFAULT);
}
