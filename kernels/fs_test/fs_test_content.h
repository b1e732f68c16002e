/* What stands at each byte of a file: a function of file, offset and seed alone, so that any
 * number of ranks can check any part of it. */
#ifndef IOTUNE_FS_TEST_CONTENT_H
#define IOTUNE_FS_TEST_CONTENT_H

#include <stdint.h>

void fs_content_fill(uint64_t key, int64_t offset, unsigned char* bytes, int64_t size);

/* The place of the first wrong byte in `bytes`, or -1. */
int64_t fs_content_check(uint64_t key, int64_t offset, const unsigned char* bytes, int64_t size);

unsigned char fs_content_byte(uint64_t key, int64_t offset);

/* Of file `number` of a run. */
uint64_t fs_content_key(uint64_t seed, int64_t number);

#endif
