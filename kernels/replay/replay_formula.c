#include "replay_formula.h"

#include <stdbool.h>
#include <stdlib.h>

static int compare_indices(const void* left, const void* right) {
  uint64_t a = *(const uint64_t*)left, b = *(const uint64_t*)right;
  return (a > b) - (a < b);
}

static uint64_t row_major(const hsize_t* at, const hsize_t* dims, int n) {
  uint64_t index = 0;
  for (int d = 0; d < n; d++) index = index * dims[d] + at[d];
  return index;
}

/* Goes on to the next place of the box in row-major order; false after the last one. */
static bool advance(hsize_t* at, const hsize_t* first, const hsize_t* last, int n) {
  for (int d = n - 1; d >= 0; d--) {
    if (++at[d] <= last[d]) return true;
    at[d] = first[d];
  }
  return false;
}

/* Appends the indices of the box from `first` to `last`, both included. */
static size_t append_box(const hsize_t* first, const hsize_t* last, const hsize_t* dims, int n,
                         uint64_t* index) {
  hsize_t at[H5S_MAX_RANK];
  size_t count = 0;
  for (int d = 0; d < n; d++) at[d] = first[d];
  do {
    index[count++] = row_major(at, dims, n);
  } while (advance(at, first, last, n));
  return count;
}

static bool fill_from_boxes(hid_t space, const hsize_t* dims, int n, size_t count,
                            uint64_t* index) {
  hssize_t boxes = H5Sget_select_hyper_nblocks(space);
  if (boxes < 0) return false;
  size_t width = 2 * (size_t)n, filled = 0;
  hsize_t* box = malloc((size_t)boxes * width * sizeof *box);
  bool right = box != NULL && H5Sget_select_hyper_blocklist(space, 0, (hsize_t)boxes, box) >= 0;
  for (size_t i = 0; right && i < (size_t)boxes; i++)
    filled += append_box(box + i * width, box + i * width + n, dims, n, index + filled);
  free(box);
  if (right) qsort(index, count, sizeof *index, compare_indices);
  return right && filled == count;
}

static bool fill_from_points(hid_t space, const hsize_t* dims, int n, size_t count,
                             uint64_t* index) {
  hsize_t* point = malloc(count * (size_t)n * sizeof *point);
  bool right = point != NULL && H5Sget_select_elem_pointlist(space, 0, count, point) >= 0;
  for (size_t i = 0; right && i < count; i++) index[i] = row_major(point + i * (size_t)n, dims, n);
  free(point);
  return right;
}

uint64_t* replay_indices(hid_t space, size_t* count) {
  hsize_t dims[H5S_MAX_RANK];
  hssize_t selected = H5Sget_select_npoints(space);
  int n = H5Sget_simple_extent_ndims(space);
  if (selected < 0 || n < 0) return NULL;
  *count = (size_t)selected;
  uint64_t* index = malloc((*count + 1) * sizeof *index);
  if (index == NULL || *count == 0) return index;
  H5S_sel_type kind = H5Sget_select_type(space);
  bool right = true;
  if (n > 0) H5Sget_simple_extent_dims(space, dims, NULL);
  if (kind == H5S_SEL_HYPERSLABS)
    right = fill_from_boxes(space, dims, n, *count, index);
  else if (kind == H5S_SEL_POINTS)
    right = fill_from_points(space, dims, n, *count, index);
  else
    for (size_t i = 0; i < *count; i++) index[i] = i;
  if (right) return index;
  free(index);
  return NULL;
}

static uint64_t path_key(const char* path) {
  uint64_t key = 0xcbf29ce484222325u;
  for (; *path != '\0'; path++) key = (key ^ (unsigned char)*path) * 0x100000001b3u;
  return key;
}

/* Eight bytes of an element; `word` counts them through the whole dataset. */
static uint64_t formula_word(uint64_t key, uint64_t word) {
  uint64_t x = (key + word) * 0x9e3779b97f4a7c15u;
  x ^= x >> 29;
  x *= 0xbf58476d1ce4e5b9u;
  return x ^ (x >> 32);
}

static char formula_byte(uint64_t key, size_t element_bytes, uint64_t index, size_t byte) {
  uint64_t word = index * ((element_bytes + 7) / 8) + byte / 8;
  return (char)(formula_word(key, word) >> (byte % 8 * 8));
}

void replay_formula_fill(const char* dataset, size_t element_bytes, const uint64_t* index,
                         size_t count, char* buffer) {
  uint64_t key = path_key(dataset);
  for (size_t i = 0; i < count; i++)
    for (size_t b = 0; b < element_bytes; b++)
      buffer[i * element_bytes + b] = formula_byte(key, element_bytes, index[i], b);
}

size_t replay_formula_check(const char* dataset, size_t element_bytes, const uint64_t* index,
                            size_t count, const char* buffer) {
  uint64_t key = path_key(dataset);
  for (size_t i = 0; i < count; i++)
    for (size_t b = 0; b < element_bytes; b++)
      if (buffer[i * element_bytes + b] != formula_byte(key, element_bytes, index[i], b)) return i;
  return count;
}
