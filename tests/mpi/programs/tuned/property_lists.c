/* Files under property lists that are drawn: which calls succeed, what the others say, what is
 * read. property_lists make FROM TO      file_N.h5 of each seed N from FROM on, below TO
 *   property_lists parallel FROM TO  the same by all ranks of a run, through MPI-IO
 *   property_lists check FROM TO     what is in the files, by one process
 * Prints a line a call: seed, call, result's sign, calls of the program's error handler, and the
 * functions and texts on the error stack. Equal seeds draw equal lists.
 */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kRows = 48, kColumns = 40 };
static unsigned long seed_now, state;
static int rank, parallel, handler_calls;
static char said[8192];

static unsigned draw(unsigned below) {
  state = state * 6364136223846793005ul + 1442695040888963407ul;
  return (unsigned)(state >> 33) % below;
}
#define ONE_OF(...) \
  ((const long[]){  \
      __VA_ARGS__})[draw((unsigned)(sizeof((const long[]){__VA_ARGS__}) / sizeof(long)))]

static herr_t count_call(hid_t stack, void* unused) {
  (void)stack, (void)unused;
  ++handler_calls;
  return 0;
}
/* Addresses, times and descriptors in a text differ from run to run. */
static herr_t add_frame(unsigned n, const H5E_error2_t* frame, void* unused) {
  (void)n, (void)unused;
  size_t used = strlen(said), words = strcspn(frame->desc, "=,");
  snprintf(said + used, sizeof said - used, " [%s: %.*s]", frame->func_name, (int)words,
           frame->desc);
  return 0;
}
static hid_t tell(const char* call, hid_t result) {
  said[0] = '\0';
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, add_frame, NULL);
  /* What a call that succeeds leaves on the stack is nobody's. */
  printf("%lu.%d %s %s %d%s\n", seed_now, rank, call, result < 0 ? "failed" : "ok", handler_calls,
         result < 0 ? said : "");
  fflush(stdout);
  handler_calls = 0;
  return result;
}

static herr_t flushed(hid_t object, void* count) {
  (void)object;
  ++*(int*)count;
  return 0;
}
static int flushes;

static hid_t draw_file_creation(void) {
  hid_t list = H5Pcreate(H5P_FILE_CREATE);
  if (draw(3) == 0)
    tell("H5Pset_userblock", H5Pset_userblock(list, (hsize_t)ONE_OF(512, 1024, 4096, 65536)));
  if (draw(3) == 0)
    tell("H5Pset_file_space_strategy",
         H5Pset_file_space_strategy(list, (H5F_fspace_strategy_t)draw(4), draw(2),
                                    draw(2) ? 1 : 64));
  if (draw(3) == 0)
    tell("H5Pset_file_space_page_size",
         H5Pset_file_space_page_size(list, (hsize_t)ONE_OF(512, 4096, 65536)));
  if (draw(6) == 0) tell("H5Pset_sym_k", H5Pset_sym_k(list, 8, 2));
  if (draw(6) == 0) tell("H5Pset_sizes", H5Pset_sizes(list, (size_t)ONE_OF(4, 8, 16), 8));
  if (draw(6) == 0) tell("H5Pset_shared_mesg_nindexes", H5Pset_shared_mesg_nindexes(list, 1));
  return list;
}

