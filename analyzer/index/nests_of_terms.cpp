#include "analyzer/index/nests_of_terms.h"

#include <algorithm>
#include <array>

namespace iotune::analyzer {
namespace {

using patterns::Term;

constexpr unsigned kMostDims = 3;
constexpr unsigned kOffset = 0;
constexpr unsigned kLength = 1;
constexpr unsigned kPhysical = 2;

// Modulo 2^64, as terms are; within_bounds() looks at what comes out.
using Values = std::array<std::uint64_t, kMostDims>;

// A loop around, as what is within sees it.
struct Around {
  std::uint64_t count;
  std::uint64_t rows;  // of an iteration
  Values stride;
};

// Of a loop that leaves its strides to the terms within: how to take them.
struct OwnStrides {
  enum class Kind : std::uint8_t { kIgnored, kLevel, kFixed } kind;
  std::uint64_t number;  // of the loop in `around`, or the iteration
};

struct Frame {
  Values base{};
  std::array<Around, patterns::kMaxLoopDepth> around{};
  unsigned depth = 0;
  std::array<OwnStrides, patterns::kMaxLoopDepth + 1> own{};
  std::uint64_t position = 0;
};

class Walk {
 public:
  Walk(const patterns::TermTree& tree, std::int64_t slot, std::size_t most, std::vector<Nest>& to)
      : tree_(tree), slot_(slot), most_(to.size() + most), to_(to) {}

  // Returns the bytes of the whole list.
  std::uint64_t list(const Term* term, Frame frame, std::uint64_t physical) {
    std::uint64_t bytes = 0;
    for (; term != nullptr && problem_.empty(); term = tree_.next(*term)) {
      const std::uint64_t here = term->kind == Term::Kind::kAtoms
                                     ? atoms(*term, frame, physical + bytes)
                                     : loop(*term, frame, physical + bytes);
      if (__builtin_add_overflow(bytes, here, &bytes)) too_large();
      frame.position += term->rows;
    }
    return bytes;
  }

  const std::string& problem() const { return problem_; }

 private:
  void too_large() { problem_ = "an access beyond the largest file"; }

  void add(Values& to, const std::int64_t* values, std::uint64_t times) const {
    for (unsigned j = 0; j < tree_.dims; ++j)
      to[j] += static_cast<std::uint64_t>(values[j]) * times;
  }

  // What `term` says of the loops around that have no stride of their own.
  void take_own_strides(const Term& term, std::size_t vectors, std::size_t place, Frame& frame) {
    if (term.own_strides == nullptr) return;
    for (unsigned level = 0; level < term.levels; ++level) {
      const std::int64_t* step = term.own_strides + (level * vectors + place) * tree_.dims;
      const OwnStrides& own = frame.own[level];
      if (own.kind == OwnStrides::Kind::kFixed) add(frame.base, step, own.number);
      if (own.kind == OwnStrides::Kind::kLevel) add(frame.around[own.number].stride, step, 1);
    }
  }

  std::uint64_t atoms(const Term& term, const Frame& around, std::uint64_t physical) {
    std::uint64_t bytes = 0;
    for (std::size_t k = 0; k < term.count && problem_.empty(); ++k) {
      Frame frame = around;
      frame.position += k;
      add(frame.base, term.values + k * tree_.dims, 1);
      take_own_strides(term, term.count, k, frame);
      const std::uint64_t length = frame.base[kLength];
      if (length > static_cast<std::uint64_t>(kMostBytes)) too_large();
      if (length != 0) emit(frame, physical + bytes);
      if (__builtin_add_overflow(bytes, length, &bytes)) too_large();
    }
    return bytes;
  }

  void emit(const Frame& frame, std::uint64_t physical) {
    if (to_.size() >= most_) {
      problem_ = "more entries than the index may have";
      return;
    }
    const bool given = tree_.dims == kMostDims;
    Nest nest;
    nest.start = static_cast<std::int64_t>(frame.base[kOffset]);
    nest.length = static_cast<std::int64_t>(frame.base[kLength]);
    nest.position = static_cast<std::int64_t>(frame.position);
    nest.physical = static_cast<std::int64_t>(given ? frame.base[kPhysical] : physical);
    nest.slot = slot_;
    nest.levels.reserve(frame.depth);
    for (unsigned k = 0; k < frame.depth; ++k) {
      const Around& loop = frame.around[k];
      // Without a column of their own, places in the log are known when the body has been seen.
      nest.levels.push_back(
          {.stride = static_cast<std::int64_t>(loop.stride[kOffset]),
           .count = static_cast<std::int64_t>(loop.count),
           .position_step = static_cast<std::int64_t>(loop.rows),
           .physical_step = given ? static_cast<std::int64_t>(loop.stride[kPhysical]) : 0,
           .slot_step = 0});
    }
    to_.push_back(std::move(nest));
  }

