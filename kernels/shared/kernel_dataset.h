/* A kernel's files and datasets as values, and the bytes that belong in them. */
#ifndef IOTUNE_KERNEL_DATASET_H
#define IOTUNE_KERNEL_DATASET_H

#include <limits.h>
#include <stdint.h>

#include "kernel_grid.h"

enum kernel_element { KERNEL_UINT8, KERNEL_INT32, KERNEL_INT64, KERNEL_FLOAT32, KERNEL_FLOAT64 };

/* A dataset and this rank's share of it. */
struct kernel_dataset {
  char path[64];
  uint64_t key; /* of its bytes: file, dataset and step */
  enum kernel_element element;
  int ndims;
  struct kernel_axis axis[KERNEL_MAX_DIMS];
  bool payload;    /* chunks and deflate apply to it */
  bool first_rank; /* written and read by rank 0 alone, independently */
};

struct kernel_file {
  char path[PATH_MAX];
  int count;
  struct kernel_dataset* dataset; /* owned */
};

size_t kernel_element_bytes(enum kernel_element element);
const char* kernel_element_name(enum kernel_element element);

/* Elements of this rank's share, and of the whole dataset. */
hsize_t kernel_dataset_count(const struct kernel_dataset* dataset);
hsize_t kernel_dataset_total(const struct kernel_dataset* dataset);

uint64_t kernel_dataset_key(int file, int number, int step);

/* `buffer` holds this rank's share in the order in which HDF5 packs a selection:
 * row-major in the dataset's coordinates. */
void kernel_dataset_fill(const struct kernel_dataset* dataset, void* buffer);

/* The row-major index in the dataset of the first wrong element of the share,
 * or UINT64_MAX; `found` then gets that element's bits. */
uint64_t kernel_dataset_check(const struct kernel_dataset* dataset, const void* buffer,
                              uint64_t* found);

/* The bits that belong at a row-major index. */
uint64_t kernel_dataset_bits(const struct kernel_dataset* dataset, uint64_t index);

/* "(3,0,17) is 1.25, expected 1.5" */
void kernel_dataset_describe(const struct kernel_dataset* dataset, uint64_t index, uint64_t found,
                             char* text, size_t size);

#endif
