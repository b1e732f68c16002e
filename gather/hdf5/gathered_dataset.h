// What this rank holds of one dataset.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gather/account.h"
#include "gather/hdf5/hdf5_functions.h"
#include "gather/hdf5/selection.h"
#include "gather/held/pieces.h"
#include "gather/largest_piece.h"

namespace iotune::gather {

// The arguments of an H5Dwrite.
struct WriteCall {
  Hid mem_type, mem_space, file_space, transfer_list;
  const void* buffer;
};

// Not for two threads at once; HDF5 is called, so that no lock may be held either where others
// wait for it inside of HDF5.
class GatheredDataset {
 public:
  // `address` names the object within its file. `type`: a copy that is this object's own; -1: of
  // this dataset nothing is ever held.
  GatheredDataset(std::uint64_t address, Hid type, std::size_t element_bytes,
                  std::int64_t largest_lone_piece_bytes, Budget& budget) noexcept
      : address_(address),
        type_(type),
        element_bytes_(element_bytes),
        largest_lone_piece_bytes_(largest_lone_piece_bytes),
        held_(budget) {}
  ~GatheredDataset() {
    if (type_ >= 0) g_h5.H5Tclose(type_);
  }
  GatheredDataset(const GatheredDataset&) = delete;
  GatheredDataset& operator=(const GatheredDataset&) = delete;

  std::uint64_t address() const noexcept { return address_; }
  const Extent& extent() const noexcept { return extent_; }
  std::size_t element_bytes() const noexcept { return element_bytes_; }
  HeldPieces& held() noexcept { return held_; }

  // The identifiers by which the program has it open.
  void opened(Hid id) { ids_.push_back(id); }
  void closed(Hid id) noexcept { std::erase(ids_, id); }
  bool has(Hid id) const noexcept { return std::find(ids_.begin(), ids_.end(), id) != ids_.end(); }
  bool is_open() const noexcept { return !ids_.empty(); }
  Hid any_id() const noexcept { return ids_.empty() ? -1 : ids_.back(); }

  bool is_refused() const noexcept { return type_ < 0; }

  // A write by the program's identifier `id`. kCount: it is held. Else it is not, or only a part of
  // it: what is held is to be written, and the call to be made.
  NotHeld hold(Hid id, const WriteCall& call) noexcept;

  // A link has gone: HDF5 may free the object when it is closed.
  void may_end() noexcept { may_end_ = true; }
  bool ends_with_close() const noexcept { return may_end_; }

  // Its extent may have changed.
  void forget_extent() noexcept { extent_.n = 0; }

  // Writes `pieces` by the identifier `id`, each of `slabs` by a transfer with `transfer_list`.
  // False: HDF5 says that one failed.
  bool write(Hid id, const Ascending& pieces, const std::vector<Hyperslab>& slabs,
             Hid transfer_list) const noexcept;

 private:
  NotHeld copy(const Selection& file, const WriteCall& call) noexcept;

  const std::uint64_t address_;
  const Hid type_;
  const std::size_t element_bytes_;
  const std::int64_t largest_lone_piece_bytes_;
  Extent extent_;  // n 0: to be asked for
  HeldPieces held_;
  std::vector<Hid> ids_;
  bool may_end_ = false;
};

// Takes part in `rounds` collective transfers to the dataset `id`, without an element.
bool write_nothing(Hid id, std::size_t rounds, Hid transfer_list) noexcept;

}  // namespace iotune::gather