static hid_t draw_file_access(void) {
  hid_t list = H5Pcreate(H5P_FILE_ACCESS);
  if (parallel) {
    H5Pset_fapl_mpio(list, MPI_COMM_WORLD, MPI_INFO_NULL);
    if (draw(4) == 0) tell("H5Pset_all_coll_metadata_ops", H5Pset_all_coll_metadata_ops(list, 1));
  } else {
    switch (draw(9)) {
      case 0:
        tell("H5Pset_fapl_stdio", H5Pset_fapl_stdio(list));
        break;
      case 1:
        tell("H5Pset_fapl_core", H5Pset_fapl_core(list, 65536, draw(2)));
        break;
      case 2:
        tell("H5Pset_fapl_family", H5Pset_fapl_family(list, 1 << 20, H5P_DEFAULT));
        break;
      case 3:
        tell("H5Pset_fapl_split", H5Pset_fapl_split(list, ".m", H5P_DEFAULT, ".r", H5P_DEFAULT));
        break;
      case 4:
        tell("H5Pset_fapl_sec2", H5Pset_fapl_sec2(list));
        break;
      default:
        break;
    }
  }
  if (draw(3) == 0) {
    H5F_libver_t low = (H5F_libver_t)draw(3), high = (H5F_libver_t)(1 + draw(2));
    tell("H5Pset_libver_bounds", H5Pset_libver_bounds(list, low, high));
  }
  if (draw(4) == 0)
    tell("H5Pset_page_buffer_size",
         H5Pset_page_buffer_size(list, (size_t)ONE_OF(512, 65536, 1 << 20), 0, 0));
  if (draw(4) == 0)
    tell("H5Pset_alignment", H5Pset_alignment(list, 1, (hsize_t)ONE_OF(1, 512, 4096, 100000)));
  if (draw(5) == 0)
    tell("H5Pset_sieve_buf_size", H5Pset_sieve_buf_size(list, (size_t)ONE_OF(0, 100, 1 << 20)));
  if (draw(5) == 0)
    tell("H5Pset_meta_block_size", H5Pset_meta_block_size(list, (hsize_t)ONE_OF(0, 100, 1 << 16)));
  if (draw(5) == 0)
    tell("H5Pset_cache",
         H5Pset_cache(list, 0, (size_t)ONE_OF(1, 521), (size_t)ONE_OF(1, 1 << 20), 0.5));
  if (draw(5) == 0)
    tell("H5Pset_fclose_degree", H5Pset_fclose_degree(list, (H5F_close_degree_t)draw(4)));
  if (draw(5) == 0) tell("H5Pset_evict_on_close", H5Pset_evict_on_close(list, 1));
  if (draw(5) == 0) tell("H5Pset_object_flush_cb", H5Pset_object_flush_cb(list, flushed, &flushes));
  if (draw(6) == 0) tell("H5Pset_gc_references", H5Pset_gc_references(list, 1));
  if (draw(6) == 0) tell("H5Pset_metadata_read_attempts", H5Pset_metadata_read_attempts(list, 2));
  if (draw(5) == 0) {
    H5AC_cache_config_t config = {.version = H5AC__CURR_CACHE_CONFIG_VERSION};
    H5Pget_mdc_config(list, &config);
    config.set_initial_size = 1;
    config.initial_size = (size_t)ONE_OF(1024, 1 << 20, 1 << 21);
    tell("H5Pset_mdc_config", H5Pset_mdc_config(list, &config));
  }
  return list;
}

static hid_t draw_dataset_creation(int n) {
  hid_t list = H5Pcreate(H5P_DATASET_CREATE);
  const hsize_t chunks[][2] = {
      {1, kColumns}, {7, 9}, {kRows, kColumns}, {1 << 20, 1 << 13}, {0, 1}};
  switch (draw(6)) {
    case 0:
      tell("H5Pset_layout", H5Pset_layout(list, H5D_COMPACT));
      break;
    case 1:
    case 2:
      tell("H5Pset_chunk", H5Pset_chunk(list, 2, chunks[draw(5)]));
      break;
    case 3: {
      char name[64];
      snprintf(name, sizeof name, "raw_%lu_%d", seed_now, n);
      tell("H5Pset_external", H5Pset_external(list, name, 0, H5F_UNLIMITED));
      break;
    }
    default:
      break;
  }
  if (draw(3) == 0) tell("H5Pset_shuffle", H5Pset_shuffle(list));
  if (draw(4) == 0) tell("H5Pset_deflate", H5Pset_deflate(list, 1));
  if (draw(4) == 0) tell("H5Pset_alloc_time", H5Pset_alloc_time(list, (H5D_alloc_time_t)draw(4)));
  if (draw(4) == 0) tell("H5Pset_fill_time", H5Pset_fill_time(list, (H5D_fill_time_t)draw(3)));
  if (draw(4) == 0) {
    int fill = 7;
    tell("H5Pset_fill_value", H5Pset_fill_value(list, H5T_NATIVE_INT, &fill));
  }
  return list;
}

