#include "core/abi/hdf5_api.h"

#include <cstring>
#include <initializer_list>

#include "core/process/thread_state.h"

namespace iotune {
namespace {

template <typename Function>
bool fill(const Provider& provider, Function& function, const char* name) noexcept {
  function = reinterpret_cast<Function>(provider_symbol(provider, name));
  return function != nullptr;
}

bool fill_all(const Provider& provider, Hdf5Api& api) noexcept {
  bool whole = true;
#define IOTUNE_NEEDED(name) whole = fill(provider, api.name, #name) && whole
#define IOTUNE_OPTIONAL(name) fill(provider, api.name, #name)
  IOTUNE_NEEDED(H5get_libversion);
  IOTUNE_NEEDED(H5free_memory);
  IOTUNE_NEEDED(H5Eget_auto2);
  IOTUNE_NEEDED(H5Eset_auto2);
  IOTUNE_NEEDED(H5Eclear2);
  IOTUNE_NEEDED(H5Eget_current_stack);
  IOTUNE_NEEDED(H5Eset_current_stack);
  IOTUNE_NEEDED(H5Ewalk2);
  IOTUNE_NEEDED(H5Iget_name);
  IOTUNE_NEEDED(H5Iget_type);
  IOTUNE_NEEDED(H5Iget_file_id);
  IOTUNE_NEEDED(H5Idec_ref);
  IOTUNE_NEEDED(H5Fget_name);
  IOTUNE_NEEDED(H5Fclose);
  IOTUNE_NEEDED(H5Fget_access_plist);
  IOTUNE_NEEDED(H5Fget_intent);
  IOTUNE_NEEDED(H5Fget_obj_count);
  IOTUNE_NEEDED(H5Fget_vfd_handle);
  IOTUNE_NEEDED(H5Dget_space);
  IOTUNE_NEEDED(H5Dget_type);
  IOTUNE_NEEDED(H5Dget_create_plist);
  IOTUNE_NEEDED(H5Dget_access_plist);
  IOTUNE_NEEDED(H5Tget_size);
  IOTUNE_NEEDED(H5Tget_class);
  IOTUNE_NEEDED(H5Tclose);
  IOTUNE_NEEDED(H5Sget_simple_extent_ndims);
  IOTUNE_NEEDED(H5Sget_simple_extent_dims);
  IOTUNE_NEEDED(H5Sget_select_npoints);
  IOTUNE_NEEDED(H5Sget_select_type);
  IOTUNE_NEEDED(H5Sis_regular_hyperslab);
  IOTUNE_NEEDED(H5Sget_regular_hyperslab);
  IOTUNE_NEEDED(H5Sget_select_hyper_nblocks);
  IOTUNE_NEEDED(H5Sget_select_hyper_blocklist);
  IOTUNE_NEEDED(H5Sget_select_elem_npoints);
  IOTUNE_NEEDED(H5Sget_select_elem_pointlist);
  IOTUNE_NEEDED(H5Sget_select_bounds);
  IOTUNE_NEEDED(H5Sclose);
  IOTUNE_NEEDED(H5Pcopy);
  IOTUNE_NEEDED(H5Pcreate);
  IOTUNE_NEEDED(H5Pclose);
  IOTUNE_NEEDED(H5Pget);
  IOTUNE_NEEDED(H5Pget_class);
  IOTUNE_NEEDED(H5Pclose_class);
  IOTUNE_NEEDED(H5Pget_class_name);
  IOTUNE_NEEDED(H5Pget_layout);
  IOTUNE_NEEDED(H5Pget_chunk);
  IOTUNE_NEEDED(H5Pset_chunk);
  IOTUNE_NEEDED(H5Pget_external_count);
  IOTUNE_NEEDED(H5Pget_nfilters);
  IOTUNE_NEEDED(H5Pget_fill_time);
  IOTUNE_NEEDED(H5Pset_fill_time);
  IOTUNE_NEEDED(H5Pfill_value_defined);
  IOTUNE_NEEDED(H5Pget_libver_bounds);
  IOTUNE_NEEDED(H5Pset_libver_bounds);
  IOTUNE_NEEDED(H5Pget_driver);
  IOTUNE_NEEDED(H5Pset_fapl_sec2);
  IOTUNE_NEEDED(H5Pget_alignment);
  IOTUNE_NEEDED(H5Pset_alignment);
  IOTUNE_NEEDED(H5Pget_meta_block_size);
  IOTUNE_NEEDED(H5Pset_meta_block_size);
  IOTUNE_NEEDED(H5Pget_sieve_buf_size);
  IOTUNE_NEEDED(H5Pset_sieve_buf_size);
  IOTUNE_NEEDED(H5Pget_cache);
  IOTUNE_NEEDED(H5Pset_cache);
  IOTUNE_NEEDED(H5Pget_chunk_cache);
  IOTUNE_NEEDED(H5Pset_chunk_cache);
  IOTUNE_OPTIONAL(H5Dget_offset);
  IOTUNE_OPTIONAL(H5Rcreate);
  IOTUNE_OPTIONAL(H5Eauto_is_v2);
  IOTUNE_OPTIONAL(H5Eget_auto1);
  IOTUNE_OPTIONAL(H5Eset_auto1);
  IOTUNE_OPTIONAL(H5Pget_page_buffer_size);
  IOTUNE_OPTIONAL(H5Pset_page_buffer_size);
  IOTUNE_OPTIONAL(H5Pget_evict_on_close);
  IOTUNE_OPTIONAL(H5Pset_evict_on_close);
  IOTUNE_OPTIONAL(H5Pget_mdc_config);
  IOTUNE_OPTIONAL(H5Pset_mdc_config);
  IOTUNE_OPTIONAL(H5Fget_mdc_size);
  IOTUNE_OPTIONAL(H5ESget_count);
  IOTUNE_OPTIONAL(H5Pget_vol_id);
  IOTUNE_OPTIONAL(H5VLget_value);
  IOTUNE_OPTIONAL(H5VLget_connector_id_by_value);
  IOTUNE_OPTIONAL(H5VLclose);
  IOTUNE_OPTIONAL(H5Pget_mpio_actual_io_mode);
  IOTUNE_OPTIONAL(H5Pget_mpio_no_collective_cause);
  IOTUNE_OPTIONAL(H5Pget_dxpl_mpio);
  IOTUNE_OPTIONAL(H5Pset_dxpl_mpio_collective_opt);
  IOTUNE_OPTIONAL(H5Pset_fapl_mpio);
  IOTUNE_OPTIONAL(H5Pset_coll_metadata_write);
  IOTUNE_OPTIONAL(H5Pget_coll_metadata_write);
#undef IOTUNE_NEEDED
#undef IOTUNE_OPTIONAL
  return whole;
}

}  // namespace

[[gnu::hot]] const Hdf5Api* hdf5_api(Provider& provider) noexcept {
  // A provider that failed is remembered by a table without its first entry.
  const auto* known =
      static_cast<const Hdf5Api*>(provider.hdf5_api.load(std::memory_order_acquire));
  if (known == nullptr) {
    known = static_cast<const Hdf5Api*>(api_table(provider, provider.hdf5_api,
                                                  provider.spare_hdf5_table, sizeof(Hdf5Api),
                                                  [](Provider& one, void* table) {
                                                    auto* const api = static_cast<Hdf5Api*>(table);
                                                    if (!fill_all(one, *api))
                                                      api->H5get_libversion = nullptr;
                                                  }));
  }
  return known == nullptr || known->H5get_libversion == nullptr ? nullptr : known;
}

namespace {

struct ClassNames {
  const char* symbol;
  const char* name;  // as H5Pget_class_name has it
};
constexpr ClassNames names_of(ListClass of) noexcept {
  switch (of) {
    case ListClass::kFileAccess:
      return {"H5P_CLS_FILE_ACCESS_ID_g", "file access"};
    case ListClass::kDatasetCreate:
      return {"H5P_CLS_DATASET_CREATE_ID_g", "dataset create"};
    case ListClass::kTransfer:
      return {"H5P_CLS_DATASET_XFER_ID_g", "data transfer"};
    default:
      return {"H5P_CLS_DATASET_ACCESS_ID_g", "dataset access"};
  }
}

bool has_name(const Hdf5Api& api, Hid list_class, const char* wanted) noexcept {
  char* const name = api.H5Pget_class_name(list_class);
  if (name == nullptr) return false;
  const bool same = std::strcmp(name, wanted) == 0;
  api.H5free_memory(name);
  return same;
}

}  // namespace

Hid list_class(Provider& provider, ListClass of) noexcept {
  const Hdf5Api* const api = hdf5_api(provider);
  if (api == nullptr) return -1;
  const ClassNames names = names_of(of);
  // A program that is linked to HDF5 has its own copy of the variable (copy relocation), which
  // only the global scope names; a wheel's library is in no global scope.
  for (void* symbol : {program_symbol(names.symbol), provider_symbol(provider, names.symbol)}) {
    if (symbol == nullptr) continue;
    const Hid found = *static_cast<const Hid*>(symbol);
    if (found > 0 && has_name(*api, found, names.name)) return found;
  }
  return -1;
}

}  // namespace iotune
