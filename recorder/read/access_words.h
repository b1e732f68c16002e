// File offset, length and result of calls, where calls.table says that they stand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "recorder/read/call.h"

namespace iotune::recorder {

struct AccessWords {
  std::optional<std::int64_t> result;  // pseudo calls have none
  // In the file; not known for transfers of HDF5, which have a selection, and of MPI-IO, whose
  // offsets count from the view.
  std::optional<std::int64_t> offset_bytes;
  std::optional<std::int64_t> length_bytes;  // of calls that move data; nothing where they failed
};

// The bytes that calls of one function of POSIX, stdio or MPI-IO moved, known by their numbers
// alone.
class MovedBytes {
 public:
  // 0: none, or it is not known.
  std::uint64_t of(std::span<const std::int64_t> numbers) const {
    const auto number = [&](int place) {
      const auto at = static_cast<std::size_t>(place);
      return at < numbers.size() ? numbers[at] : std::int64_t{-1};
    };
    if (!is_product_) return number(number_) < 0 ? 0 : static_cast<std::uint64_t>(number(number_));
    const std::int64_t items = number(number_), bytes = number(item_bytes_);
    std::int64_t product = 0;
    if (number(result_) != 0 || items < 0 || bytes < 0) return 0;
    return __builtin_mul_overflow(items, bytes, &product) ? 0 : static_cast<std::uint64_t>(product);
  }

 private:
  friend MovedBytes moved_bytes(const CallSignature& signature);
  bool is_product_ = false;
  int result_ = -1, number_ = -1, item_bytes_ = -1;
};
MovedBytes moved_bytes(const CallSignature& signature);

AccessWords access_words(const Call& call);

}  // namespace iotune::recorder
