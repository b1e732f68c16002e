/* The bytes that --verify expects: a formula of the dataset's path, the
 * element's row-major index and the byte in it. */
#ifndef IOTUNE_REPLAY_FORMULA_H
#define IOTUNE_REPLAY_FORMULA_H

#include <hdf5.h>
#include <stdint.h>

/* The indices of the selected elements in the order in which HDF5 packs them:
 * the points' own order, else rising. Eight bytes an element, so not for
 * measurements. The caller frees it; NULL where memory or HDF5 fails. */
uint64_t* replay_indices(hid_t space, size_t* count);

void replay_formula_fill(const char* dataset, size_t element_bytes, const uint64_t* index,
                         size_t count, char* buffer);

/* Returns the position of the first wrong element, or `count`. */
size_t replay_formula_check(const char* dataset, size_t element_bytes, const uint64_t* index,
                            size_t count, const char* buffer);

#endif
