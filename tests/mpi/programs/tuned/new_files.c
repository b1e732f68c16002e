/* Makes files that must not be there yet, each with the strictest error handlers.
 *   new_files FOLDER [USER_BLOCK]
 * MPI_File_open with MPI_MODE_EXCL, and errors of files that are not open are fatal; H5Fcreate with
 * H5F_ACC_EXCL and a user block, by all ranks and by each for itself; H5Fcreate of a file that is
 * there; MPI_File_open of one that is missing. Prints "name value" lines of rank 0.
 */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUST(condition)                                            \
  do {                                                             \
    if (!(condition)) {                                            \
      fprintf(stderr, "new_files:%d: %s\n", __LINE__, #condition); \
      MPI_Abort(MPI_COMM_WORLD, 9);                                \
    }                                                              \
  } while (0)

static int rank, handler_calls;
static char innermost[256];

static herr_t count_call(hid_t stack, void* unused) {
  (void)stack, (void)unused;
  ++handler_calls;
  return 0;
}
static herr_t take_text(unsigned n, const H5E_error2_t* frame, void* unused) {
  (void)n, (void)unused;
  snprintf(innermost, sizeof innermost, "%.*s", (int)strcspn(frame->desc, "=,"), frame->desc);
  for (char* c = innermost; *c; ++c) *c = *c == ' ' ? '_' : *c;
  return 1;
}

static void create(const char* label, const char* path, hid_t fcpl, hid_t fapl) {
  handler_calls = 0;
  innermost[0] = '\0';
  hid_t file = H5Fcreate(path, H5F_ACC_EXCL, fcpl, fapl);
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_text, NULL);
  if (rank == 0)
    printf("%s %s,handler=%d,%s\n", label, file < 0 ? "failed" : "ok", handler_calls, innermost);
  if (file < 0) return;
  hsize_t rows = 64;
  hid_t space = H5Screate_simple(1, &rows, NULL);
  hid_t data = H5Dcreate2(file, "d", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  int values[64];
  for (int i = 0; i < 64; ++i) values[i] = i * 3;
  MUST(H5Dwrite(data, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  MUST(H5Dclose(data) >= 0 && H5Sclose(space) >= 0 && H5Fclose(file) >= 0);
}

int main(int argc, char** argv) {
  MUST(MPI_Init(&argc, &argv) == MPI_SUCCESS);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char path[4096];
  MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);
  MPI_File raw;
  snprintf(path, sizeof path, "%s/raw", argv[1]);
  const int mode = MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR;
  MUST(MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &raw) == MPI_SUCCESS);
  int opened_by = 0;
  MPI_Group group;
  MUST(MPI_File_get_group(raw, &group) == MPI_SUCCESS);
  MPI_Group_size(group, &opened_by);
  MPI_Group_free(&group);
  MUST(MPI_File_write_at_all(raw, rank * 8, "8 bytes ", 8, MPI_BYTE, MPI_STATUS_IGNORE) == 0);
  MUST(MPI_File_close(&raw) == MPI_SUCCESS);
  MPI_Errhandler handler;
  MPI_File_get_errhandler(MPI_FILE_NULL, &handler);
  if (rank == 0) printf("raw ok,ranks=%d,fatal=%d\n", opened_by, handler == MPI_ERRORS_ARE_FATAL);

  H5Eset_auto2(H5E_DEFAULT, count_call, NULL);
  hid_t fcpl = H5Pcreate(H5P_FILE_CREATE), fapl = H5Pcreate(H5P_FILE_ACCESS);
  MUST(H5Pset_userblock(fcpl, (hsize_t)(argc > 2 ? atol(argv[2]) : 0)) >= 0);
  MUST(H5Pset_fapl_mpio(fapl, MPI_COMM_WORLD, MPI_INFO_NULL) >= 0);
  snprintf(path, sizeof path, "%s/all.h5", argv[1]);
  create("all", path, fcpl, fapl);
  /* What fails without iotune too would be fatal. */
  MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
  create("there", path, fcpl, fapl);
  snprintf(path, sizeof path, "%s/absent", argv[1]);
  const int absent = MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &raw);
  if (rank == 0) printf("absent %s\n", absent == MPI_SUCCESS ? "ok" : "failed");
  snprintf(path, sizeof path, "%s/each%d.h5", argv[1], rank);
  create("each", path, fcpl, H5P_DEFAULT);
  create("each-there", path, fcpl, H5P_DEFAULT);
  H5Pclose(fcpl);
  H5Pclose(fapl);
  MPI_Finalize();
  return 0;
}
