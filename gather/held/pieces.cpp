#include "gather/held/pieces.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <new>
#include <utility>

#include "gather/held/wanted_bytes.h"

namespace iotune::gather {
namespace {

struct Extent {
  std::int64_t offset, bytes;
  std::size_t at;

  std::int64_t end() const noexcept { return offset + bytes; }
};

// The stride by which `next` goes on behind `run`, or would.
std::int64_t stride_to(const Run& run, const Run& next) noexcept {
  return next.offset - (run.offset + (run.count - 1) * run.stride);
}

// A single piece goes on with the run before it.
bool join(Run& run, const Run& next) noexcept {
  const std::size_t end = run.at + static_cast<std::size_t>(run.count * run.bytes);
  if (next.count != 1 || next.at != end || next.bytes != run.bytes) return false;
  const std::int64_t stride = stride_to(run, next);
  if (run.count != 1 && run.stride != stride) return false;
  run.stride = stride;
  ++run.count;
  return true;
}

// The last run has got all that it gets.
void join_last(std::vector<Run>& runs) noexcept {
  if (runs.size() > 1 && join(runs[runs.size() - 2], runs.back())) runs.pop_back();
}

void add(std::vector<Run>& runs, const Extent& extent) {
  const Run next{extent.offset, extent.bytes, extent.bytes, 1, extent.at};
  if (!runs.empty()) {
    Run& last = runs.back();
    const bool follows = next.at == last.at + static_cast<std::size_t>(last.bytes);
    if (last.count == 1 && follows && next.offset == last.end()) {
      last.bytes += next.bytes;
      last.stride = last.bytes;
      return;
    }
    if (join(last, next)) return;
    join_last(runs);
  }
  runs.push_back(next);
}

template <typename Visit>
void each_extent(const std::vector<Run>& runs, Visit visit) {
  for (const Run& run : runs) {
    for (std::int64_t i = 0; i < run.count; ++i) {
      visit(Extent{run.offset + i * run.stride, run.bytes,
                   run.at + static_cast<std::size_t>(i * run.bytes)});
    }
  }
}

// Of extents in the order of their writes: what no later one covers, ascending.
class Latest {
 public:
  void add(const Extent& extent) {
    // What lies there already was written later: it is left as it is.
    std::int64_t from = extent.offset;
    auto next = covered_.upper_bound(from);
    if (next != covered_.begin()) {
      const auto before = std::prev(next);
      from = std::max(from, before->second.end());
    }
    while (from < extent.end()) {
      const std::int64_t to =
          next == covered_.end() ? extent.end() : std::min(extent.end(), next->first);
      if (from < to) {
        covered_.emplace_hint(
            next, from,
            Extent{from, to - from, extent.at + static_cast<std::size_t>(from - extent.offset)});
      }
      if (next == covered_.end()) break;
      from = std::max(to, next->second.end());
      ++next;
    }
  }
  const std::map<std::int64_t, Extent>& extents() const noexcept { return covered_; }

