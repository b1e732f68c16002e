/* Calls of HDF5 1.14 and later, in the way of programs that make no others.
 *   hdf5_newer multi FILE      two datasets written and read by one call
 *   hdf5_newer chunk FILE      chunks of a dataset written and read as they lie in the file
 *   hdf5_newer async FILE [sec2|vol]
 *                              a file made, written and closed by asynchronous forms alone; prints
 *                              the alignment that the file was opened with. By a list of the
 *                              program's own that asks for HDF5's own driver, or for the connector
 *                              that passes on to HDF5's own
 *   hdf5_newer reopen FILE     the same with two datasets, one of texts, and opened again; prints
 *                              "name value" lines: what the file and the datasets had each time,
 * and how often the program's error handler was called */
#include <hdf5.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MUST(condition)                                             \
  do {                                                              \
    if (!(condition)) {                                             \
      fprintf(stderr, "hdf5_newer:%d: %s\n", __LINE__, #condition); \
      return 1;                                                     \
    }                                                               \
  } while (0)

enum { kRows = 8, kColumns = 6, kLength = 40 };
static double values[kRows * kColumns];
static int numbers[kLength];

static int multi(const char* path) {
  const hsize_t dims[2] = {kRows, kColumns}, length = kLength;
  const hsize_t start[2] = {2, 1}, count[2] = {3, 4};
  const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  hid_t spaces[2] = {H5Screate_simple(2, dims, NULL), H5Screate_simple(1, &length, NULL)};
  hid_t types[2] = {H5T_NATIVE_DOUBLE, H5T_NATIVE_INT}, whole[2] = {H5S_ALL, H5S_ALL};
  hid_t data[2] = {
      H5Dcreate2(file, "table", types[0], spaces[0], H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
      H5Dcreate2(file, "list", types[1], spaces[1], H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)};
  const void* from[2] = {values, numbers};
  void* to[2] = {values, numbers};
  MUST(file >= 0 && data[0] >= 0 && data[1] >= 0);
  MUST(H5Sselect_hyperslab(spaces[0], H5S_SELECT_SET, start, NULL, count, NULL) >= 0);
  MUST(H5Dwrite_multi(2, data, types, spaces, spaces, H5P_DEFAULT, from) >= 0);
  MUST(H5Dread_multi(2, data, types, whole, whole, H5P_DEFAULT, to) >= 0);
  for (int i = 0; i < 2; ++i) {
    H5Dclose(data[i]);
    H5Sclose(spaces[i]);
  }
  return H5Fclose(file) < 0;
}

static int chunk(const char* path) {
  const hsize_t dims[2] = {kRows, kColumns}, chunk[2] = {4, 4};
  const hsize_t first[2] = {0, 0}, edge[2] = {4, 4};
  const size_t bytes = 4 * 4 * sizeof(double);
  uint32_t filters = 0;
  const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t space = H5Screate_simple(2, dims, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE);
  MUST(file >= 0 && H5Pset_chunk(dcpl, 2, chunk) >= 0);
  const hid_t data =
      H5Dcreate2(file, "table", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
  MUST(data >= 0);
  MUST(H5Dwrite_chunk(data, H5P_DEFAULT, 0, first, bytes, values) >= 0);
  MUST(H5Dwrite_chunk(data, H5P_DEFAULT, 0, edge, bytes, values) >= 0);
#if H5_VERS_MAJOR >= 2
  MUST(H5Dread_chunk1(data, H5P_DEFAULT, edge, &filters, values) >= 0);
#else
  MUST(H5Dread_chunk(data, H5P_DEFAULT, edge, &filters, values) >= 0);
#endif
  H5Dclose(data);
  H5Pclose(dcpl);
  H5Sclose(space);
  return H5Fclose(file) < 0;
}

static hid_t list_for(const char* what) {
  const hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
  if (strcmp(what, "sec2") == 0) return H5Pset_fapl_sec2(fapl) < 0 ? H5I_INVALID_HID : fapl;
  H5VL_pass_through_info_t info = {H5VLget_connector_id_by_value(H5_VOL_NATIVE), NULL};
  return H5Pset_vol(fapl, H5VL_PASSTHRU, &info) < 0 ? H5I_INVALID_HID : fapl;
}

static int async(const char* path, hid_t given) {
  const hsize_t dims[2] = {kRows, kColumns};
  size_t left = 0;
  hbool_t failed = 0;
  const hid_t events = H5EScreate(), space = H5Screate_simple(2, dims, NULL);
  const hid_t file = H5Fcreate_async(path, H5F_ACC_TRUNC, H5P_DEFAULT, given, events);
  const hid_t data = H5Dcreate_async(file, "table", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT,
                                     H5P_DEFAULT, H5P_DEFAULT, events);
  MUST(events >= 0 && file >= 0 && data >= 0);
  MUST(H5Dwrite_async(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values, events) >= 0);
  MUST(H5Dread_async(data, H5T_NATIVE_DOUBLE, space, space, H5P_DEFAULT, values, events) >= 0);
  MUST(H5ESwait(events, H5ES_WAIT_FOREVER, &left, &failed) >= 0 && left == 0 && !failed);
  const hid_t fapl = H5Fget_access_plist(file);
  hsize_t threshold = 0, alignment = 0;
  MUST(H5Pget_alignment(fapl, &threshold, &alignment) >= 0);
  printf("%" PRIuHSIZE " %" PRIuHSIZE "\n", threshold, alignment);
  H5Pclose(fapl);
  MUST(H5Dclose_async(data, events) >= 0 && H5Fclose_async(file, events) >= 0);
  MUST(H5ESwait(events, H5ES_WAIT_FOREVER, &left, &failed) >= 0);
  H5Sclose(space);
  return H5ESclose(events) < 0;
}

static int handler_calls;

static herr_t on_error(hid_t stack, void* unused) {
  (void)stack;
  (void)unused;
  ++handler_calls;
  return 0;
}

static int print_file(hid_t file) {
  const hid_t fapl = H5Fget_access_plist(file);
  hsize_t threshold = 0, alignment = 0;
  size_t sieve = 0;
  MUST(H5Pget_alignment(fapl, &threshold, &alignment) >= 0);
  MUST(H5Pget_sieve_buf_size(fapl, &sieve) >= 0);
  printf("file.alignment %" PRIuHSIZE ",%" PRIuHSIZE "\nfile.sieve %zu\n", threshold, alignment,
         sieve);
  return H5Pclose(fapl) < 0;
}

static int print_dataset(const char* name, hid_t data) {
  const hid_t dcpl = H5Dget_create_plist(data), dapl = H5Dget_access_plist(data);
  hsize_t chunk = 0;
  size_t slots = 0, bytes = 0;
  double w0 = 0;
  H5D_fill_time_t fill = H5D_FILL_TIME_ERROR;
  if (H5Pget_layout(dcpl) == H5D_CHUNKED) MUST(H5Pget_chunk(dcpl, 1, &chunk) >= 0);
  MUST(H5Pget_fill_time(dcpl, &fill) >= 0);
  MUST(H5Pget_chunk_cache(dapl, &slots, &bytes, &w0) >= 0);
  printf("%s.chunk %" PRIuHSIZE "\n%s.fill %d\n%s.cache %zu\n", name, chunk, name, (int)fill, name,
         bytes);
  return H5Pclose(dcpl) < 0 || H5Pclose(dapl) < 0;
}

static int reopen(const char* path) {
  const hsize_t length = kLength;
  size_t left = 0;
  hbool_t failed = 0;
  const hid_t events = H5EScreate(), space = H5Screate_simple(1, &length, NULL);
  const hid_t texts_type = H5Tcopy(H5T_C_S1);
  MUST(H5Tset_size(texts_type, H5T_VARIABLE) >= 0);
  MUST(H5Eset_auto2(H5E_DEFAULT, on_error, NULL) >= 0);
  hid_t file = H5Fcreate_async(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT, events);
  hid_t data = H5Dcreate_async(file, "numbers", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT,
                               H5P_DEFAULT, events);
  const hid_t texts = H5Dcreate_async(file, "texts", texts_type, space, H5P_DEFAULT, H5P_DEFAULT,
                                      H5P_DEFAULT, events);
  MUST(file >= 0 && data >= 0 && texts >= 0 && handler_calls == 0);
  MUST(H5Dwrite_async(data, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers, events) >= 0);
  MUST(H5ESwait(events, H5ES_WAIT_FOREVER, &left, &failed) >= 0 && left == 0 && !failed);
  MUST(print_file(file) == 0 && print_dataset("numbers", data) == 0);
  MUST(print_dataset("texts", texts) == 0);
  /* The name is taken: an error of the program itself. */
  MUST(H5Dcreate_async(file, "numbers", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT,
                       H5P_DEFAULT, H5ES_NONE) < 0);
  printf("handler %d\n", handler_calls);
  MUST(H5Dclose_async(texts, events) >= 0 && H5Dclose_async(data, events) >= 0);
  MUST(H5Fclose_async(file, events) >= 0);
  MUST(H5ESwait(events, H5ES_WAIT_FOREVER, &left, &failed) >= 0 && left == 0 && !failed);
  printf("reopened 1\n");
  file = H5Fopen_async(path, H5F_ACC_RDONLY, H5P_DEFAULT, events);
  data = H5Dopen_async(file, "numbers", H5P_DEFAULT, events);
  MUST(file >= 0 && data >= 0);
  MUST(H5Dread_async(data, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers, events) >= 0);
  MUST(H5ESwait(events, H5ES_WAIT_FOREVER, &left, &failed) >= 0 && left == 0 && !failed);
  for (int i = 0; i < kLength; ++i) MUST(numbers[i] == i);
  MUST(print_file(file) == 0 && print_dataset("numbers", data) == 0);
  MUST(H5Dclose_async(data, events) >= 0 && H5Fclose_async(file, events) >= 0);
  MUST(H5ESwait(events, H5ES_WAIT_FOREVER, &left, &failed) >= 0 && left == 0 && !failed);
  H5Sclose(space);
  H5Tclose(texts_type);
  return H5ESclose(events) < 0;
}

int main(int argc, char** argv) {
  MUST(argc == 3 || argc == 4);
  for (int i = 0; i < kLength; ++i) numbers[i] = i;
  if (strcmp(argv[1], "multi") == 0) return multi(argv[2]);
  if (strcmp(argv[1], "reopen") == 0) return reopen(argv[2]);
  if (strcmp(argv[1], "chunk") == 0) return chunk(argv[2]);
  return async(argv[2], argc == 4 ? list_for(argv[3]) : H5P_DEFAULT);
}
