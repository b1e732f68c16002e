// The functions of HDF5 that gathering calls, of the one HDF5 whose files it gathers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gather/mpi/interface.h"

namespace iotune::gather {

struct Hdf5Functions {
  int (*H5Iget_type)(Hid);
  int (*H5Iget_ref)(Hid);
  Hid (*H5Iget_file_id)(Hid);
  int (*H5Idec_ref)(Hid);
  Hid (*H5Dget_space)(Hid);
  Hid (*H5Dget_type)(Hid);
  Hid (*H5Dget_create_plist)(Hid);
  int (*H5Dwrite)(Hid, Hid, Hid, Hid, Hid, const void*);
  int (*H5Dclose)(Hid);
  Hid (*H5Oopen_by_addr)(Hid, std::uint64_t);
  Hid (*H5Tcopy)(Hid);
  int (*H5Tclose)(Hid);
  int (*H5Tequal)(Hid, Hid);
  std::size_t (*H5Tget_size)(Hid);
  int (*H5Tget_class)(Hid);
  int (*H5Tis_variable_str)(Hid);
  int (*H5Tget_nmembers)(Hid);
  Hid (*H5Tget_member_type)(Hid, unsigned);
  Hid (*H5Tget_super)(Hid);
  Hid (*H5Screate_simple)(int, const std::uint64_t*, const std::uint64_t*);
  int (*H5Sclose)(Hid);
  int (*H5Sget_simple_extent_dims)(Hid, std::uint64_t*, std::uint64_t*);
  int (*H5Sget_select_type)(Hid);
  int (*H5Sget_select_bounds)(Hid, std::uint64_t*, std::uint64_t*);
  int (*H5Sis_regular_hyperslab)(Hid);
  int (*H5Sget_regular_hyperslab)(Hid, std::uint64_t*, std::uint64_t*, std::uint64_t*,
                                  std::uint64_t*);
  int (*H5Sselect_hyperslab)(Hid, int, const std::uint64_t*, const std::uint64_t*,
                             const std::uint64_t*, const std::uint64_t*);
  int (*H5Sselect_none)(Hid);
  Hid (*H5Pcreate)(Hid);
  int (*H5Pclose)(Hid);
  int (*H5Pequal)(Hid, Hid);
  int (*H5Pget_layout)(Hid);
  int (*H5Pget_nfilters)(Hid);
  int (*H5Pget_external_count)(Hid);
  Hid (*H5Pget_driver)(Hid);
  Hid (*H5Eget_current_stack)();
  int (*H5Eset_current_stack)(Hid);
  int (*H5Eget_auto2)(Hid, void**, void**);
  int (*H5Eset_auto2)(Hid, void*, void*);
  // H5Oget_info1, of HDF5 1.10.2 and before H5Oget_info: a struct that begins with the file's
  // number (unsigned long) and the object's address.
  int (*H5Oget_info1)(Hid, void*);
  // nullptr where HDF5 is not parallel, or has no connectors.
  Hid (*H5FD_sec2_init)();
  Hid (*H5FD_mpio_init)();
  int (*H5Pget_fapl_mpio)(Hid, Word*, Word*);
  int (*H5Pset_dxpl_mpio)(Hid, int);
  int (*H5Pget_all_coll_metadata_ops)(Hid, bool*);
};

extern Hdf5Functions g_h5;

// Once for the process, for the HDF5 whose number this is. False: one is missing, or another HDF5
// has been used already. Nothing of the loader's may be held.
bool find_hdf5(Provider& hdf5) noexcept;

// The class of property lists for transfers; not above 0: not known yet.
Hid transfer_class() noexcept;

// A new property list for transfers, with its default values or for collective ones. The caller
// closes it. -1: HDF5 makes none.
Hid new_transfer_list(bool collective) noexcept;

// An identifier of HDF5 that is given back.
class OwnId {
 public:
  OwnId(Hid id, int (*close)(Hid)) noexcept : id_(id), close_(close) {}
  ~OwnId() {
    if (id_ >= 0) close_(id_);
  }
  OwnId(const OwnId&) = delete;
  OwnId& operator=(const OwnId&) = delete;
  operator Hid() const noexcept { return id_; }  // NOLINT: as an identifier

 private:
  const Hid id_;
  int (*const close_)(Hid);
};

// Questions that may fail, without a line on stderr.
class QuietQuestions {
 public:
  QuietQuestions() noexcept : changed_(g_h5.H5Eget_auto2(0, &function_, &data_) >= 0) {
    if (changed_) g_h5.H5Eset_auto2(0, nullptr, nullptr);
  }
  ~QuietQuestions() {
    if (changed_) g_h5.H5Eset_auto2(0, function_, data_);
  }
  QuietQuestions(const QuietQuestions&) = delete;
  QuietQuestions& operator=(const QuietQuestions&) = delete;

 private:
  void *function_ = nullptr, *data_ = nullptr;
  bool changed_;
};

}  // namespace iotune::gather
