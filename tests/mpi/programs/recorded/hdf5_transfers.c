/* Transfers of HDF5 whose other side is known to the program, which prints it.
 *   hdf5_transfers memory FILE SEED     each kind of memory space; the indices of what is moved
 *   hdf5_transfers collective FILE      what HDF5 made of collective transfers, as it says itself
 *   hdf5_transfers changes FILE SEED    dataspaces that are kept and changed between transfers
 *   hdf5_transfers chunks FILE SEED     chunks as they lie in the file */
#include <hdf5.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUST(condition)                                                 \
  do {                                                                  \
    if (!(condition)) {                                                 \
      fprintf(stderr, "hdf5_transfers:%d: %s\n", __LINE__, #condition); \
      MPI_Abort(MPI_COMM_WORLD, 9);                                     \
    }                                                                   \
  } while (0)

enum { kRows = 24, kColumns = 18 };
static int rank, ranks;
static double buffer[4 * kRows * kColumns];

static hsize_t from(unsigned least, unsigned most) {
  return least + (unsigned)rand() % (most - least + 1);
}

/* A random regular selection that is or-ed to a dataspace, and what it selects. */
static void select_more(hid_t space, H5S_seloper_t op, char* selected) {
  const hsize_t most[2] = {kRows, kColumns};
  hsize_t start[2], stride[2], count[2], block[2];
  for (int d = 0; d < 2; ++d) {
    block[d] = from(1, 3);
    stride[d] = block[d] + from(0, 2);
    start[d] = from(0, 4);
    count[d] = from(1, (unsigned)((most[d] - start[d]) / stride[d]) - 1);
  }
  MUST(H5Sselect_hyperslab(space, op, start, stride, count, block) >= 0);
  for (hsize_t r = 0; r < count[0] * block[0]; ++r) {
    for (hsize_t c = 0; c < count[1] * block[1]; ++c) {
      const hsize_t row = start[0] + r / block[0] * stride[0] + r % block[0];
      const hsize_t column = start[1] + c / block[1] * stride[1] + c % block[1];
      selected[row * kColumns + column] = 1;
    }
  }
}

static void print_selected(const char* what, const char* selected) {
  printf("%s", what);
  for (int i = 0; i < kRows * kColumns; ++i) {
    if (selected[i]) printf(" %d,%d", i / kColumns, i % kColumns);
  }
  printf("\n");
}

/* Moves as many elements as the memory space has selected, to the front of the dataset. */
static void move(hid_t data, hid_t memory) {
  hsize_t start = 0, count = (hsize_t)H5Sget_select_npoints(memory);
  const hid_t space = H5Dget_space(data);
  if (count == 0) {
    MUST(H5Sselect_none(space) >= 0);
  } else {
    MUST(H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &count, NULL) >= 0);
  }
  if (rand() % 2) {
    MUST(H5Dwrite(data, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, buffer) >= 0);
  } else {
    MUST(H5Dread(data, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, buffer) >= 0);
  }
  H5Sclose(space);
}

