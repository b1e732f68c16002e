// File offset, length and result of calls, found once per function and not once per call.
#pragma once

#include <cstdint>
#include <optional>
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

class AccessWordsReader {
 public:
  AccessWordsReader();
  AccessWords of(const Call& call) const;

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
