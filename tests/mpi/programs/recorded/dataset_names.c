// dataset_names FOLDER: datasets with several names, names that mean another dataset later, and
// files made again. All ranks make them together and write or read all of each; data go out
// independently, where rank 1 leaves some of them out.
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kElements = 64 };
static int rank;
static hid_t file, space, fapl;

static hid_t must(hid_t id) {
  if (id < 0) {
    fprintf(stderr, "a call of HDF5 failed\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return id;
}

static hid_t made(const char* name) {
  return name == NULL ? must(H5Dcreate_anon(file, H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT))
                      : must(H5Dcreate2(file, name, H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT,
                                        H5P_DEFAULT));
}

static void written(hid_t dataset, int by_rank_1) {
  int data[kElements] = {0};
  if (rank == 0 || by_rank_1)
    must(H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
  must(H5Dclose(dataset));
}

static hid_t opened(const char* name) {
  return must(H5Dopen2(file, name, H5P_DEFAULT));
}

static void begun(const char* name) {
  file = must(H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const hsize_t size = kElements;
  space = must(H5Screate_simple(1, &size, NULL));
  fapl = must(H5Pcreate(H5P_FILE_ACCESS));
  H5Pset_fapl_mpio(fapl, MPI_COMM_WORLD, MPI_INFO_NULL);
  if (argc > 2) H5Pset_all_coll_metadata_ops(fapl, 1);
  char name[3][4096];
  for (int i = 0; i < 3; i++)
    snprintf(name[i], sizeof name[i], "%s/%s.h5", argv[1],
             i == 0   ? "names"
             : i == 1 ? "again"
                      : "other");

  begun(name[2]);
  written(made("far"), 1);
  must(H5Fclose(file));

  begun(name[0]);
  // One dataset by a hard link, a soft one, through groups and by its address: five writes.
  written(made("first"), 1);
  must(H5Lcreate_hard(file, "first", H5L_SAME_LOC, "second", H5P_DEFAULT, H5P_DEFAULT));
  must(H5Lcreate_soft("/first", file, "soft", H5P_DEFAULT, H5P_DEFAULT));
  hid_t group = must(H5Gcreate2(file, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  must(H5Lcreate_hard(file, "first", group, "third", H5P_DEFAULT, H5P_DEFAULT));
  written(opened("second"), 1);
  written(opened("soft"), 1);
  written(must(H5Dopen2(group, "third", H5P_DEFAULT)), 1);
  written(must(H5Oopen(group, "third", H5P_DEFAULT)), 1);
  must(H5Gclose(group));
  // Another file's dataset: a sixth and a seventh.
  must(H5Lcreate_external("other.h5", "/far", file, "near", H5P_DEFAULT, H5P_DEFAULT));
  written(opened("near"), 1);
  // Renamed, and the name given to another one: one write each, and one more of the first.
  written(made("old"), 1);
  must(H5Lmove(file, "old", file, "new", H5P_DEFAULT, H5P_DEFAULT));
  written(made("old"), 1);
  written(opened("new"), 1);
  // Deleted and made again, twice, perhaps in the same place; rank 1 writes the last one alone.
  written(made("gone"), 0);
  must(H5Ldelete(file, "gone", H5P_DEFAULT));
  written(made("gone"), 1);
  // A copy is another dataset.
  must(H5Ocopy(file, "first", file, "copy", H5P_DEFAULT, H5P_DEFAULT));
  written(opened("copy"), 1);
  // Made without a name, written, linked by two, and written by both.
  hid_t unnamed = made(NULL);
  int data[kElements] = {0};
  must(H5Dwrite(unnamed, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
  must(H5Olink(unnamed, file, "linked", H5P_DEFAULT, H5P_DEFAULT));
  must(H5Olink(unnamed, file, "linked too", H5P_DEFAULT, H5P_DEFAULT));
  must(H5Dclose(unnamed));
  written(opened("linked too"), 1);
  must(H5Fclose(file));

  // The same file made three times: one dataset, at whatever address.
  for (int i = 0; i < 3; i++) {
    begun(name[1]);
    if (i == 1) must(H5Gclose(must(H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT))));
    written(made("step"), 1);
    must(H5Fclose(file));
  }
  H5Pclose(fapl);
  H5Sclose(space);
  MPI_Finalize();
  return 0;
}
