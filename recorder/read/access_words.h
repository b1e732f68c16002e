// File offset, length and result of calls, found once per function and not once per call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "recorder/read/call.h"

namespace iotune::recorder {

struct AccessWords {
  std::optional<std::int64_t> result;  // pseudo calls have none
  // In the file; not known for transfers of HDF5, which have a selection, and of MPI-IO, whose
  // offsets count from the view.
  std::optional<std::int64_t> offset_bytes;
  std::optional<std::int64_t> length_bytes;  // of calls that move data; nothing where they failed
};

// The bytes that calls of one function of POSIX, stdio or MPI-IO moved, told by their numbers
// alone.
class MovedBytes {
 public:
  // 0: none, or it is not known.
  std::uint64_t of(std::span<const std::int64_t> numbers) const {
    const auto number = [&](int place) {
      const auto at = static_cast<std::size_t>(place);
      return at < numbers.size() ? numbers[at] : std::int64_t{-1};
    };
    if (!is_product_) return number(length_) < 0 ? 0 : static_cast<std::uint64_t>(number(length_));
    const std::int64_t count = number(count_), bytes = number(type_bytes_);
    std::int64_t product = 0;
    if (number(result_) != 0 || count < 0 || bytes < 0) return 0;
    return __builtin_mul_overflow(count, bytes, &product) ? 0 : static_cast<std::uint64_t>(product);
  }

 private:
  friend class AccessWordsReader;
  bool is_product_ = false;
  int result_ = -1, length_ = -1, count_ = -1, type_bytes_ = -1;
};

class AccessWordsReader {
 public:
  AccessWordsReader();
  AccessWords of(const Call& call) const;
  MovedBytes moved_bytes(const CallSignature& signature) const;
  // Where the file offset stands among the numbers of such calls; -1: nowhere.
  int offset_place(const CallSignature& signature) const;

 private:
  static constexpr int kNone = -1;
  // Indices into a call's numbers.
  struct Places {
    bool fixed = false;  // no array among the arguments
    int result = kNone, offset = kNone, length = kNone, count = kNone, type_bytes = kNone;
  };
  std::vector<Places> places_;  // by the call's number in the table
};

}  // namespace iotune::recorder
