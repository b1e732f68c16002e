#include "analyzer/index/nests_of_loops.h"

#include <algorithm>
#include <array>

#include "patterns/loop_finder.h"

namespace iotune::analyzer {
namespace {

constexpr unsigned kOffset = 0, kLength = 1, kPhysical = 2, kMostDims = 3;

// Goes through loops without expanding them. All accesses are there, so that what an iteration adds
// is the difference of two of them.
class Walk {
 public:
  Walk(std::span<const std::int64_t> tuples, unsigned dims, const StreamPlace& at, std::size_t most,
       std::vector<Nest>& to)
      : tuples_(reinterpret_cast<const std::uint64_t*>(tuples.data())),
        dims_(dims),
        scratch_(patterns::scratch_bytes(tuples.size() / dims, dims)),
        found_(tuples_, tuples.size() / dims, dims, scratch_,
               patterns::EncodeOptions{}.max_body_terms),
        at_(at),
        most_(to.size() + most),
        to_(to) {
    found_.run();
  }

  // Returns the bytes of all.
  std::uint64_t run() {
    std::uint64_t bytes = 0;
    for (std::uint32_t i = 0; i < found_.term_count() && problem_.empty(); ++i) {
      const patterns::FoundTerm& term = found_.terms()[i];
      add(bytes, this->term(term.body, term.count, term.start, physical(bytes)));
    }
    return bytes;
  }

  const std::string& problem() const { return problem_; }

 private:
  std::uint64_t value(std::uint32_t row, unsigned column) const {
    return tuples_[std::size_t{row} * dims_ + column];
  }
  std::int64_t step(std::uint32_t row, std::uint32_t rows, unsigned column) const {
    return static_cast<std::int64_t>(value(row + rows, column) - value(row, column));
  }
  bool places_are_given() const { return dims_ == kMostDims; }
  std::uint64_t physical(std::uint64_t bytes) const {
    return static_cast<std::uint64_t>(at_.physical) + bytes;
  }

  void too_large() { problem_ = "an access beyond the largest file"; }
  void add(std::uint64_t& bytes, std::uint64_t more) {
    if (__builtin_add_overflow(bytes, more, &bytes)) too_large();
  }

  // Each returns the bytes of what begins in that row, and in that place of the log.
  std::uint64_t term(std::uint32_t index, std::uint32_t count, std::uint32_t row,
                     std::uint64_t physical) {
    if (index == 0) return access(row, physical);
    const patterns::Body& body = found_.body(index);
    std::uint64_t bytes = 0;
    if (lengths_vary(body, row)) {
      for (std::uint32_t i = 0; i < count && problem_.empty(); ++i) {
        add(bytes, iteration(body, row + i * body.rows, physical + bytes));
      }
      return bytes;
    }
    const std::size_t first = to_.size();
    around_[depth_++] = {count, body.rows};
    const std::uint64_t one = iteration(body, row, physical);
    --depth_;
    // Without a column of their own, places in the log are known when the body has been seen.
    for (std::size_t i = first; i < to_.size() && !places_are_given(); ++i) {
      to_[i].levels[depth_].physical_step = static_cast<std::int64_t>(one);
    }
    if (__builtin_mul_overflow(one, std::uint64_t{count}, &bytes)) too_large();
    return bytes;
  }

  std::uint64_t iteration(const patterns::Body& body, std::uint32_t row, std::uint64_t physical) {
    std::uint64_t bytes = 0;
    const patterns::BodyPart* const parts = found_.parts(body);
    for (std::uint32_t i = 0; i < body.parts && problem_.empty(); ++i) {
      add(bytes, term(parts[i].body, parts[i].count, row + parts[i].offset, physical + bytes));
    }
    return bytes;
  }

  bool lengths_vary(const patterns::Body& body, std::uint32_t row) const {
    const std::uint32_t* const leaves = found_.leaves(body);
    return std::any_of(leaves, leaves + body.leaves, [&](std::uint32_t leaf) {
      return step(row + leaf, body.rows, kLength) != 0;
    });
  }

  std::uint64_t access(std::uint32_t row, std::uint64_t physical) {
    const std::uint64_t length = value(row, kLength);
    if (length > static_cast<std::uint64_t>(kMostBytes)) too_large();
    if (to_.size() >= most_ && length != 0) problem_ = "more entries than the index may have";
    if (length == 0 || !problem_.empty()) return length;
    Nest nest;
    nest.start = static_cast<std::int64_t>(value(row, kOffset));
    nest.length = static_cast<std::int64_t>(length);
    nest.position = at_.position + row;
    nest.physical =
        static_cast<std::int64_t>(places_are_given() ? value(row, kPhysical) : physical);
    nest.slot = at_.slot;
    nest.levels.reserve(depth_);
    for (unsigned k = 0; k < depth_; ++k) {
      const auto [count, rows] = around_[k];
      nest.levels.push_back({.stride = step(row, rows, kOffset),
                             .count = count,
                             .position_step = rows,
                             .physical_step = places_are_given() ? step(row, rows, kPhysical) : 0,
                             .slot_step = 0});
    }
    to_.push_back(std::move(nest));
    return length;
  }

  struct Around {
    std::uint32_t count, rows;
  };
  const std::uint64_t* tuples_;
  unsigned dims_;
  std::vector<std::byte> scratch_;
  patterns::LoopFinder found_;
  StreamPlace at_;
  std::size_t most_;
  std::vector<Nest>& to_;
  std::array<Around, patterns::kMaxLoopDepth> around_{};  // outermost first
  unsigned depth_ = 0;
  std::string problem_;
};

}  // namespace

std::optional<std::string> append_nests(std::span<const std::int64_t> tuples, unsigned dims,
                                        StreamPlace& at, std::size_t most, std::vector<Nest>& to) {
  const std::size_t before = to.size();
  const auto rows = static_cast<std::int64_t>(tuples.size() / dims);
  Walk walk(tuples, dims, at, most, to);
  const std::uint64_t bytes = walk.run();
  std::string problem = walk.problem();
  for (std::size_t i = before; i < to.size() && problem.empty(); ++i) {
    if (!within_bounds(to[i])) problem = "an access outside of any file";
  }
  const bool given = dims == kMostDims;
  if (problem.empty() &&
      ((!given && bytes > static_cast<std::uint64_t>(kMostBytes - at.physical)) ||
       rows > kMostBytes - at.position)) {
    problem = "a stream longer than any log";
  }
  if (!problem.empty()) {
    to.resize(before);
    return problem;
  }
  at.position += rows;
  if (!given) at.physical += static_cast<std::int64_t>(bytes);
  // Where the places are given, the log ends behind the last of them.
  for (std::size_t i = before; i < to.size() && given; ++i) {
    std::int64_t end = to[i].physical + to[i].length;
    for (const NestLevel& level : to[i].levels) {
      end += std::max<std::int64_t>(level.physical_step, 0) * (level.count - 1);
    }
    at.physical = std::max(at.physical, end);
  }
  return std::nullopt;
}

}  // namespace iotune::analyzer
