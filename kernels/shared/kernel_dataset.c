#include "kernel_dataset.h"

#include <stdio.h>
#include <string.h>

size_t kernel_element_bytes(enum kernel_element element) {
  switch (element) {
    case KERNEL_UINT8:
      return 1;
    case KERNEL_INT32:
    case KERNEL_FLOAT32:
      return 4;
    case KERNEL_INT64:
    case KERNEL_FLOAT64:
      return 8;
  }
  return 0;
}

const char* kernel_element_name(enum kernel_element element) {
  static const char* const name[] = {"uint8", "int32", "int64", "float32", "float64"};
  return name[element];
}

hsize_t kernel_dataset_count(const struct kernel_dataset* dataset) {
  hsize_t count = 1;
  for (int i = 0; i < dataset->ndims; i++) count *= kernel_axis_count(&dataset->axis[i]);
  return count;
}

hsize_t kernel_dataset_total(const struct kernel_dataset* dataset) {
  hsize_t count = 1;
  for (int i = 0; i < dataset->ndims; i++) count *= dataset->axis[i].extent;
  return count;
}

static uint64_t mix(uint64_t x) {
  x *= 0x9e3779b97f4a7c15u;
  return x ^ (x >> 32);
}

uint64_t kernel_dataset_key(int file, int number, int step) {
  return mix(mix(mix((uint64_t)file + 1) + (uint64_t)number) + (uint64_t)step);
}

/* Floats lie in [1, 2): there is no NaN, whose bits a conversion might change, and a dump of the
 * file is readable. */
static uint32_t bits32(enum kernel_element element, uint64_t mixed) {
  return element == KERNEL_FLOAT32 ? 0x3f800000u | (uint32_t)(mixed >> 41)
                                   : (uint32_t)(mixed >> 32);
}

static uint64_t bits64(enum kernel_element element, uint64_t mixed) {
  return element == KERNEL_FLOAT64 ? 0x3ff0000000000000u | (mixed >> 12) : mixed;
}

uint64_t kernel_dataset_bits(const struct kernel_dataset* dataset, uint64_t index) {
  uint64_t mixed = mix(dataset->key + index);
  switch (kernel_element_bytes(dataset->element)) {
    case 1:
      return mixed >> 56;
    case 4:
      return bits32(dataset->element, mixed);
    default:
      return bits64(dataset->element, mixed);
  }
}

static void fill_run(const struct kernel_dataset* dataset, uint64_t index, hsize_t count,
                     void* buffer) {
  enum kernel_element element = dataset->element;
  uint64_t first = dataset->key + index;
  switch (kernel_element_bytes(element)) {
    case 1:
      for (hsize_t i = 0; i < count; i++) ((uint8_t*)buffer)[i] = (uint8_t)(mix(first + i) >> 56);
      break;
    case 4:
      for (hsize_t i = 0; i < count; i++) ((uint32_t*)buffer)[i] = bits32(element, mix(first + i));
      break;
    default:
      for (hsize_t i = 0; i < count; i++) ((uint64_t*)buffer)[i] = bits64(element, mix(first + i));
  }
}

/* Walks a share in runs that are contiguous both in the dataset and in memory. */
struct walk {
  hsize_t local[KERNEL_MAX_DIMS];
  hsize_t count[KERNEL_MAX_DIMS];
  bool done;
};

static struct walk walk_begin(const struct kernel_dataset* dataset) {
  struct walk walk = {.done = false};
  for (int i = 0; i < dataset->ndims; i++) {
    walk.count[i] = kernel_axis_count(&dataset->axis[i]);
    if (walk.count[i] == 0) walk.done = true;
  }
  return walk;
}

