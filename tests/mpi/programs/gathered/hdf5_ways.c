/* Writes rows of a dataset one by one, and ends in one of several ways.
 *   hdf5_ways WAY FILE ROWS
 * plain: closes everything. exit, finalize: ends so, with everything open. abort: one rank does,
 * and the others die of it. full: prints what H5Fflush and H5Fclose return. kinds: datasets whose
 * writes do not wait. unlinked: writes a dataset whose link is gone, then another one. alone: one
 * rank writes a file of its own. copied: a dataset that others write is copied, and moved. lists:
 * each write has a list of its own, as in netCDF, which is asked what came of it. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COLUMNS = 8 };

static hid_t row_space(hid_t all, hsize_t row) {
  const hsize_t start[2] = {row, 0}, count[2] = {1, COLUMNS};
  H5Sselect_hyperslab(all, H5S_SELECT_SET, start, NULL, count, NULL);
  return all;
}

static hid_t make(hid_t file, const char* name, hid_t type, hsize_t rows) {
  const hsize_t dims[2] = {rows, COLUMNS};
  hid_t space = H5Screate_simple(2, dims, NULL);
  hid_t made = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  H5Sclose(space);
  return made;
}

static int makes_lists;

static int write_row(hid_t data, hid_t type, hid_t memory, hid_t space, const void* row) {
  if (!makes_lists) return H5Dwrite(data, type, memory, space, H5P_DEFAULT, row);
  uint32_t local = 0, global = 0;
  const hid_t list = H5Pcreate(H5P_DATASET_XFER);
  H5Pset_dxpl_mpio(list, H5FD_MPIO_INDEPENDENT);
  H5Pget_mpio_no_collective_cause(list, &local, &global);
  if (local != H5D_MPIO_COLLECTIVE || global != H5D_MPIO_COLLECTIVE) printf("cause before\n");
  const int result = H5Dwrite(data, type, memory, space, list, row);
  H5Pget_mpio_no_collective_cause(list, &local, &global);
  if (local != H5D_MPIO_SET_INDEPENDENT || global != H5D_MPIO_SET_INDEPENDENT) printf("cause\n");
  H5Pclose(list);
  return result;
}

static void write_rows(hid_t data, hid_t type, hsize_t first, hsize_t step, const void* row) {
  const hsize_t columns = COLUMNS;
  hid_t space = H5Dget_space(data), memory = H5Screate_simple(1, &columns, NULL);
  hsize_t dims[2];
  H5Sget_simple_extent_dims(space, dims, NULL);
  for (hsize_t i = first; i < dims[0]; i += step) {
    if (write_row(data, type, memory, row_space(space, i), row) < 0) printf("failed\n");
  }
  H5Sclose(memory);
  H5Sclose(space);
}

static void kinds(hid_t file) {
  const char* words[COLUMNS] = {"a", "bc", "def", "", "g", "h", "i", "jk"};
  const double halves[COLUMNS] = {0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4};
  hid_t text = H5Tcopy(H5T_C_S1);
  H5Tset_size(text, H5T_VARIABLE);
  hid_t strings = make(file, "strings", text, 20);
  write_rows(strings, text, 0, 1, words);
  H5Dclose(strings);
  hid_t converted = make(file, "converted", H5T_STD_I16BE, 20);
  write_rows(converted, H5T_NATIVE_DOUBLE, 0, 1, halves);
  H5Dclose(converted);
  /* One that waits, between the two. */
  hid_t same = make(file, "same", H5T_NATIVE_DOUBLE, 20);
  write_rows(same, H5T_NATIVE_DOUBLE, 0, 1, halves);
  H5Dclose(same);
  H5Tclose(text);
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const char* const way = argv[1];
  const hsize_t rows = (hsize_t)atoi(argv[3]);
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  makes_lists = strcmp(way, "lists") == 0;
  const int alone = strcmp(way, "alone") == 0 || strcmp(way, "kinds") == 0;
  if (!alone || rank == 0) {
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
    if (!alone) H5Pset_fapl_mpio(fapl, MPI_COMM_WORLD, MPI_INFO_NULL);
    hid_t file = H5Fcreate(argv[2], H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    if (strcmp(way, "full") == 0) {
      H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    } else if (strcmp(way, "kinds") == 0) {
      kinds(file);
    }
    hid_t data = make(file, "rows", H5T_NATIVE_INT, rows);
    const int unlinked = strcmp(way, "unlinked") == 0;
    if (unlinked) {
      MPI_Barrier(MPI_COMM_WORLD);
      H5Ldelete(file, "rows", H5P_DEFAULT);
    }
    const int row[COLUMNS] = {rank, 1, 2, 3, 4, 5, 6, 7};
    write_rows(data, H5T_NATIVE_INT, alone ? 0 : (hsize_t)rank, alone ? 1 : (hsize_t)size, row);
    if (strcmp(way, "abort") == 0) {
      MPI_Barrier(MPI_COMM_WORLD);
      if (rank == 0) MPI_Abort(MPI_COMM_WORLD, 3);
      pause();
    }
    if (strcmp(way, "copied") == 0) {
      MPI_Barrier(MPI_COMM_WORLD);
      if (rank != 0) usleep(300000); /* rank 0 copies first */
      if (H5Ocopy(file, "rows", file, "copy", H5P_DEFAULT, H5P_DEFAULT) < 0) printf("no copy\n");
      write_rows(data, H5T_NATIVE_INT, (hsize_t)rank, (hsize_t)size, row);
      H5Lmove(file, "rows", H5L_SAME_LOC, "moved", H5P_DEFAULT, H5P_DEFAULT);
    }
    if (strcmp(way, "exit") == 0) exit(0);
    if (strcmp(way, "finalize") != 0) {
      const int flushed = unlinked ? 0 : H5Fflush(file, H5F_SCOPE_GLOBAL);
      H5Dclose(data);
      if (unlinked) { /* its place is free */
        MPI_Barrier(MPI_COMM_WORLD);
        data = make(file, "later", H5T_NATIVE_INT, rows);
        write_rows(data, H5T_NATIVE_INT, (hsize_t)rank, (hsize_t)size, row);
        H5Dclose(data);
      }
      const int closed = H5Fclose(file);
      if (strcmp(way, "full") == 0) {
        printf("%s %s\n", flushed < 0 ? "error" : "good", closed < 0 ? "error" : "good");
        fflush(stdout);
        _Exit(0);
      }
    }
    H5Pclose(fapl);
  }
  MPI_Finalize();
  return 0;
}
