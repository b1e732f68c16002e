// The functions of a provider's HDF5 that the hooks themselves call. libiotune.so does not link
// HDF5: each provider (there may be several in one process) has its own table.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "core/link/real_function.h"

namespace iotune {

using Hid = std::int64_t;  // hid_t from HDF5 1.10 on

struct Hdf5Api {
  int (*H5get_libversion)(unsigned*, unsigned*, unsigned*);
  int (*H5free_memory)(void*);
  int (*H5Eget_auto2)(Hid, void**, void**);
  int (*H5Eset_auto2)(Hid, void*, void*);
  int (*H5Eclear2)(Hid);
  Hid (*H5Eget_current_stack)();
  int (*H5Eset_current_stack)(Hid);
  int (*H5Ewalk2)(Hid, int, int (*)(unsigned, const void*, void*), void*);
  ssize_t (*H5Iget_name)(Hid, char*, std::size_t);
  int (*H5Iget_type)(Hid);
  Hid (*H5Iget_file_id)(Hid);
  int (*H5Idec_ref)(Hid);
  ssize_t (*H5Fget_name)(Hid, char*, std::size_t);
  int (*H5Fclose)(Hid);
  Hid (*H5Fget_access_plist)(Hid);
  int (*H5Fget_intent)(Hid, unsigned*);
  ssize_t (*H5Fget_obj_count)(Hid, unsigned);
  int (*H5Fget_vfd_handle)(Hid, Hid, void**);
  Hid (*H5Dget_space)(Hid);
  Hid (*H5Dget_type)(Hid);
  Hid (*H5Dget_create_plist)(Hid);
  Hid (*H5Dget_access_plist)(Hid);
  std::size_t (*H5Tget_size)(Hid);
  int (*H5Tget_class)(Hid);
  int (*H5Tclose)(Hid);
  int (*H5Sget_simple_extent_ndims)(Hid);
  int (*H5Sget_simple_extent_dims)(Hid, std::uint64_t*, std::uint64_t*);
  std::int64_t (*H5Sget_select_npoints)(Hid);
  int (*H5Sget_select_type)(Hid);
  int (*H5Sis_regular_hyperslab)(Hid);
  int (*H5Sget_regular_hyperslab)(Hid, std::uint64_t*, std::uint64_t*, std::uint64_t*,
                                  std::uint64_t*);
  std::int64_t (*H5Sget_select_hyper_nblocks)(Hid);
  int (*H5Sget_select_hyper_blocklist)(Hid, std::uint64_t, std::uint64_t, std::uint64_t*);
  std::int64_t (*H5Sget_select_elem_npoints)(Hid);
  int (*H5Sget_select_elem_pointlist)(Hid, std::uint64_t, std::uint64_t, std::uint64_t*);
  int (*H5Sget_select_bounds)(Hid, std::uint64_t*, std::uint64_t*);
  int (*H5Sclose)(Hid);
  Hid (*H5Pcopy)(Hid);
  Hid (*H5Pcreate)(Hid);
  int (*H5Pclose)(Hid);
  int (*H5Pget)(Hid, const char*, void*);
  Hid (*H5Pget_class)(Hid);
  int (*H5Pclose_class)(Hid);
  char* (*H5Pget_class_name)(Hid);
  int (*H5Pget_layout)(Hid);
  int (*H5Pget_chunk)(Hid, int, std::uint64_t*);
  int (*H5Pset_chunk)(Hid, int, const std::uint64_t*);
  int (*H5Pget_external_count)(Hid);
  int (*H5Pget_nfilters)(Hid);
  int (*H5Pget_fill_time)(Hid, int*);
  int (*H5Pset_fill_time)(Hid, int);
  int (*H5Pfill_value_defined)(Hid, int*);
  int (*H5Pget_libver_bounds)(Hid, int*, int*);
  int (*H5Pset_libver_bounds)(Hid, int, int);
  Hid (*H5Pget_driver)(Hid);
  int (*H5Pset_fapl_sec2)(Hid);
  int (*H5Pget_alignment)(Hid, std::uint64_t*, std::uint64_t*);
  int (*H5Pset_alignment)(Hid, std::uint64_t, std::uint64_t);
  int (*H5Pget_meta_block_size)(Hid, std::uint64_t*);
  int (*H5Pset_meta_block_size)(Hid, std::uint64_t);
  int (*H5Pget_sieve_buf_size)(Hid, std::size_t*);
  int (*H5Pset_sieve_buf_size)(Hid, std::size_t);
  int (*H5Pget_cache)(Hid, int*, std::size_t*, std::size_t*, double*);
  int (*H5Pset_cache)(Hid, int, std::size_t, std::size_t, double);
  int (*H5Pget_chunk_cache)(Hid, std::size_t*, std::size_t*, double*);
  int (*H5Pset_chunk_cache)(Hid, std::size_t, std::size_t, double);
  // Not in every build: nullptr where missing.
  std::uint64_t (*H5Dget_offset)(Hid);
  int (*H5Rcreate)(void*, Hid, const char*, int, Hid);
  int (*H5Eauto_is_v2)(Hid, unsigned*);
  int (*H5Eget_auto1)(void**, void**);
  int (*H5Eset_auto1)(void*, void*);
  int (*H5Pget_page_buffer_size)(Hid, std::size_t*, unsigned*, unsigned*);
  int (*H5Pset_page_buffer_size)(Hid, std::size_t, unsigned, unsigned);
  int (*H5Pget_evict_on_close)(Hid, bool*);
  int (*H5Pset_evict_on_close)(Hid, bool);
  int (*H5Pget_mdc_config)(Hid, void*);
  int (*H5Pset_mdc_config)(Hid, void*);
  int (*H5Fget_mdc_size)(Hid, std::size_t*, std::size_t*, std::size_t*, int*);
  int (*H5ESget_count)(Hid, std::size_t*);
  int (*H5Pget_vol_id)(Hid, Hid*);
  int (*H5VLget_value)(Hid, int*);
  Hid (*H5VLget_connector_id_by_value)(int);
  int (*H5VLclose)(Hid);
  // Only in parallel builds: nullptr in others.
  int (*H5Pget_mpio_actual_io_mode)(Hid, int*);
  int (*H5Pget_mpio_no_collective_cause)(Hid, unsigned*, unsigned*);
  int (*H5Pget_dxpl_mpio)(Hid, int*);
  int (*H5Pset_dxpl_mpio_collective_opt)(Hid, int);
  int (*H5Pset_fapl_mpio)(Hid, std::uintptr_t, std::uintptr_t);
  int (*H5Pset_coll_metadata_write)(Hid, bool);
  int (*H5Pget_coll_metadata_write)(Hid, bool*);
};

// nullptr where the provider lacks one of the functions that every HDF5 has.
const Hdf5Api* hdf5_api(Provider& provider) noexcept;

// The id of a class of property lists in this provider, -1 where it cannot be found.
enum class ListClass : std::uint8_t { kFileAccess, kDatasetCreate, kDatasetAccess, kTransfer };
Hid list_class(Provider& provider, ListClass of) noexcept;

// Runs probes that may fail without a trace in HDF5's error stack. Only after the program's
// own call has succeeded: every HDF5 call clears the stack that a failed one left.
class QuietProbes {
 public:
  explicit QuietProbes(const Hdf5Api& api) noexcept : api_(api) {
    // A handler of HDF5 1.6's form cannot be asked for by the new call, which would fail and
    // so call it.
    unsigned is_new = 1;
    if (api_.H5Eauto_is_v2 != nullptr) api_.H5Eauto_is_v2(0, &is_new);
    old_form_ = is_new == 0 && api_.H5Eget_auto1 != nullptr && api_.H5Eset_auto1 != nullptr;
    if (old_form_) {
      silenced_ =
          api_.H5Eget_auto1(&function_, &data_) >= 0 && api_.H5Eset_auto1(nullptr, nullptr) >= 0;
    } else if (is_new != 0) {
      silenced_ = api_.H5Eget_auto2(0, &function_, &data_) >= 0 &&
                  api_.H5Eset_auto2(0, nullptr, nullptr) >= 0;
    }
  }
  ~QuietProbes() {
    api_.H5Eclear2(0);
    if (!silenced_) return;
    if (old_form_) {
      api_.H5Eset_auto1(function_, data_);
    } else {
      api_.H5Eset_auto2(0, function_, data_);
    }
  }
  QuietProbes(const QuietProbes&) = delete;
  QuietProbes& operator=(const QuietProbes&) = delete;

 private:
  const Hdf5Api& api_;
  void* function_ = nullptr;
  void* data_ = nullptr;
  bool silenced_ = false, old_form_ = false;
};

}  // namespace iotune