static hsize_t walk_next(const struct kernel_dataset* dataset, struct walk* walk, uint64_t* index) {
  hsize_t run = 0;
  *index = 0;
  for (int i = 0; i < dataset->ndims; i++) {
    const struct kernel_axis* axis = &dataset->axis[i];
    *index = *index * axis->extent + kernel_axis_place(axis, walk->local[i], &run);
  }
  int last = dataset->ndims - 1;
  walk->local[last] += run;
  for (int i = last; i >= 0 && walk->local[i] == walk->count[i]; i--) {
    walk->local[i] = 0;
    if (i == 0)
      walk->done = true;
    else
      walk->local[i - 1]++;
  }
  return run;
}

void kernel_dataset_fill(const struct kernel_dataset* dataset, void* buffer) {
  size_t bytes = kernel_element_bytes(dataset->element);
  char* at = buffer;
  for (struct walk walk = walk_begin(dataset); !walk.done;) {
    uint64_t index;
    hsize_t run = walk_next(dataset, &walk, &index);
    fill_run(dataset, index, run, at);
    at += run * bytes;
  }
}

/* Returns the number of right elements before the first wrong one of the run. */
static hsize_t check_run(const struct kernel_dataset* dataset, uint64_t index, hsize_t count,
                         const char* buffer) {
  enum { PART = 512 };
  uint64_t expected[PART];
  size_t bytes = kernel_element_bytes(dataset->element);
  for (hsize_t done = 0; done < count; done += PART) {
    hsize_t n = count - done < PART ? count - done : PART;
    fill_run(dataset, index + done, n, expected);
    if (memcmp(expected, buffer + done * bytes, n * bytes) == 0) continue;
    for (hsize_t i = 0; i < n; i++)
      if (memcmp((char*)expected + i * bytes, buffer + (done + i) * bytes, bytes) != 0)
        return done + i;
  }
  return count;
}

uint64_t kernel_dataset_check(const struct kernel_dataset* dataset, const void* buffer,
                              uint64_t* found) {
  size_t bytes = kernel_element_bytes(dataset->element);
  const char* at = buffer;
  for (struct walk walk = walk_begin(dataset); !walk.done;) {
    uint64_t index;
    hsize_t run = walk_next(dataset, &walk, &index);
    hsize_t right = check_run(dataset, index, run, at);
    if (right < run) {
      *found = 0;
      if (bytes == 1) *found = *(const uint8_t*)(at + right);
      if (bytes == 4) *found = ((const uint32_t*)(const void*)at)[right];
      if (bytes == 8) *found = ((const uint64_t*)(const void*)at)[right];
      return index + right;
    }
    at += run * bytes;
  }
  return UINT64_MAX;
}

static void print_value(enum kernel_element element, uint64_t bits, char* text, size_t size) {
  uint32_t low = (uint32_t)bits;
  float f32;
  double f64;
  memcpy(&f32, &low, sizeof f32);
  memcpy(&f64, &bits, sizeof f64);
  switch (element) {
    case KERNEL_FLOAT32:
      snprintf(text, size, "%.9g", (double)f32);
      break;
    case KERNEL_FLOAT64:
      snprintf(text, size, "%.17g", f64);
      break;
    case KERNEL_INT32:
      snprintf(text, size, "%d", (int)low);
      break;
    default:
      snprintf(text, size, "%llu", (unsigned long long)bits);
  }
}

void kernel_dataset_describe(const struct kernel_dataset* dataset, uint64_t index, uint64_t found,
                             char* text, size_t size) {
  char place[128], is[32], expected[32];
  hsize_t at[KERNEL_MAX_DIMS];
  uint64_t left = index;
  for (int i = dataset->ndims - 1; i >= 0; i--) {
    at[i] = left % dataset->axis[i].extent;
    left /= dataset->axis[i].extent;
  }
  int used = 0;
  for (int i = 0; i < dataset->ndims; i++)
    used += snprintf(place + used, sizeof place - (size_t)used, "%s%llu", i > 0 ? "," : "",
                     (unsigned long long)at[i]);
  print_value(dataset->element, found, is, sizeof is);
  print_value(dataset->element, kernel_dataset_bits(dataset, index), expected, sizeof expected);
  snprintf(text, size, "%s: element (%s) is %s, expected %s", dataset->path, place, is, expected);
}
