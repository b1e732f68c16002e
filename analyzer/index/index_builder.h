// Makes an OffsetIndex from what streams did, batch by batch, or from the indexes of others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/index/fold_nests.h"
#include "analyzer/index/offset_index.h"
#include "patterns/extent.h"
#include "recorder/read/result.h"

namespace iotune::analyzer {

using recorder::Error;
using recorder::Result;

// When the accesses of a batch were made, in any unit that all streams of a file share. Times of a
// stream never go back, also not from a batch to the next. Of two accesses to one byte that with
// the larger (time, stream, position) is the later one.
class BatchTimes {
 public:
  // Nothing is known: the whole batch counts as later than all batches added before it.
  BatchTimes() = default;
  // Of the first and of the last access; the others lie evenly between them, rounded down.
  BatchTimes(std::int64_t first, std::int64_t last) : first_(first), last_(last), given_(true) {}
  // Of each access. The span must outlive the call that takes it.
  explicit BatchTimes(std::span<const std::int64_t> each) : each_(each), given_(true) {}

 private:
  friend class IndexBuilder;
  std::span<const std::int64_t> each_;
  std::int64_t first_ = 0;
  std::int64_t last_ = 0;
  bool given_ = false;
};

struct IndexLimits {
  // Nests and segments while building: a bound for memory, some 150 bytes each.
  std::size_t entries = std::size_t{1} << 26U;
};

// After an error the builder is as before the call.
class IndexBuilder {
 public:
  explicit IndexBuilder(IndexLimits limits = {}) : limits_(limits) {}

  // The next accesses of a stream, in bytes: the log grows by each length.
  [[nodiscard]] std::optional<Error> add(std::uint32_t stream,
                                         std::span<const patterns::Extent> accesses,
                                         const BatchTimes& times = {});
  // The same with where in the log the caller put each access's bytes; as many as accesses.
  [[nodiscard]] std::optional<Error> add(std::uint32_t stream,
                                         std::span<const patterns::Extent> accesses,
                                         std::span<const std::int64_t> physical,
                                         const BatchTimes& times = {});
  // All of another index, its streams renumbered from `first_stream` on. Streams that are known
  // already go on: their accesses must lie behind the known ones.
  [[nodiscard]] std::optional<Error> add(const IndexParts& parts, std::uint32_t first_stream = 0);
  [[nodiscard]] std::optional<Error> add(const OffsetIndex& index, std::uint32_t first_stream = 0) {
    return add(index.parts(), first_stream);
  }
  void set_name(std::uint32_t stream, std::string name);
  // Where the next accesses of a stream lie, in place of behind what was added here: for one who
  // writes the index of each flush by itself. Never further back.
  void begin_at(std::uint32_t stream, StreamEnd end);

  // The times of a stream, in place of those that it has: for one who looks first whether times
  // decide anything (OffsetIndex::times_decide).
  [[nodiscard]] std::optional<Error> set_times(std::uint32_t stream, std::vector<TimeKnot> knots);

  // O(n log n) of what was added. The builder may go on.
  Result<OffsetIndex> build() const;

 private:
  struct Open {
    StreamEnd end;
    std::string name;
    std::vector<TimeKnot> knots;
  };

  std::optional<Error> add_tuples(std::uint32_t stream, std::span<const std::int64_t> values,
                                  unsigned dims, const BatchTimes& times);
  std::optional<Error> check_stream(std::uint32_t stream) const;
  std::optional<Error> take_nests(std::vector<Nest>&& raw, std::uint32_t stream);
  static std::optional<std::string> knots_of(const BatchTimes& times, std::int64_t clock,
                                             const StreamEnd& before, std::int64_t rows,
                                             std::vector<TimeKnot>& knots);

  IndexLimits limits_;
  std::vector<Nest> nests_;  // normal; slots are those of slots_
  SlotTable slots_;
  std::vector<Segment> segments_;  // in any order, and overlapping
  std::map<std::uint32_t, Open> streams_;
  std::int64_t clock_ = 0;  // of batches without times: past all times so far
};

}  // namespace iotune::analyzer