  std::uint64_t loop(const Term& term, const Frame& around, std::uint64_t physical) {
    Frame frame = around;
    add(frame.base, term.values, 1);
    take_own_strides(term, 1, 0, frame);
    const Term* body = tree_.first_child(term);
    const bool own = term.stride == nullptr;
    const unsigned owns = body->levels - (own ? 1U : 0U);
    if (term.repeated) {
      for (unsigned level = 0; level < owns; ++level)
        frame.own[level].kind = OwnStrides::Kind::kIgnored;
    }
    const bool lengths_vary = own ? varies(body, owns) : term.stride[kLength] != 0;
    return lengths_vary ? unrolled(term, body, owns, frame, physical)
                        : rolled(term, body, owns, frame, physical);
  }

  // Whether any access below has another length in each iteration of that loop.
  bool varies(const Term* term, unsigned level) const {
    for (; term != nullptr; term = tree_.next(*term)) {
      const bool is_atom = term->kind == Term::Kind::kAtoms;
      const std::size_t vectors = is_atom ? term->count : 1;
      if (term->own_strides != nullptr && level < term->levels) {
        for (std::size_t k = 0; k < vectors; ++k) {
          if (term->own_strides[(level * vectors + k) * tree_.dims + kLength] != 0) return true;
        }
      }
      // What a body met before says of loops around is not of this loop.
      if (!is_atom && !term->repeated && varies(tree_.first_child(*term), level)) return true;
    }
    return false;
  }

  std::uint64_t rolled(const Term& term, const Term* body, unsigned owns, Frame frame,
                       std::uint64_t physical) {
    const unsigned depth = frame.depth++;
    Around& loop = frame.around[depth];
    loop = {.count = term.count, .rows = term.rows / term.count, .stride = {}};
    if (term.stride != nullptr) {
      add(loop.stride, term.stride, 1);
    } else {
      frame.own[owns] = {OwnStrides::Kind::kLevel, depth};
    }
    const std::size_t first = to_.size();
    const std::uint64_t bytes = list(body, frame, physical);
    if (tree_.dims < kMostDims) {
      for (std::size_t i = first; i < to_.size(); ++i) {
        to_[i].levels[depth].physical_step = static_cast<std::int64_t>(bytes);
      }
    }
    std::uint64_t all = 0;
    if (__builtin_mul_overflow(bytes, std::uint64_t{term.count}, &all)) too_large();
    return all;
  }

  std::uint64_t unrolled(const Term& term, const Term* body, unsigned owns, Frame frame,
                         std::uint64_t physical) {
    std::uint64_t bytes = 0;
    for (std::uint32_t i = 0; i < term.count && problem_.empty(); ++i) {
      Frame iteration = frame;
      if (term.stride != nullptr) {
        add(iteration.base, term.stride, i);
      } else {
        iteration.own[owns] = {OwnStrides::Kind::kFixed, i};
      }
      iteration.position += std::uint64_t{term.rows / term.count} * i;
      if (__builtin_add_overflow(bytes, list(body, iteration, physical + bytes), &bytes)) {
        too_large();
      }
    }
    return bytes;
  }

  const patterns::TermTree& tree_;
  std::int64_t slot_;
  std::size_t most_;
  std::vector<Nest>& to_;
  std::string problem_;
};

}  // namespace

std::optional<std::string> append_nests(const patterns::TermTree& tree, StreamPlace& at,
                                        std::size_t most, std::vector<Nest>& to) {
  if (tree.dims != 2 && tree.dims != kMostDims) return "tuples of other than two or three values";
  const std::size_t before = to.size();
  Walk walk(tree, at.slot, most, to);
  Frame frame;
  frame.position = static_cast<std::uint64_t>(at.position);
  const std::uint64_t bytes =
      walk.list(tree.first(), frame, static_cast<std::uint64_t>(at.physical));
  std::string problem = walk.problem();
  for (std::size_t i = before; i < to.size() && problem.empty(); ++i) {
    if (!within_bounds(to[i])) problem = "an access outside of any file";
  }
  const bool given = tree.dims == kMostDims;
  if (problem.empty() &&
      ((!given && bytes > static_cast<std::uint64_t>(kMostBytes - at.physical)) ||
       tree.rows > static_cast<std::uint64_t>(kMostBytes - at.position))) {
    problem = "a stream longer than any log";
  }
  if (!problem.empty()) {
    to.resize(before);
    return problem;
  }
  at.position += static_cast<std::int64_t>(tree.rows);
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
