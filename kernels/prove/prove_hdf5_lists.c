/* The property lists of the prover of HDF5: settings as the tuner makes them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hdf5_failure.h"
#include "prove_hdf5.h"

void prove_hdf5_version(char* text, int capacity) {
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  snprintf(text, (size_t)capacity, "%u.%u.%u", major, minor, release);
}

hid_t prove_hdf5_need(hid_t result, const char* path, const char* what) {
  if (result < 0) hdf5_fail("iotune-prove", path, what);
  return result;
}

unsigned long long prove_number(const char* text) {
  return strtoull(text, NULL, 10);
}

/* The tuner sets no format that this HDF5 does not know. */
static void set_format(hid_t list, const char* path, const char* low) {
  static const char* const known[] = {"", "v18", "v110", "v112", "v114"}; /* by H5F_libver_t */
  H5F_libver_t least, most = 0;
  prove_hdf5_need(H5Pget_libver_bounds(list, &least, &most), path, "H5Pget_libver_bounds");
  for (int i = 1; i <= (int)most && i < (int)(sizeof known / sizeof *known); i++)
    if (strcmp(low, known[i]) == 0)
      prove_hdf5_need(H5Pset_libver_bounds(list, (H5F_libver_t)i, most), path,
                      "H5Pset_libver_bounds");
}

/* The settings as the tuner makes them. */
hid_t prove_access_list(const struct prove* prove, const char* path, int parallel) {
  hid_t list = prove_hdf5_need(H5Pcreate(H5P_FILE_ACCESS), path, "H5Pcreate");
  const char* value = prove_value(prove, "alignment");
  if (value != NULL) {
    const char* comma = strchr(value, ',');
    prove_hdf5_need(H5Pset_alignment(list, prove_number(value), prove_number(comma + 1)), path,
                    "H5Pset_alignment");
  }
  value = prove_value(prove, "meta_block_size");
  if (value != NULL)
    prove_hdf5_need(H5Pset_meta_block_size(list, prove_number(value)), path,
                    "H5Pset_meta_block_size");
  value = prove_value(prove, "sieve_buf_size");
  if (value != NULL)
    prove_hdf5_need(H5Pset_sieve_buf_size(list, (size_t)prove_number(value)), path,
                    "H5Pset_sieve_buf_size");
  value = prove_value(prove, "mdc_size");
  if (value != NULL) {
    H5AC_cache_config_t cache;
    cache.version = H5AC__CURR_CACHE_CONFIG_VERSION;
    prove_hdf5_need(H5Pget_mdc_config(list, &cache), path, "H5Pget_mdc_config");
    cache.set_initial_size = 1;
    cache.initial_size = (size_t)prove_number(value);
    if (cache.max_size < cache.initial_size) cache.max_size = cache.initial_size;
    if (cache.min_size > cache.initial_size) cache.min_size = cache.initial_size;
    prove_hdf5_need(H5Pset_mdc_config(list, &cache), path, "H5Pset_mdc_config");
  }
  value = prove_value(prove, "libver_low");
  if (value != NULL) set_format(list, path, value);
#if H5_VERSION_GE(1, 10, 1)
  value = prove_value(prove, "evict_on_close");
  if (value != NULL && !parallel)
    prove_hdf5_need(H5Pset_evict_on_close(list, strcmp(value, "enable") == 0), path,
                    "H5Pset_evict_on_close");
#endif
#ifdef H5_HAVE_PARALLEL
  if (parallel) {
    MPI_Info info = prove_hints(prove);
    prove_hdf5_need(H5Pset_fapl_mpio(list, MPI_COMM_WORLD, info), path, "H5Pset_fapl_mpio");
    if (info != MPI_INFO_NULL) MPI_Info_free(&info);
    value = prove_value(prove, "coll_metadata_write");
    if (value != NULL)
      prove_hdf5_need(H5Pset_coll_metadata_write(list, strcmp(value, "enable") == 0), path,
                      "H5Pset_coll_metadata_write");
  }
#else
  (void)parallel;
#endif
  return list;
}

hid_t prove_transfer_list(const struct prove* prove, const char* path, int parallel,
                          int collective) {
  hid_t list = prove_hdf5_need(H5Pcreate(H5P_DATASET_XFER), path, "H5Pcreate");
#ifdef H5_HAVE_PARALLEL
  const char* individual = prove_value(prove, "dxpl_mpio_collective_opt");
  if (parallel && collective) {
    prove_hdf5_need(H5Pset_dxpl_mpio(list, H5FD_MPIO_COLLECTIVE), path, "H5Pset_dxpl_mpio");
    if (individual != NULL && strcmp(individual, "individual") == 0)
      prove_hdf5_need(H5Pset_dxpl_mpio_collective_opt(list, H5FD_MPIO_INDIVIDUAL_IO), path,
                      "H5Pset_dxpl_mpio_collective_opt");
  }
#else
  (void)prove, (void)parallel, (void)collective;
#endif
  return list;
}
