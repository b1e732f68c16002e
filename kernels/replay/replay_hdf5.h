/* The HDF5 calls of the replayer. Every failure ends the run: a message with
 * the file's name on stderr, then MPI_Abort with status 1, because the other
 * ranks may be waiting in a collective call. */
#ifndef IOTUNE_REPLAY_HDF5_H
#define IOTUNE_REPLAY_HDF5_H

#include "plan.h"

struct replay_buffer {
  char* byte;
  size_t size;
  uint64_t moved; /* bytes of this rank's transfers */
  /* Buffers are filled and compared by the formula. Without it all transfers use the same bytes,
   * because filling takes time. */
  bool verify;
};

_Noreturn void replay_fail(const char* file, const char* what);
_Noreturn void replay_fail_dataset(const struct plan_file* file, const struct plan_dataset* dataset,
                                   const char* what);

/* Returns `id`, which is negative where HDF5 failed. */
hid_t replay_need(hid_t id, const char* file, const char* what);

/* In pages of `page_bytes`; 0: not in pages. */
hid_t replay_create_file(const char* path, long long page_bytes);
hid_t replay_open_file(const char* path, bool writes);

hid_t replay_create_dataset(hid_t handle, const struct plan_file* file,
                            const struct plan_dataset* dataset);
/* Demands the plan's dimensions and element size. */
hid_t replay_open_dataset(hid_t handle, const struct plan_file* file,
                          const struct plan_dataset* dataset);
/* Closes it and opens it anew, as a program that opens a dataset for each transfer. */
hid_t replay_reopen_dataset(hid_t handle, hid_t id, const struct plan_file* file,
                            const struct plan_dataset* dataset);
void replay_close_dataset(hid_t id, const struct plan_file* file,
                          const struct plan_dataset* dataset);

/* Of so many numbers; of none 1. */
size_t replay_product(const hsize_t* number, size_t count);

/* A dataspace of the plan's dimensions. */
hid_t replay_space(const struct plan_file* file, const struct plan_dataset* dataset);

/* Selects a repetition in `space`; returns the dataspace in memory, packed. */
hid_t replay_select(hid_t space, const struct plan_file* file, const struct plan_transfer* transfer,
                    hsize_t repetition);

/* A transfer list that the caller closes, or H5P_DEFAULT where independent. */
hid_t replay_mode(const char* path, bool collective);

/* One H5Dwrite or H5Dread of the selection in `space`, or the beginning of one. */
void replay_move(hid_t id, const struct plan_file* file, const struct plan_dataset* dataset,
                 bool write, bool asynchronous, hid_t memory, hid_t space, hid_t mode,
                 struct replay_buffer* buffer);

#endif
