// Ways of doing I/O with parallel HDF5 that `iotune advise` has a finding for, each beside a way
// that has none: hdf5_habits HABIT [good]. Files are made in the current directory.
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 1024, COLUMNS = 1024 };

static int rank, ranks;
static double* values;

static hid_t right(hid_t id) {
  if (id < 0) {
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return id;
}

static hid_t made(hid_t fapl) {
  return right(H5Fcreate("out.h5", H5F_ACC_TRUNC, H5P_DEFAULT, fapl));
}

static hid_t parallel(void) {
  hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
  right(H5Pset_fapl_mpio(fapl, MPI_COMM_WORLD, MPI_INFO_NULL));
  return fapl;
}

static hid_t collective(int wanted) {
  hid_t dxpl = H5Pcreate(H5P_DATASET_XFER);
  right(H5Pset_dxpl_mpio(dxpl, wanted ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT));
  return dxpl;
}

static hid_t dataset(hid_t file, const char* name, hid_t type, hid_t dcpl) {
  hsize_t dims[2] = {ROWS, COLUMNS};
  hid_t space = H5Screate_simple(2, dims, NULL);
  hid_t made_one = H5Dcreate2(file, name, type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
  H5Sclose(space);
  return right(made_one);
}

static void write_part(hid_t set, hid_t type, const hsize_t* start, const hsize_t* count,
                       hid_t dxpl) {
  hid_t space = H5Dget_space(set), memory = H5Screate_simple(2, count, NULL);
  H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
  right(H5Dwrite(set, type, memory, space, dxpl, values));
  H5Sclose(memory);
  H5Sclose(space);
}

static void read_part(hid_t set, const hsize_t* start, const hsize_t* count) {
  hid_t space = H5Dget_space(set), memory = H5Screate_simple(2, count, NULL);
  H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
  right(H5Dread(set, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values));
  H5Sclose(memory);
  H5Sclose(space);
}

// Columns of each rank: pieces of a row each.
static void columns_of_ranks(int transfer_collectively, hid_t memory_type) {
  hid_t fapl = parallel(), file = made(fapl), dxpl = collective(transfer_collectively);
  hid_t set = dataset(file, "a", H5T_IEEE_F64LE, H5P_DEFAULT);
  hsize_t start[2] = {0, (hsize_t)(COLUMNS / ranks * rank)};
  hsize_t count[2] = {ROWS, (hsize_t)(COLUMNS / ranks)};
  write_part(set, memory_type, start, count, dxpl);
  H5Dclose(set);
  H5Pclose(dxpl);
  H5Fclose(file);
  H5Pclose(fapl);
}

static void independent(int good) {
  columns_of_ranks(good, H5T_NATIVE_DOUBLE);
}

static void conversion(int good) {
  columns_of_ranks(1, good ? H5T_NATIVE_DOUBLE : H5T_NATIVE_FLOAT);
}

// Many hyperslabs joined by OR, as meshes and climate codes do.
static void scattered(int good) {
  hid_t fapl = parallel(), file = made(fapl), dxpl = collective(0);
  hid_t set = dataset(file, "a", H5T_IEEE_F64LE, H5P_DEFAULT), space = H5Dget_space(set);
  hsize_t each = good ? ROWS / (hsize_t)ranks : 1, points = 0;
  H5Sselect_none(space);
  for (hsize_t row = 0; row < ROWS / (hsize_t)ranks; row += each) {
    hsize_t at = good ? (hsize_t)rank * each : row * (hsize_t)ranks + (hsize_t)rank;
    hsize_t start[2] = {at, good ? 0 : (row * 37) % 500};
    hsize_t count[2] = {each, good ? COLUMNS : 32};
    H5Sselect_hyperslab(space, H5S_SELECT_OR, start, NULL, count, NULL);
    points += count[0] * count[1];
  }
  hid_t memory = H5Screate_simple(1, &points, NULL);
  right(H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, space, dxpl, values));
  H5Sclose(memory);
  H5Sclose(space);
  H5Dclose(set);
  H5Pclose(dxpl);
  H5Fclose(file);
  H5Pclose(fapl);
}

static void small_transfers(int good) {
  hid_t fapl = parallel(), file = made(fapl), dxpl = collective(0);
  hid_t set = dataset(file, "a", H5T_IEEE_F64LE, H5P_DEFAULT);
  hsize_t rows = ROWS / (hsize_t)ranks, each = good ? rows : 1;
  for (hsize_t k = 0; k < rows; k += each) {
    for (hsize_t part = 0; part < (good ? 1 : 8); ++part) {
      hsize_t start[2] = {(hsize_t)rank * rows + k, good ? 0 : part * COLUMNS / 8};
      hsize_t count[2] = {each, good ? COLUMNS : COLUMNS / 8};
      write_part(set, H5T_NATIVE_DOUBLE, start, count, dxpl);
    }
  }
  H5Dclose(set);
  H5Pclose(dxpl);
  H5Fclose(file);
  H5Pclose(fapl);
}

// Chunks that every rank has a part of, behind a filter.
static void filters(int good) {
  hid_t fapl = parallel(), file = made(fapl), dxpl = collective(1);
  hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
  hsize_t chunk[2] = {good ? ROWS / (hsize_t)ranks : ROWS, COLUMNS / 8};
  H5Pset_chunk(dcpl, 2, chunk);
  H5Pset_deflate(dcpl, 1);
  hid_t set = dataset(file, "a", H5T_IEEE_F64LE, dcpl);
  hsize_t start[2] = {(hsize_t)rank * (ROWS / (hsize_t)ranks), 0};
  hsize_t count[2] = {ROWS / (hsize_t)ranks, COLUMNS};
  write_part(set, H5T_NATIVE_DOUBLE, start, count, dxpl);
  H5Dclose(set);
  H5Pclose(dcpl);
  H5Pclose(dxpl);
  H5Fclose(file);
  H5Pclose(fapl);
}

static void chunked_file(hsize_t rows, hsize_t columns, int deflated, hid_t fapl) {
  hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE), file = made(fapl);
  hsize_t chunk[2] = {rows, columns}, start[2] = {0, 0}, count[2] = {ROWS, COLUMNS};
  H5Pset_chunk(dcpl, 2, chunk);
  if (deflated) {
    H5Pset_deflate(dcpl, 1);
  }
  hid_t set = dataset(file, "a", H5T_IEEE_F64LE, dcpl);
  write_part(set, H5T_NATIVE_DOUBLE, start, count, H5P_DEFAULT);
  H5Dclose(set);
  H5Pclose(dcpl);
  H5Fclose(file);
}