 private:
  std::map<std::int64_t, Extent> covered_;
};

std::vector<Extent> sorted_extents(const std::vector<Run>& runs) {
  std::vector<Extent> extents;
  std::size_t count = 0;
  for (const Run& run : runs) count += static_cast<std::size_t>(run.count);
  extents.reserve(count);
  each_extent(runs, [&](const Extent& extent) { extents.push_back(extent); });
  std::vector<Extent> sorted = extents;
  std::sort(sorted.begin(), sorted.end(),
            [](const Extent& a, const Extent& b) { return a.offset < b.offset; });
  const auto overlap =
      std::adjacent_find(sorted.begin(), sorted.end(),
                         [](const Extent& a, const Extent& b) { return a.end() > b.offset; });
  if (overlap == sorted.end()) return sorted;
  Latest latest;
  for (auto extent = extents.rbegin(); extent != extents.rend(); ++extent) latest.add(*extent);
  sorted.clear();
  for (const auto& [offset, extent] : latest.extents()) sorted.push_back(extent);
  return sorted;
}

}  // namespace

bool HeldPieces::take(std::int64_t offset, std::size_t more_bytes) noexcept {
  const bool ordered = ordered_ && offset >= end_;
  // To sort them: the bytes once more, and each piece as two extents and a node of a tree.
  constexpr std::size_t kSorting = 2 * sizeof(Extent) + 96;
  const std::size_t bytes = (used_ + more_bytes) * (ordered ? 1 : 2);
  const std::size_t places = 2 * (runs_.size() + 1) * sizeof(Run);
  const std::size_t needed = bytes + places + (ordered ? 0 : (pieces_ + 1) * kSorting);
  if (needed <= taken_) return true;
  constexpr std::size_t kStep = std::size_t{64} << 10U;
  const std::size_t wanted = needed - taken_ + kStep;
  const std::size_t least = needed - taken_;
  const std::size_t got = budget_.take(wanted) ? wanted : budget_.take(least) ? least : 0;
  taken_ += got;
  return got != 0;
}

std::byte* HeldPieces::room_for(std::int64_t offset, std::size_t bytes) noexcept {
  if (!take(offset, bytes) || !memory_.have(used_ + bytes)) return nullptr;
  return memory_.data() + used_;
}

bool HeldPieces::hold(std::int64_t offset, std::size_t bytes) noexcept {
  if (bytes == 0) return true;
  try {
    add(runs_, {offset, static_cast<std::int64_t>(bytes), used_});
  } catch (const std::bad_alloc&) {
    return false;
  }
  ordered_ = ordered_ && offset >= end_;
  used_ += bytes;
  ++pieces_;
  begin_ = std::min(begin_, offset);
  end_ = std::max(end_, offset + static_cast<std::int64_t>(bytes));
  return true;
}

bool HeldPieces::copy_out(std::int64_t offset, std::int64_t bytes, std::byte* to) const noexcept {
  if (bytes <= 0 || offset < begin_ || offset + bytes > end_) return false;
  WantedBytes wanted(offset, bytes, to);
  auto run = runs_.end();
  if (ordered_) {
    run = std::lower_bound(runs_.begin(), runs_.end(), offset + bytes,
                           [](const Run& one, std::int64_t end) { return one.offset < end; });
  }
  constexpr int kMostRuns = 4096;
  for (int looked = 0; run != runs_.begin() && looked < kMostRuns; ++looked) {
    --run;
    if (ordered_ && run->end() <= offset) return false;
    if (!wanted.look_in(*run, memory_.data())) return false;
    if (wanted.found_all()) return true;
  }
  return false;
}

Ascending HeldPieces::ascending() {
  join_last(runs_);
  if (ordered_) return {runs_, memory_.data(), used_};
  const std::vector<Extent> extents = sorted_extents(runs_);
  if (!sorted_.have(used_)) throw std::bad_alloc();
  Ascending ordered{{}, sorted_.data(), 0};
  for (const Extent& extent : extents) {
    const auto bytes = static_cast<std::size_t>(extent.bytes);
    std::memcpy(sorted_.data() + ordered.bytes, memory_.data() + extent.at, bytes);
    add(ordered.runs, {extent.offset, extent.bytes, ordered.bytes});
    ordered.bytes += bytes;
  }
  join_last(ordered.runs);
  return ordered;
}

void HeldPieces::swap(HeldPieces& other) noexcept {
  std::swap(taken_, other.taken_);
  memory_.swap(other.memory_);
  sorted_.swap(other.sorted_);
  runs_.swap(other.runs_);
  std::swap(used_, other.used_);
  std::swap(pieces_, other.pieces_);
  std::swap(ordered_, other.ordered_);
  std::swap(begin_, other.begin_);
  std::swap(end_, other.end_);
}

void HeldPieces::clear() noexcept {
  runs_.clear();
  runs_.shrink_to_fit();
  memory_.release();
  sorted_.release();
  used_ = pieces_ = 0;
  ordered_ = true;
  budget_.give(std::exchange(taken_, 0));
  begin_ = INT64_MAX;
  end_ = INT64_MIN;
}

}  // namespace iotune::gather
