#include "logstore/read/block_nests.h"

#include <algorithm>
#include <array>

#include "patterns/tuple_loops.h"

namespace iotune::logstore {
namespace {

using analyzer::Nest;
using analyzer::NestLevel;

// A loop around what is walked through. Strides are those of the loop's leaves.
struct Around {
  const BlockPair* strides;
  std::size_t leaf;  // of the loop, counted from the term's first
  std::int64_t count, rows;
  bool unrolled;  // it stands at `iteration`, and is no level of the nests
  std::int64_t iteration;
};

class Walk {
 public:
  Walk(const BlockLists& block, std::size_t most, std::vector<Nest>& to)
      : block_(block), most_(to.size() + most), to_(to), position_(block.position) {}

  NestProblem run(std::int64_t& bytes) {
    const BlockPair* leaf = block_.leaves.data();
    for (const BlockTerm& term : block_.terms) {
      leaves_ = leaf;
      bytes_ = add(bytes_, walk(term, 0, add(block_.physical, bytes_)));
      if (problem_ != NestProblem::kNone) return problem_;
      leaf += term.leaves;
    }
    bytes = bytes_;
    return problem_;
  }

 private:
  std::int64_t broken() {
    if (problem_ == NestProblem::kNone) problem_ = NestProblem::kBroken;
    return 0;
  }
  std::int64_t add(std::int64_t a, std::int64_t b) {
    std::int64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) || sum > kLargestFile ? broken() : sum;
  }
  std::int64_t times(std::int64_t a, std::int64_t b) {
    std::int64_t product = 0;
    return __builtin_mul_overflow(a, b, &product) || product > kLargestFile ? broken() : product;
  }

  // Returns the bytes that the term takes in the log.
  std::int64_t walk(const BlockTerm& term, std::size_t leaf, std::int64_t physical) {
    if (problem_ != NestProblem::kNone) return 0;
    if (term.body == 0) return emit(leaf, physical);
    const BlockBody& body = block_.bodies[term.body];
    const BlockPair* strides = block_.strides.data() + body.first_stride;
    const bool varies = std::any_of(strides, strides + body.leaves,
                                    [](const BlockPair& stride) { return stride.second != 0; });
    Around& loop = around_[depth_++];
    loop = {strides, leaf, term.count, body.rows, varies, 0};
    std::int64_t bytes = 0;
    if (varies) {
      for (; loop.iteration < term.count && problem_ == NestProblem::kNone; ++loop.iteration) {
        bytes = add(bytes, iteration(body, leaf, add(physical, bytes)));
      }
    } else {
      const std::size_t first = to_.size();
      const auto level = static_cast<std::size_t>(
          std::count_if(around_.begin(), around_.begin() + depth_ - 1,
                        [](const Around& outer) { return !outer.unrolled; }));
      const std::int64_t position = position_;
      const std::int64_t one = iteration(body, leaf, physical);
      for (std::size_t i = first; i < to_.size(); ++i) to_[i].levels[level].physical_step = one;
      bytes = times(one, term.count);
      position_ = position + body.rows * term.count;
    }
    --depth_;
    return bytes;
  }

  std::int64_t iteration(const BlockBody& body, std::size_t leaf, std::int64_t physical) {
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < body.parts; ++i) {
      const BlockTerm& part = block_.parts[body.first_part + i];
      bytes = add(bytes, walk(part, leaf, add(physical, bytes)));
      leaf += part.leaves;
    }
    return bytes;
  }

  std::int64_t emit(std::size_t leaf, std::int64_t physical) {
    if (to_.size() >= most_) {
      if (problem_ == NestProblem::kNone) problem_ = NestProblem::kTooMany;
      return 0;
    }
    Nest nest{leaves_[leaf].first, leaves_[leaf].second, position_, physical, 0, {}};
    for (std::size_t k = 0; k < depth_; ++k) {
      const Around& loop = around_[k];
      const BlockPair& stride = loop.strides[leaf - loop.leaf];
      if (!loop.unrolled) {
        nest.levels.push_back({stride.first, loop.count, loop.rows, 0, 0});
        continue;
      }
      std::int64_t far = 0;
      std::int64_t longer = 0;
      if (__builtin_mul_overflow(stride.first, loop.iteration, &far) ||
          __builtin_mul_overflow(stride.second, loop.iteration, &longer) ||
          __builtin_add_overflow(nest.start, far, &nest.start) ||
          __builtin_add_overflow(nest.length, longer, &nest.length)) {
        return broken();
      }
    }
    ++position_;
    // Also so that every iteration of an unrolled loop is a step towards `most`.
    if (nest.length < 1 || !analyzer::within_bounds(nest)) return broken();
    __extension__ __int128 end = nest.start + nest.length;
    for (const NestLevel& level : nest.levels) {
      if (level.stride > 0) end += __int128{level.stride} * (level.count - 1);
    }
    if (end > kLargestFile) return broken();
    to_.push_back(std::move(nest));
    return to_.back().length;
  }

