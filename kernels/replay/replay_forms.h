/* Transfers by other calls than H5Dwrite and H5Dread: of several datasets at
 * once, of chunks as they lie in the file, and asynchronous ones. Where the
 * HDF5 at hand has no such call the plain ones do the same. Failures end the
 * run as in replay_hdf5.h. */
#ifndef IOTUNE_REPLAY_FORMS_H
#define IOTUNE_REPLAY_FORMS_H

#include <stdint.h>

#include "replay_hdf5.h"

/* Waits as long as the program worked between its calls; not at all where bytes are compared. */
void replay_pause(const struct plan_transfer* transfer, struct replay_buffer* buffer);

/* Begins H5Dwrite or H5Dread of the selection in `space`. */
void replay_begin(hid_t id, const struct plan_file* file, const struct plan_dataset* dataset,
                  bool write, hid_t type, hid_t memory, hid_t space, hid_t mode, char* bytes);
/* Returns once all that was begun is done. */
void replay_wait(const struct plan_file* file);

/* Bytes of the largest buffer that a transfer of chunks needs. */
size_t replay_chunk_room(const struct plan_file* file, const struct plan_transfer* transfer);
/* One H5Dwrite_chunk or H5Dread_chunk of each chunk that this rank selects in a repetition. */
void replay_chunks(hid_t id, const struct plan_file* file, const struct plan_transfer* transfer,
                   hsize_t repetition, struct replay_buffer* buffer);

/* The transfers from `first` on, transfer->multi in number, by one call; `id` of all datasets. */
void replay_multi(const hid_t* id, const struct plan_file* file, const struct plan_transfer* first,
                  struct replay_buffer* buffer);

#endif