static hid_t draw_dataset_access(void) {
  if (draw(3) != 0) return H5P_DEFAULT;
  hid_t list = H5Pcreate(H5P_DATASET_ACCESS);
  if (draw(2) == 0)
    tell("H5Pset_chunk_cache",
         H5Pset_chunk_cache(list, (size_t)ONE_OF(0, 1, 521), (size_t)ONE_OF(0, 64, 1 << 20), 1.0));
  if (draw(3) == 0) tell("H5Pset_efile_prefix", H5Pset_efile_prefix(list, "nowhere"));
  return list;
}

static void close_list(hid_t list) {
  if (list > 0) H5Pclose(list);
}

static void use_dataset(hid_t file, int n, int creating, int writing) {
  char name[16];
  snprintf(name, sizeof name, "d%d", n);
  int values[kRows * kColumns];
  const int growing = draw(4) == 0;
  const hsize_t dims[2] = {kRows, kColumns}, most[2] = {H5S_UNLIMITED, kColumns};
  hid_t space = H5Screate_simple(2, dims, growing ? most : NULL);
  hid_t type = draw(8) == 0 ? H5T_STD_I64BE : H5T_NATIVE_INT;
  hid_t dapl = draw_dataset_access(), data = -1;
  if (creating) {
    hid_t dcpl = draw_dataset_creation(n);
    data = draw(5) == 0
               ? tell("H5Dcreate_anon", H5Dcreate_anon(file, type, space, dcpl, dapl))
               : tell("H5Dcreate2", H5Dcreate2(file, name, type, space, H5P_DEFAULT, dcpl, dapl));
    close_list(dcpl);
  } else {
    data = tell("H5Dopen2", H5Dopen2(file, name, dapl));
  }
  hid_t dxpl = H5Pcreate(H5P_DATASET_XFER);
  if (parallel && draw(2) == 0) H5Pset_dxpl_mpio(dxpl, H5FD_MPIO_COLLECTIVE);
  if (draw(5) == 0) tell("H5Pset_buffer", H5Pset_buffer(dxpl, (size_t)ONE_OF(1, 4096), NULL, NULL));
  if (data >= 0 && writing) {
    for (int i = 0; i < kRows * kColumns; ++i)
      values[i] = (int)(seed_now * 1000 + (unsigned)i + (unsigned)n);
    hid_t part = H5Scopy(space);
    if (parallel) { /* the ranks' rows in turn */
      const hsize_t start[2] = {(hsize_t)rank, 0}, stride[2] = {2, 1},
                    count[2] = {kRows / 2, kColumns};
      H5Sselect_hyperslab(part, H5S_SELECT_SET, start, stride, count, NULL);
    }
    tell("H5Dwrite", H5Dwrite(data, H5T_NATIVE_INT, part, part, dxpl, values));
    H5Sclose(part);
  } else if (data >= 0) {
    memset(values, 0, sizeof values);
    tell("H5Dread", H5Dread(data, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, dxpl, values));
    long sum = 0;
    for (int i = 0; i < kRows * kColumns; ++i) sum = sum * 31 + values[i];
    printf("%lu.%d sum %ld\n", seed_now, rank, sum);
  }
  H5Pclose(dxpl);
  close_list(dapl);
  H5Sclose(space);
  if (data >= 0) tell("H5Dclose", H5Dclose(data));
}