  const BlockLists& block_;
  std::size_t most_;
  std::vector<Nest>& to_;
  const BlockPair* leaves_ = nullptr;  // of the term
  std::array<Around, patterns::kMaxLoopDepth> around_{};
  std::size_t depth_ = 0;
  std::int64_t position_;
  std::int64_t bytes_ = 0;
  NestProblem problem_ = NestProblem::kNone;
};

// The nest without its outermost loop, at an iteration.
Nest iteration_of(const Nest& nest, std::int64_t iteration) {
  const NestLevel& level = nest.levels.front();
  Nest inner{nest.start + level.stride * iteration,
             nest.length,
             nest.position + level.position_step * iteration,
             nest.physical + level.physical_step * iteration,
             nest.slot,
             {nest.levels.begin() + 1, nest.levels.end()}};
  return inner;
}

std::int64_t accesses(const Nest& nest) {
  std::int64_t all = 1;
  for (const NestLevel& level : nest.levels) all *= level.count;
  return all;
}

}  // namespace

NestProblem append_block_nests(const BlockLists& block, std::size_t most, std::vector<Nest>& to,
                               std::int64_t& bytes) {
  const std::size_t before = to.size();
  const NestProblem problem = Walk(block, most, to).run(bytes);
  if (problem != NestProblem::kNone) to.resize(before);
  return problem;
}

std::int64_t keep_whole_accesses(const Nest& nest, std::int64_t bytes, std::vector<Nest>& to) {
  Nest rest = nest;
  const std::int64_t all = accesses(nest);
  std::int64_t kept = 0;
  while (true) {
    std::int64_t last = rest.physical + rest.length;  // of the first iteration
    for (std::size_t k = 1; k < rest.levels.size(); ++k) {
      last += rest.levels[k].physical_step * (rest.levels[k].count - 1);
    }
    if (rest.levels.empty()) {
      if (last <= bytes) {
        to.push_back(rest);
        ++kept;
      }
      break;
    }
    NestLevel& level = rest.levels.front();
    const std::int64_t whole =
        last > bytes ? 0 : std::min(level.count, (bytes - last) / level.physical_step + 1);
    if (whole > 0) {
      Nest some = rest;
      some.levels.front().count = whole;
      kept += accesses(some);
      to.push_back(std::move(some));
    }
    if (whole == level.count) break;
    rest = iteration_of(rest, whole);
  }
  return (all - kept) * nest.length;
}

std::int64_t end_from_position(const Nest& nest, std::int64_t position) {
  Nest rest = nest;
  std::int64_t end = 0;
  while (true) {
    if (rest.levels.empty()) {
      return rest.position >= position ? std::max(end, rest.start + rest.length) : end;
    }
    const NestLevel level = rest.levels.front();
    // The last iteration that begins at `position` or before may have both; those behind it are
    // all later.
    std::int64_t cut = -1;
    if (position > rest.position) {
      cut = std::min(level.count - 1, (position - rest.position) / level.position_step);
    }
    if (cut + 1 < level.count) {
      Nest later = iteration_of(rest, level.stride > 0 ? level.count - 1 : cut + 1);
      std::int64_t reach = later.start + later.length;
      for (const NestLevel& inner : later.levels) {
        reach += std::max<std::int64_t>(inner.stride, 0) * (inner.count - 1);
      }
      end = std::max(end, reach);
    }
    if (cut < 0) return end;
    rest = iteration_of(rest, cut);
  }
}

}  // namespace iotune::logstore
