/* Parallel HDF5 as the kernels use it. Every failure ends the run: a message
 * with the file's name on stderr, then MPI_Abort with status 1, because the
 * other ranks may be waiting in a collective call. */
#ifndef IOTUNE_KERNEL_IO_H
#define IOTUNE_KERNEL_IO_H

#include "kernel_dataset.h"

struct kernel_transfer {
  bool collective;
  struct kernel_dims chunk; /* n is 0: contiguous */
  int deflate;              /* -1: none */
  hsize_t rows; /* of the first dimension in a call, which is divided in blocks; 0: all */
};

/* `program` starts every message. Silences HDF5's own error stack. */
void kernel_io_begin(const char* program);

_Noreturn void kernel_fail(const char* file, const char* what);

hid_t kernel_file_create(const char* path);
hid_t kernel_file_open(const char* path);
void kernel_file_close(hid_t file, const char* path);

/* Creates the dataset, writes this rank's share from `buffer`, closes it. Collective. */
void kernel_dataset_write(hid_t file, const char* path, const struct kernel_dataset* dataset,
                          const struct kernel_transfer* transfer, const void* buffer);

/* Opens the dataset, whose dimensions must be the expected ones, and reads this
 * rank's share. Collective. */
void kernel_dataset_read(hid_t file, const char* path, const struct kernel_dataset* dataset,
                         const struct kernel_transfer* transfer, void* buffer);

#endif
