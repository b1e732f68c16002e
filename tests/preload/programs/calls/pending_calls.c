/* pending_calls FILE: makes and writes a file by asynchronous calls that are under way when they
 * return (pending_hdf5.c), and waits for none of them. */
#include <stddef.h>
#include <stdint.h>

#define APP const char *app_file, const char *app_func, unsigned app_line
int64_t H5Fcreate_async(APP, const char*, unsigned, int64_t, int64_t, int64_t);
int64_t H5Dcreate_async(APP, int64_t, const char*, int64_t, int64_t, int64_t, int64_t, int64_t,
                        int64_t);
int H5Dset_extent_async(APP, int64_t, const uint64_t*, int64_t);
int H5Dwrite_async(APP, int64_t, int64_t, int64_t, int64_t, int64_t, const void*, int64_t);
int H5Dwrite_multi_async(APP, size_t, int64_t*, int64_t*, int64_t*, int64_t*, int64_t, const void**,
                         int64_t);
int H5Dclose_async(APP, int64_t, int64_t);
int H5Fclose_async(APP, int64_t, int64_t);
#define HERE __FILE__, __func__, __LINE__

int main(int argc, char** argv) {
  const int64_t events = 5, type = 11;
  const uint64_t size[1] = {3};
  if (argc != 2) return 2;
  for (int i = 0; i < 2; ++i) {
    const int64_t file = H5Fcreate_async(HERE, argv[1], 2, 0, 0, events);
    int64_t data = H5Dcreate_async(HERE, file, "data", type, 12, 0, 0, 0, events);
    int64_t types[1] = {type}, whole[1] = {0};
    const void* from[1] = {size};
    if (H5Dset_extent_async(HERE, data, size, events) < 0) return 1;
    if (H5Dwrite_async(HERE, data, type, 0, 0, 0, size, events) < 0) return 1;
    if (H5Dwrite_multi_async(HERE, 1, &data, types, whole, whole, 0, from, events) < 0) return 1;
    if (H5Dclose_async(HERE, data, events) < 0 || H5Fclose_async(HERE, file, events) < 0) return 1;
  }
  return 0;
}
