#include "analyzer/pattern_log/term_history.h"

#include "patterns/loop_finder.h"

namespace iotune::analyzer::pattern_log {
namespace {

using patterns::mix;

constexpr std::size_t kTableSize = std::size_t{1} << 16U;
// What a reference takes at most, and about what terms take without it, in bits.
constexpr std::uint64_t kReferenceBits = 40;
constexpr std::uint64_t kAccessBits = 6;
constexpr std::uint64_t kLoopBits = 16;

std::uint64_t hash_term(const ShapeTerm& term, const Extent* leaves, std::size_t count,
                        std::uint64_t step) noexcept {
  std::uint64_t hash = mix(step ^ mix(term.count ^ std::uint64_t{term.shape} << 40U));
  for (std::size_t l = 0; l < count; ++l) {
    const std::uint64_t relative = unsigned_of(leaves[l].offset) - unsigned_of(leaves[0].offset);
    hash = mix(hash ^ relative) + unsigned_of(leaves[l].length);
  }
  return hash;
}

}  // namespace

std::uint64_t TermHistory::key(const std::uint64_t* hashes) noexcept {
  return mix(hashes[0] ^ mix(hashes[1] ^ mix(hashes[2]))) % kTableSize;
}

void TermHistory::prepare(const Shapes& shapes, const TermList& list) {
  list_ = &list;
  // Twice as much where it grows, so that many short lists do not copy it each.
  if (terms_.capacity() < terms_.size() + list.terms.size()) {
    terms_.reserve(2 * terms_.size() + list.terms.size());
    leaves_.reserve(2 * leaves_.size() + list.leaves.size());
  }
  table_.resize(kTableSize);
  hashes_.clear();
  hashes_.reserve(list.terms.size());
  first_leaves_.assign(1, 0);
  first_leaves_.reserve(list.terms.size() + 1);
  std::uint64_t before = 0;
  for (const ShapeTerm& term : list.terms) {
    const std::size_t first = first_leaves_.back();
    const std::uint32_t leaves = shapes[term.shape].leaves;
    const std::uint64_t place = unsigned_of(list.leaves[first].offset);
    hashes_.push_back(hash_term(term, list.leaves.data() + first, leaves, place - before));
    before = place;
    first_leaves_.push_back(first + leaves);
  }
}

bool TermHistory::same(std::size_t number, std::size_t term) const noexcept {
  const Past& past = terms_[number];
  if (ShapeTerm{past.count, past.shape} != list_->terms[term]) return false;
  const Extent* const mine = list_->leaves.data() + first_leaves_[term];
  const std::uint64_t before =
      term == 0 ? 0 : unsigned_of(list_->leaves[first_leaves_[term - 1]].offset);
  if (unsigned_of(mine->offset) - before != past.step) return false;
  const Extent* const theirs = leaves_.data() + past.first_leaf;
  const std::uint64_t moved = unsigned_of(mine->offset) - unsigned_of(theirs->offset);
  const std::uint32_t leaves = leaves_of(number);
  for (std::uint32_t l = 0; l < leaves; ++l) {
    if (mine[l].length != theirs[l].length ||
        unsigned_of(mine[l].offset) - unsigned_of(theirs[l].offset) != moved) {
      return false;
    }
  }
  return true;
}

Match TermHistory::find(std::size_t term) const noexcept {
  if (term + 3 > hashes_.size()) return {};
  const std::uint32_t met = table_[key(hashes_.data() + term)];
  if (met == 0) return {};
  const std::size_t from = met - 1;
  std::uint64_t worth = 0;
  std::size_t length = 0;
  // Not beyond the end of what is past: what a reference makes is not looked at again.
  while (term + length < hashes_.size() && from + length < terms_.size() &&
         same(from + length, term + length)) {
    worth += list_->terms[term + length].shape == 0 ? kAccessBits : kLoopBits;
    ++length;
  }
  return worth > kReferenceBits ? Match{terms_.size() - from, length} : Match{};
}

void TermHistory::met(std::size_t number, const ShapeTerm& term, const Extent* leaves,
                      std::uint32_t count, std::uint64_t step) {
  terms_.push_back({term.count, step, term.shape, static_cast<std::uint32_t>(leaves_.size())});
  if (count == 1) {
    leaves_.push_back(*leaves);
  } else {
    leaves_.insert(leaves_.end(), leaves, leaves + count);
  }
  if (table_.empty() || number < 2) return;
  table_[key(hashes_.data() + number - 2)] = static_cast<std::uint32_t>(terms_.size() - 2);
}

std::uint32_t TermHistory::copy(std::uint64_t distance, Extent place, TermList& list) const {
  const std::size_t number = terms_.size() - distance;
  const Past& past = terms_[number];
  const Extent* const from = leaves_.data() + past.first_leaf;
  const std::uint64_t moved = unsigned_of(place.offset) + past.step - unsigned_of(from->offset);
  list.terms.push_back({past.count, past.shape});
  const std::uint32_t leaves = leaves_of(number);
  for (std::uint32_t l = 0; l < leaves; ++l) {
    list.leaves.push_back({signed_of(unsigned_of(from[l].offset) + moved), from[l].length});
  }
  return leaves;
}

}  // namespace iotune::analyzer::pattern_log
