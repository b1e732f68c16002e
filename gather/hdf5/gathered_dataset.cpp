#include "gather/hdf5/gathered_dataset.h"

#include <algorithm>
#include <cstring>

#include "gather/hdf5/transfer_lists.h"

namespace iotune::gather {
namespace {

constexpr int kDatatype = 3;  // H5I_DATATYPE
constexpr int kSet = 0;       // H5S_SELECT_SET

// The selected bytes of the program's memory, one behind the other.
class MemoryBytes {
 public:
  MemoryBytes(const void* buffer, const Selection& selected, std::size_t element_bytes) noexcept
      : pieces_(selected.extent, selected.slab),
        buffer_(static_cast<const std::byte*>(buffer)),
        element_bytes_(element_bytes) {}

  void copy(std::byte* to, std::size_t bytes) noexcept {
    while (bytes > 0) {
      if (left_ == 0) {
        at_ = buffer_ + pieces_.next() * element_bytes_;
        left_ = pieces_.elements() * element_bytes_;
      }
      const std::size_t now = std::min(bytes, left_);
      std::memcpy(to, at_, now);
      to += now;
      at_ += now;
      left_ -= now;
      bytes -= now;
    }
  }

 private:
  SlabPieces pieces_;
  const std::byte* const buffer_;
  const std::size_t element_bytes_;
  const std::byte* at_ = nullptr;
  std::size_t left_ = 0;
};

}  // namespace

NotHeld GatheredDataset::copy(const Selection& file, const WriteCall& call) noexcept {
  Selection memory = file;  // H5S_ALL: as in the file
  if (call.mem_space != 0 &&
      (!selection_of(call.mem_space, memory) || memory.elements != file.elements)) {
    return NotHeld::kSelection;
  }
  SlabPieces places(file.extent, file.slab);
  const std::size_t bytes = places.elements() * element_bytes_;
  const std::int64_t most = places.count() == 1 ? largest_lone_piece_bytes_ : kLargestPieceBytes;
  if (bytes > static_cast<std::size_t>(most)) return NotHeld::kLarge;
  MemoryBytes from(call.buffer, memory, element_bytes_);
  for (std::uint64_t i = 0; i < places.count(); ++i) {
    const auto offset = static_cast<std::int64_t>(places.next() * element_bytes_);
    std::byte* const to = held_.room_for(offset, bytes);
    if (to == nullptr) return NotHeld::kMemory;
    from.copy(to, bytes);
    if (!held_.hold(offset, bytes)) return NotHeld::kMemory;
  }
  return NotHeld::kCount;
}

NotHeld GatheredDataset::hold(Hid id, const WriteCall& call) noexcept {
  if (is_refused()) return NotHeld::kDataset;
  if (call.buffer == nullptr || g_h5.H5Iget_type(call.mem_type) != kDatatype) {
    return NotHeld::kArguments;
  }
  if (g_h5.H5Tequal(call.mem_type, type_) <= 0) return NotHeld::kTypes;
  if (!writes_independently(call.transfer_list)) return NotHeld::kTransferList;
  if (extent_.n == 0) {
    const OwnId space(g_h5.H5Dget_space(id), g_h5.H5Sclose);
    if (space < 0 || !extent_of(space, extent_)) return NotHeld::kSelection;
  }
  Selection file{extent_, whole(extent_), extent_.elements()};
  if (call.file_space != 0 && (!selection_of(call.file_space, file) || !(file.extent == extent_))) {
    return NotHeld::kSelection;
  }
  return file.elements > 0 ? copy(file, call) : NotHeld::kArguments;
}

bool GatheredDataset::write(Hid id, const Ascending& pieces, const std::vector<Hyperslab>& slabs,
                            Hid transfer_list) const noexcept {
  const auto n = static_cast<int>(extent_.n);
  const OwnId file(g_h5.H5Screate_simple(n, extent_.dims, nullptr), g_h5.H5Sclose);
  bool good = true;
  const std::byte* at = pieces.data;
  for (const Hyperslab& slab : slabs) {
    const std::uint64_t elements = slab.elements(extent_.n);
    const OwnId memory(g_h5.H5Screate_simple(1, &elements, nullptr), g_h5.H5Sclose);
    good = g_h5.H5Sselect_hyperslab(file, kSet, slab.start, slab.stride, slab.count, slab.block) >=
               0 &&
           good;
    good = g_h5.H5Dwrite(id, type_, memory, file, transfer_list, at) >= 0 && good;
    at += elements * element_bytes_;
  }
  return good;
}

bool write_nothing(Hid id, std::size_t rounds, Hid transfer_list) noexcept {
  const OwnId type(g_h5.H5Dget_type(id), g_h5.H5Tclose);
  const OwnId file(g_h5.H5Dget_space(id), g_h5.H5Sclose);
  const std::uint64_t one = 1;
  const OwnId memory(g_h5.H5Screate_simple(1, &one, nullptr), g_h5.H5Sclose);
  g_h5.H5Sselect_none(file);
  g_h5.H5Sselect_none(memory);
  bool good = true;
  for (std::size_t i = 0; i < rounds; ++i) {
    good = g_h5.H5Dwrite(id, type, memory, file, transfer_list, &one) >= 0 && good;
  }
  return good;
}

}  // namespace iotune::gather
