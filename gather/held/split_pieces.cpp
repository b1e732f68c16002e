#include "gather/held/split_pieces.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

namespace iotune::gather {
namespace {

Run pieces_of(const Run& run, std::int64_t first, std::int64_t count) noexcept {
  return {run.offset + first * run.stride, run.bytes, run.stride, count,
          run.at + static_cast<std::size_t>(first * run.bytes)};
}

class Splitter {
 public:
  explicit Splitter(std::span<const Range> ranges) : ranges_(ranges) {
    split_.parts.resize(ranges.size());
  }

  // Runs come in ascending order.
  void add(Run run) {
    while (run.count > 0) {
      while (next_ < ranges_.size() && ranges_[next_].end <= run.offset) ++next_;
      const bool inside = next_ < ranges_.size() && run.offset >= ranges_[next_].begin;
      const std::int64_t until = inside                   ? ranges_[next_].end
                                 : next_ < ranges_.size() ? ranges_[next_].begin
                                                          : INT64_MAX;
      const std::int64_t room = until - run.offset;
      std::int64_t whole = 0;  // pieces that end there, or before
      if (run.bytes <= room) {
        whole = run.count == 1 ? 1 : std::min(run.count, (room - run.bytes) / run.stride + 1);
        emit(inside, pieces_of(run, 0, whole));
      } else {
        emit(inside, {run.offset, room, room, 1, run.at});
        add({until, run.bytes - room, run.bytes - room, 1,
             run.at + static_cast<std::size_t>(room)});
        whole = 1;
      }
      run = pieces_of(run, whole, run.count - whole);
    }
  }
  SplitPieces take() { return std::move(split_); }

 private:
  void emit(bool inside, const Run& run) {
    if (!inside) {
      split_.others.push_back(run);
      return;
    }
    Part& part = split_.parts[next_];
    if (part.runs.empty()) part.at = run.at;
    part.in_one = part.in_one && run.at == part.at + part.bytes;
    part.runs.push_back(run);
    part.bytes += static_cast<std::size_t>(run.count * run.bytes);
    part.pieces += static_cast<std::size_t>(run.count);
  }

  std::span<const Range> ranges_;
  std::size_t next_ = 0;
  SplitPieces split_;
};

}  // namespace

SplitPieces split(const Ascending& pieces, std::span<const Range> ranges) {
  Splitter splitter(ranges);
  for (const Run& run : pieces.runs) splitter.add(run);
  return splitter.take();
}

std::vector<Run> take_large(Ascending& pieces, std::int64_t least_bytes) {
  const auto is_large = [&](const Run& run) { return run.bytes >= least_bytes; };
  std::vector<Run> large;
  std::copy_if(pieces.runs.begin(), pieces.runs.end(), std::back_inserter(large), is_large);
  pieces.runs.erase(std::remove_if(pieces.runs.begin(), pieces.runs.end(), is_large),
                    pieces.runs.end());
  for (const Run& run : large) pieces.bytes -= static_cast<std::size_t>(run.count * run.bytes);
  return large;
}

}  // namespace iotune::gather
