/* One file of a plan, replayed. Failures end the run as in replay_hdf5.h. */
#ifndef IOTUNE_REPLAY_FILE_H
#define IOTUNE_REPLAY_FILE_H

#include <stdint.h>

#include "replay_hdf5.h"

/* Bytes of this rank's largest transfer, or more where its pieces overlap. */
size_t replay_largest(const struct plan_file* file);

void replay_reserve(struct replay_buffer* buffer, size_t size);

/* Creates or opens the file, does its transfers, closes it. Collective. */
void replay_file(const struct plan_file* file, struct replay_buffer* buffer);

/* Reads again, independently, what this rank wrote, and compares. Collective. */
void replay_read_again(const struct plan_file* file, struct replay_buffer* buffer);

/* Creates the file of part `first` with its datasets in full, and with those
 * of later parts that open the same file. Collective. */
void replay_prepare(const struct plan* plan, size_t first, const char* path,
                    struct replay_buffer* buffer);

#endif