static void one_file(void) {
  char name[64];
  snprintf(name, sizeof name, "file_%lu%s.h5", seed_now, draw(12) == 0 && !parallel ? "_%d" : "");
  if (draw(4) == 0 && rank == 0) { /* a file is there */
    FILE* f = fopen(name, "w");
    fputs("not HDF5", f);
    fclose(f);
  }
  if (parallel) MPI_Barrier(MPI_COMM_WORLD);
  flushes = 0;
  hid_t fcpl = draw_file_creation(), fapl = draw_file_access();
  const unsigned flags = (unsigned)ONE_OF(H5F_ACC_TRUNC, H5F_ACC_TRUNC, H5F_ACC_EXCL) |
                         (draw(8) == 0 ? H5F_ACC_SWMR_WRITE : 0);
  const int sets = 1 + (int)draw(3);
  hid_t file = tell("H5Fcreate", H5Fcreate(name, flags, fcpl, fapl));
  if (file >= 0) {
    for (int n = 0; n < sets; ++n) use_dataset(file, n, 1, 1);
    if (draw(3) == 0) tell("H5Fflush", H5Fflush(file, H5F_SCOPE_GLOBAL));
    tell("H5Fclose", H5Fclose(file));
  }
  if (draw(3) == 0) {
    H5Pclose(fapl);
    fapl = draw_file_access();
  }
  const unsigned how =
      (unsigned)ONE_OF(H5F_ACC_RDONLY, H5F_ACC_RDWR, H5F_ACC_RDONLY | H5F_ACC_SWMR_READ,
                       H5F_ACC_RDWR | H5F_ACC_SWMR_WRITE);
  const int writes = draw(3) == 0 && (how & H5F_ACC_RDWR) != 0;
  file = tell("H5Fopen", H5Fopen(name, how, fapl));
  if (file >= 0) {
    for (int n = 0; n < sets; ++n) use_dataset(file, n, 0, writes);
    tell("H5Fclose", H5Fclose(file));
  }
  printf("%lu.%d flushes %d\n", seed_now, rank, flushes > 0);
  H5Pclose(fcpl);
  H5Pclose(fapl);
}

static herr_t print_object(hid_t file, const char* name, const H5L_info_t* link, void* unused) {
  (void)link, (void)unused;
  long long values[kRows * kColumns] = {0}, sum = 0;
  hid_t data = H5Dopen2(file, name, H5P_DEFAULT);
  if (data < 0) return 0;
  const int good = H5Dread(data, H5T_NATIVE_LLONG, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0;
  for (int i = 0; i < kRows * kColumns; ++i) sum = sum * 31 + values[i];
  printf("%lu.0 has %s %d %lld\n", seed_now, name, good, sum);
  H5Dclose(data);
  return 0;
}

static void print_contents(void) {
  char name[64];
  snprintf(name, sizeof name, "file_%lu.h5", seed_now);
  hid_t file = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
  printf("%lu.0 %s\n", seed_now,
         file >= 0                 ? "a file of HDF5"
         : access(name, F_OK) == 0 ? "another file"
                                   : "none");
  if (file < 0) return;
  H5Literate(file, H5_INDEX_NAME, H5_ITER_INC, NULL, print_object, NULL);
  H5Fclose(file);
}

static void one_seed(int checks) {
  state = seed_now * 2654435761u + 12345;
  for (int i = 0; i < 4; ++i) draw(2);
  printf("%lu.%d begins\n", seed_now, rank);
  fflush(stdout);
  checks ? print_contents() : one_file();
  fflush(stdout);
}

/* What HDF5 does to its own memory stays in a process of its own. */
static void fork_for_seed(int checks) {
  const pid_t child = fork();
  if (child == 0) {
    one_seed(checks);
    exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) printf("%lu.0 dies\n", seed_now);
  fflush(stdout);
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  parallel = strcmp(argv[1], "parallel") == 0;
  const int checks = strcmp(argv[1], "check") == 0;
  if (parallel) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  }
  H5Eset_auto2(H5E_DEFAULT, checks ? NULL : count_call, NULL);
  const unsigned long end = strtoul(argv[3], NULL, 10);
  for (seed_now = strtoul(argv[2], NULL, 10); seed_now < end; ++seed_now) {
    parallel ? one_seed(0) : fork_for_seed(checks);
  }
  if (parallel) MPI_Finalize();
  return 0;
}
