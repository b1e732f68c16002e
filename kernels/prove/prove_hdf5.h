/* What the prover of HDF5 has beside its files: property lists. */
#ifndef IOTUNE_PROVE_HDF5_H
#define IOTUNE_PROVE_HDF5_H

#include <hdf5.h>

#include "prove.h"

/* Returns `result`. Ends the run where it is negative, with HDF5's reason. */
hid_t prove_hdf5_need(hid_t result, const char* path, const char* what);

unsigned long long prove_number(const char* text);

/* The caller closes both. */
hid_t prove_access_list(const struct prove* prove, const char* path, int parallel);
hid_t prove_transfer_list(const struct prove* prove, const char* path, int parallel,
                          int collective);

#endif