// Reads rows of chunks that are higher than wide; `good`: of chunks that are rows.
static void chunk_shape(int good) {
  if (rank == 0) {
    chunked_file(good ? 16 : ROWS, good ? COLUMNS : 16, 0, H5P_DEFAULT);
    hid_t file = right(H5Fopen("out.h5", H5F_ACC_RDONLY, H5P_DEFAULT));
    hid_t set = right(H5Dopen2(file, "a", H5P_DEFAULT));
    for (hsize_t k = 0; k < 16; ++k) {
      hsize_t start[2] = {k * 16, 0}, count[2] = {16, COLUMNS};
      read_part(set, start, count);
    }
    H5Dclose(set);
    H5Fclose(file);
  }
}

// Reads compressed chunks of 4 MiB row by row; `good`: through a cache that holds one.
static void chunk_cache(int good) {
  if (rank == 0) {
    chunked_file(ROWS / 2, COLUMNS, 1, H5P_DEFAULT);
    hid_t dapl = H5Pcreate(H5P_DATASET_ACCESS);
    if (good) {
      H5Pset_chunk_cache(dapl, 521, 32 << 20, 0.75);
    }
    hid_t file = right(H5Fopen("out.h5", H5F_ACC_RDONLY, H5P_DEFAULT));
    hid_t set = right(H5Dopen2(file, "a", dapl));
    for (hsize_t k = 0; k < 64; ++k) {
      hsize_t start[2] = {k * 16, 0}, count[2] = {16, COLUMNS};
      read_part(set, start, count);
    }
    H5Dclose(set);
    H5Pclose(dapl);
    H5Fclose(file);
  }
}

