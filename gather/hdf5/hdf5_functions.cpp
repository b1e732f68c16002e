#include "gather/hdf5/hdf5_functions.h"

#include <atomic>

#include "gather/process.h"

namespace iotune::gather {
namespace {

constinit std::atomic<int> g_number{-1};  // of the HDF5 that g_h5 is of
constinit Hid g_transfer_class = -1;

bool find_all(Provider& hdf5) noexcept {
  bool all = true;
  const auto find = [&]<typename Function>(const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(g_gather->hdf5_function(hdf5, name));
    return function != nullptr;
  };
#define IOTUNE_FIND(name) all = find(#name, g_h5.name) && all
  IOTUNE_FIND(H5Iget_type);
  IOTUNE_FIND(H5Iget_ref);
  IOTUNE_FIND(H5Iget_file_id);
  IOTUNE_FIND(H5Idec_ref);
  IOTUNE_FIND(H5Dget_space);
  IOTUNE_FIND(H5Dget_type);
  IOTUNE_FIND(H5Dget_create_plist);
  IOTUNE_FIND(H5Dwrite);
  IOTUNE_FIND(H5Dclose);
  IOTUNE_FIND(H5Oopen_by_addr);
  IOTUNE_FIND(H5Tcopy);
  IOTUNE_FIND(H5Tclose);
  IOTUNE_FIND(H5Tequal);
  IOTUNE_FIND(H5Tget_size);
  IOTUNE_FIND(H5Tget_class);
  IOTUNE_FIND(H5Tis_variable_str);
  IOTUNE_FIND(H5Tget_nmembers);
  IOTUNE_FIND(H5Tget_member_type);
  IOTUNE_FIND(H5Tget_super);
  IOTUNE_FIND(H5Screate_simple);
  IOTUNE_FIND(H5Sclose);
  IOTUNE_FIND(H5Sget_simple_extent_dims);
  IOTUNE_FIND(H5Sget_select_type);
  IOTUNE_FIND(H5Sget_select_bounds);
  IOTUNE_FIND(H5Sis_regular_hyperslab);
  IOTUNE_FIND(H5Sget_regular_hyperslab);
  IOTUNE_FIND(H5Sselect_hyperslab);
  IOTUNE_FIND(H5Sselect_none);
  IOTUNE_FIND(H5Pcreate);
  IOTUNE_FIND(H5Pclose);
  IOTUNE_FIND(H5Pequal);
  IOTUNE_FIND(H5Pget_layout);
  IOTUNE_FIND(H5Pget_nfilters);
  IOTUNE_FIND(H5Pget_external_count);
  IOTUNE_FIND(H5Pget_driver);
  IOTUNE_FIND(H5Eget_current_stack);
  IOTUNE_FIND(H5Eset_current_stack);
  IOTUNE_FIND(H5Eget_auto2);
  IOTUNE_FIND(H5Eset_auto2);
  all = (find("H5Oget_info1", g_h5.H5Oget_info1) || find("H5Oget_info", g_h5.H5Oget_info1)) && all;
#undef IOTUNE_FIND
  find("H5FD_sec2_init", g_h5.H5FD_sec2_init);
  find("H5FD_mpio_init", g_h5.H5FD_mpio_init);
  find("H5Pget_fapl_mpio", g_h5.H5Pget_fapl_mpio);
  find("H5Pset_dxpl_mpio", g_h5.H5Pset_dxpl_mpio);
  find("H5Pget_all_coll_metadata_ops", g_h5.H5Pget_all_coll_metadata_ops);
  g_transfer_class = all ? g_gather->transfer_class(hdf5) : -1;
  return g_transfer_class > 0;
}

}  // namespace

constinit Hdf5Functions g_h5 = {};

bool find_hdf5(Provider& hdf5) noexcept {
  // The program opens its first file: two threads that do so at once agree on the number, and fill
  // the table with the same values.
  static constinit std::atomic<int> found{0};  // 1: all, -1: not all
  const int number = g_gather->number_of(hdf5);
  int none = -1;
  if (!g_number.compare_exchange_strong(none, number) && none != number) return false;
  if (found.load(std::memory_order_acquire) == 0) {
    found.store(find_all(hdf5) ? 1 : -1, std::memory_order_release);
  }
  return found.load(std::memory_order_acquire) > 0;
}

Hid transfer_class() noexcept {
  return g_transfer_class;
}

Hid new_transfer_list(bool collective) noexcept {
  constexpr int kCollective = 1;  // H5FD_MPIO_COLLECTIVE
  const Hid list = g_h5.H5Pcreate(g_transfer_class);
  if (list < 0 || !collective) return list;
  if (g_h5.H5Pset_dxpl_mpio != nullptr && g_h5.H5Pset_dxpl_mpio(list, kCollective) >= 0) {
    return list;
  }
  g_h5.H5Pclose(list);
  return -1;
}

}  // namespace iotune::gather
