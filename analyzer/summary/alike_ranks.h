// Ranks whose calls differ by equal steps from one to the next: block types 4 of a merged trace
// (recorder/FORMAT.md, SHARED) say so, and then a few of them need to be decoded, not all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "recorder/read/trace_reader.h"

namespace iotune::analyzer {

class AlikeRanks {
 public:
  // As many processes from `process` on as are alike; one where the next one is not, or where a
  // process must be followed call by call (MPI-IO without HDF5, whose file pointers are a state).
  // At most about `most_calls` of all of them together, but some in any case.
  AlikeRanks(const recorder::TraceReader& reader, std::size_t process,
             std::uint64_t most_calls = UINT64_MAX);

  std::size_t size() const { return size_; }
  const recorder::ProcessCalls& first() const { return first_; }

  // Call `index` of member k, 0 <= k < size(): that of the first with numbers of its own, which
  // hold until the next question.
  recorder::Call call_of(std::size_t index, std::size_t k);

 private:
  bool steps_equally(const recorder::ProcessCalls& other, std::size_t k) const;

  recorder::ProcessCalls first_, second_;
  std::size_t size_ = 1;
  std::vector<std::int64_t> numbers_;
};

}  // namespace iotune::analyzer