static void small_datasets(int good) {
  hid_t fapl = parallel(), file = made(fapl);
  for (int k = 0; k < (good ? 1 : 400); ++k) {
    char name[32];
    snprintf(name, sizeof name, "set%04d", k);
    hsize_t dims[1] = {good ? 400 * 16 : 16};
    hid_t space = H5Screate_simple(1, dims, NULL);
    hid_t set =
        right(H5Dcreate2(file, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    if (rank == 0) {
      right(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    }
    H5Dclose(set);
    H5Sclose(space);
  }
  H5Fclose(file);
  H5Pclose(fapl);
}

static void attributes(int good) {
  hid_t fapl = parallel(), file = made(fapl);
  for (int k = 0; k < (good ? 1 : 600); ++k) {
    char name[32];
    snprintf(name, sizeof name, "attribute%04d", k);
    hsize_t dims[1] = {good ? 600 : 1};
    hid_t space = H5Screate_simple(1, dims, NULL);
    hid_t one = right(H5Acreate2(file, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT));
    right(H5Awrite(one, H5T_NATIVE_DOUBLE, values));
    H5Aclose(one);
    H5Sclose(space);
  }
  H5Fclose(file);
  H5Pclose(fapl);
}

// A dataset that is filled when it is made, and then written in full.
static void fill(int good) {
  hid_t fapl = parallel(), file = made(fapl), dxpl = collective(1);
  hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
  hsize_t chunk[2] = {ROWS / (hsize_t)ranks, COLUMNS};
  H5Pset_chunk(dcpl, 2, chunk);
  if (good) {
    H5Pset_fill_time(dcpl, H5D_FILL_TIME_NEVER);
  }
  hid_t set = dataset(file, "a", H5T_IEEE_F64LE, dcpl);
  hsize_t start[2] = {(hsize_t)rank * chunk[0], 0};
  write_part(set, H5T_NATIVE_DOUBLE, start, chunk, dxpl);
  H5Dclose(set);
  H5Pclose(dcpl);
  H5Pclose(dxpl);
  H5Fclose(file);
  H5Pclose(fapl);
}

// Opens many datasets: each rank reads the same metadata by itself.
static void metadata_reads(int good) {
  if (rank == 0) {
    hid_t file = made(H5P_DEFAULT);
    for (int k = 0; k < 300; ++k) {
      char name[32];
      snprintf(name, sizeof name, "set%04d", k);
      hid_t space = H5Screate(H5S_SCALAR);
      H5Dclose(right(
          H5Dcreate2(file, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)));
      H5Sclose(space);
    }
    H5Fclose(file);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  hid_t fapl = parallel();
  if (good) {
    H5Pset_all_coll_metadata_ops(fapl, 1);
  }
  hid_t file = right(H5Fopen("out.h5", H5F_ACC_RDONLY, fapl));
  for (int k = 0; k < 300; ++k) {
    char name[32];
    snprintf(name, sizeof name, "set%04d", k);
    H5Dclose(right(H5Dopen2(file, name, H5P_DEFAULT)));
  }
  H5Fclose(file);
  H5Pclose(fapl);
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(int good);
  } habits[] = {
      {"independent", independent},
      {"conversion", conversion},
      {"scattered", scattered},
      {"small-transfers", small_transfers},
      {"filters", filters},
      {"chunk-shape", chunk_shape},
      {"chunk-cache", chunk_cache},
      {"small-datasets", small_datasets},
      {"attributes", attributes},
      {"fill", fill},
      {"metadata-reads", metadata_reads},
  };
  int good = argc > 2 && strcmp(argv[2], "good") == 0, found = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  values = calloc((size_t)ROWS * COLUMNS, sizeof *values);
  for (size_t k = 0; argc > 1 && k < sizeof habits / sizeof *habits; ++k) {
    if (strcmp(argv[1], habits[k].name) == 0) {
      habits[k].run(good);
      found = 1;
    }
  }
  free(values);
  MPI_Finalize();
  return found ? 0 : 2;
}