static void memory_spaces(hid_t file) {
  const hsize_t length = kRows * kColumns, dims[2] = {kRows, kColumns};
  const hid_t space = H5Screate_simple(1, &length, NULL);
  const hid_t data =
      H5Dcreate2(file, "data", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  MUST(space >= 0 && data >= 0);
  for (int i = 0; i < 40; ++i) {
    char selected[kRows * kColumns] = {0};
    const hid_t memory = H5Screate_simple(2, dims, NULL);
    switch (i % 6) {
      case 0:
        select_more(memory, H5S_SELECT_SET, selected);
        move(data, memory);
        print_selected("regular", selected);
        break;
      case 1:
        select_more(memory, H5S_SELECT_SET, selected);
        select_more(memory, H5S_SELECT_OR, selected);
        select_more(memory, H5S_SELECT_OR, selected);
        move(data, memory);
        print_selected("union", selected);
        break;
      case 2: {
        hsize_t points[5][2];
        for (int p = 0; p < 5; ++p) {
          points[p][0] = 5 * (hsize_t)p % kRows;
          points[p][1] = from(0, kColumns - 1);
          selected[points[p][0] * kColumns + points[p][1]] = 1;
        }
        MUST(H5Sselect_elements(memory, H5S_SELECT_SET, 5, &points[0][0]) >= 0);
        move(data, memory);
        print_selected("points", selected);
        break;
      }
      case 3:
        memset(selected, 1, sizeof selected);
        move(data, memory);
        print_selected("all", selected);
        break;
      case 4:
        MUST(H5Sselect_none(memory) >= 0);
        move(data, memory);
        print_selected("none", selected);
        break;
      default:
        MUST(H5Dwrite(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, buffer) >= 0);
        print_selected("as-in-file", selected);
    }
    H5Sclose(memory);
  }
  H5Dclose(data);
  H5Sclose(space);
}

/* Prints what HDF5 says that the space selects; only the bounds have the offset in them. */
static void print_space(hid_t space) {
  char selected[kRows * kColumns] = {0};
  static hsize_t corners[4 * kRows * kColumns];
  const H5S_sel_type kind = H5Sget_select_type(space);
  hsize_t blocks = 0, low[2], high[2], least[2] = {kRows, kColumns};
  const int per = kind == H5S_SEL_POINTS ? 1 : 2;
  if (kind == H5S_SEL_HYPERSLABS) {
    blocks = (hsize_t)H5Sget_select_hyper_nblocks(space);
    MUST(H5Sget_select_hyper_blocklist(space, 0, blocks, corners) >= 0);
  } else if (kind == H5S_SEL_POINTS) {
    blocks = (hsize_t)H5Sget_select_elem_npoints(space);
    MUST(H5Sget_select_elem_pointlist(space, 0, blocks, corners) >= 0);
  } else {
    memset(selected, kind == H5S_SEL_ALL, sizeof selected);
  }
  if (blocks > 0) MUST(H5Sget_select_bounds(space, low, high) >= 0);
  for (hsize_t i = 0; i < 2 * blocks * (hsize_t)per; ++i) {
    if (corners[i] < least[i % 2]) least[i % 2] = corners[i];
  }
  for (hsize_t b = 0; b < blocks; ++b) {
    const hsize_t *const first = corners + 2 * (hsize_t)per * b, *last = first + 2 * (per - 1);
    for (hsize_t r = first[0]; r <= last[0]; ++r) {
      for (hsize_t c = first[1]; c <= last[1]; ++c) {
        selected[(r + low[0] - least[0]) * kColumns + c + low[1] - least[1]] = 1;
      }
    }
  }
  print_selected("selected", selected);
}

static void set_one(hid_t space, H5S_seloper_t op) {
  const hsize_t most[2] = {kRows - 3, kColumns - 3};
  hsize_t start[2], stride[2], count[2], block[2];
  const int strided = rand() % 3, blocks = strided && rand() % 2;
  for (int d = 0; d < 2; ++d) {
    block[d] = blocks ? from(1, 3) : 1;
    stride[d] = strided ? block[d] + from(0, 2) : 1;
    start[d] = from(0, 4);
    count[d] = from(1, (unsigned)((most[d] - start[d]) / stride[d]));
  }
  MUST(H5Sselect_hyperslab(space, op, start, strided ? stride : NULL, count,
                           blocks ? block : NULL) >= 0);
}

static void change(hid_t* space, hid_t other) {
  hssize_t offset[2] = {rand() % 3, rand() % 3};
  hsize_t points[5][2];
  switch (rand() % 20) {
    case 0: /* not to points */
      set_one(*space,
              H5Sget_select_type(*space) == H5S_SEL_POINTS ? H5S_SELECT_SET : H5S_SELECT_OR);
      break;
    case 1:
      for (int p = 0; p < 5; ++p) {
        points[p][0] = 4 * (hsize_t)p;
        points[p][1] = from(0, kColumns - 4);
      }
      MUST(H5Sselect_elements(*space, H5S_SELECT_SET, 5, &points[0][0]) >= 0);
      break;
    case 2:
      MUST(H5Sselect_all(*space) >= 0);
      break;
    case 3:
      MUST(H5Sselect_none(*space) >= 0);
      break;
    case 4:
      MUST(H5Soffset_simple(*space, offset) >= 0);
      break;
    case 5:
      MUST(H5Sextent_copy(*space, other) >= 0);
      break;
    case 6:
      MUST(H5Sclose(*space) >= 0);
      *space = H5Scopy(other);
      MUST(*space >= 0);
      break;
#if H5_VERSION_GE(1, 10, 6)
    case 7:
      MUST(H5Sselect_copy(*space, other) >= 0);
      break;
#endif
    default:
      set_one(*space, H5S_SELECT_SET);
  }
}

static void changes(hid_t file) {
  const hsize_t dims[2] = {kRows, kColumns}, most = kRows * kColumns;
  hid_t spaces[3], memory = H5Screate_simple(1, &most, NULL);
  for (int i = 0; i < 3; ++i) spaces[i] = H5Screate_simple(2, dims, NULL);
  const hid_t data =
      H5Dcreate2(file, "data", H5T_NATIVE_DOUBLE, spaces[0], H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  MUST(data >= 0 && memory >= 0 && H5Eset_auto2(H5E_DEFAULT, NULL, NULL) >= 0);
  for (int i = 0; i < 1500; ++i) {
    const int which = rand() % 3;
    hid_t* const space = &spaces[which];
    for (int k = rand() % 3; k >= 0; --k) change(space, spaces[(which + 1 + rand() % 2) % 3]);
    /* An offset may lead out. */
    if (H5Sselect_valid(*space) <= 0) continue;
    const hsize_t start = from(0, 3);
    const hsize_t count = (hsize_t)H5Sget_select_npoints(*space);
    if (count == 0 || count + start > most) continue;
    MUST(H5Sselect_hyperslab(memory, H5S_SELECT_SET, &start, NULL, &count, NULL) >= 0);
    /* HDF5 1.10 counts the points of some unions twice: memory may have more than are listed. */
    printf("%d %d ", (int)start, (int)count);
    /* HDF5 1.10 cannot read some unions. */
    if (H5Dread(data, H5T_NATIVE_DOUBLE, memory, *space, H5P_DEFAULT, buffer) < 0) {
      puts("failed");
    } else {
      print_space(*space);
    }
  }
  H5Dclose(data);
}

static void collective(hid_t file) {
  const hsize_t dims[2] = {kRows, kColumns}, chunk[2] = {4, 6};
  const hsize_t start[2] = {(hsize_t)rank * (hsize_t)(kRows / ranks), 0},
                count[2] = {(hsize_t)(kRows / ranks), kColumns};
  const hid_t space = H5Screate_simple(2, dims, NULL), memory = H5Screate_simple(2, count, NULL);
  const hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE), dxpl = H5Pcreate(H5P_DATASET_XFER);
  MUST(H5Pset_chunk(dcpl, 2, chunk) >= 0);
  const hid_t data[2] = {
      H5Dcreate2(file, "rows", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
      H5Dcreate2(file, "chunks", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT)};
  MUST(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0);
  for (int i = 0; i < 8; ++i) {
    H5D_mpio_actual_io_mode_t mode;
    uint32_t local = 0, global = 0;
    /* A foreign type makes HDF5 give up collective I/O. */
    const hid_t type = i / 2 % 2 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
    MUST(H5Pset_dxpl_mpio(dxpl, i < 4 ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT) >= 0);
    MUST(H5Dwrite(data[i % 2], type, memory, space, dxpl, buffer) >= 0);
    MUST(H5Pget_mpio_actual_io_mode(dxpl, &mode) >= 0);
    MUST(H5Pget_mpio_no_collective_cause(dxpl, &local, &global) >= 0);
    if (i < 4) {
      printf("%d %d %u %u\n", rank, (int)mode, local, global);
    } else {
      printf("%d independent\n", rank);
    }
  }
  for (int i = 0; i < 2; ++i) H5Dclose(data[i]);
  H5Sclose(space);
  H5Sclose(memory);
  H5Pclose(dcpl);
  H5Pclose(dxpl);
}

static void chunks(hid_t file) {
  const hsize_t dims[2] = {from(kRows / 2, kRows), from(kColumns / 2, kColumns)};
  const hsize_t chunk[2] = {from(2, 7), from(2, 7)};
  const size_t bytes = (size_t)(chunk[0] * chunk[1]) * sizeof(double);
  const hid_t space = H5Screate_simple(2, dims, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE);
  MUST(H5Pset_chunk(dcpl, 2, chunk) >= 0);
  const hid_t data =
      H5Dcreate2(file, "chunks", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
  printf("dims %d %d\n", (int)dims[0], (int)dims[1]);
  hsize_t at[2];
  for (at[0] = 0; at[0] < dims[0]; at[0] += chunk[0]) {
    for (at[1] = 0; at[1] < dims[1]; at[1] += chunk[1]) {
      uint32_t filters = 0;
      MUST(H5Dwrite_chunk(data, H5P_DEFAULT, 0, at, bytes, buffer) >= 0);
      MUST(H5Dread_chunk(data, H5P_DEFAULT, at, &filters, buffer) >= 0);
      const hsize_t rows = dims[0] - at[0] < chunk[0] ? dims[0] - at[0] : chunk[0];
      const hsize_t columns = dims[1] - at[1] < chunk[1] ? dims[1] - at[1] : chunk[1];
      printf("%d %d %d %d\n", (int)at[0], (int)at[1], (int)rows, (int)columns);
    }
  }
  H5Dclose(data);
  H5Sclose(space);
  H5Pclose(dcpl);
}

int main(int argc, char** argv) {
  MUST(argc >= 3 && MPI_Init(&argc, &argv) == 0);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc > 3) srand((unsigned)strtoul(argv[3], NULL, 10));
  const hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
  MUST(H5Pset_fapl_mpio(fapl, MPI_COMM_WORLD, MPI_INFO_NULL) >= 0);
  const hid_t file = H5Fcreate(argv[2], H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
  MUST(file >= 0);
  if (strcmp(argv[1], "memory") == 0) memory_spaces(file);
  if (strcmp(argv[1], "changes") == 0) changes(file);
  if (strcmp(argv[1], "collective") == 0) collective(file);
  if (strcmp(argv[1], "chunks") == 0) chunks(file);
  H5Pclose(fapl);
  MUST(H5Fclose(file) >= 0);
  MPI_Finalize();
  return 0;
}
