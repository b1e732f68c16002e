#include "analyzer/pattern_log/coding/term_history.h"

#include <algorithm>
#include <bit>

#include "patterns/loop_finder.h"

namespace iotune::analyzer::pattern_log {
namespace {

using patterns::mix;

// Grows with what there is to find, so that a small log is not dominated by clearing it.
constexpr std::size_t kLeastTable = std::size_t{1} << 8U;
constexpr std::size_t kMostTable = std::size_t{1} << 16U;
// What a reference takes at most, and about what terms take without it, in bits.
constexpr std::uint64_t kReferenceBits = 40;
constexpr std::uint64_t kAccessBits = 6;
constexpr std::uint64_t kLoopBits = 16;

std::uint32_t hash_access(std::uint64_t step, std::int64_t length) noexcept {
  return static_cast<std::uint32_t>(
      (step * 0x9e3779b97f4a7c15U ^ unsigned_of(length) * 0xd1342543de82ef95U) >> 32U);
}

std::uint32_t hash_loop(const ShapeTerm& term, const Extent* leaves, std::size_t count,
                        std::uint64_t step) noexcept {
  std::uint64_t hash = mix(step ^ mix(term.count ^ std::uint64_t{term.shape} << 40U));
  for (std::size_t l = 0; l < count; ++l) {
    const std::uint64_t relative = unsigned_of(leaves[l].offset) - unsigned_of(leaves[0].offset);
    hash = mix(hash ^ relative) + unsigned_of(leaves[l].length);
  }
  return static_cast<std::uint32_t>(hash >> 32U);
}

}  // namespace

std::size_t TermHistory::slot(const std::uint32_t* hashes) const noexcept {
  const std::uint64_t both = std::uint64_t{hashes[0]} << 32U | hashes[1];
  return mix(both ^ hashes[2] * 0xbf58476d1ce4e5b9U) & (table_.size() - 1);
}

void TermHistory::prepare(const Shapes& shapes, const TermList& list) {
  list_ = &list;
  const std::size_t size = list.terms.size();
  // Twice as much where it grows, so that many short lists do not copy it each.
  if (terms_.capacity() < terms_.size() + size) {
    terms_.reserve(2 * terms_.size() + size);
    leaves_.reserve(2 * leaves_.size() + list.leaves.size());
  }
  const std::size_t table =
      std::clamp(std::bit_ceil(2 * (terms_.size() + size)), kLeastTable, kMostTable);
  hashes_.clear();
  hashes_.reserve(size);
  first_leaves_.clear();
  first_leaves_.reserve(size + 1);
  std::size_t first = 0;
  std::uint64_t before = 0;
  for (const ShapeTerm& term : list.terms) {
    const Extent* const leaves = list.leaves.data() + first;
    const std::uint64_t place = unsigned_of(leaves->offset);
    const std::uint32_t count = shapes[term.shape].leaves;
    hashes_.push_back(term.shape == 0 ? hash_access(place - before, leaves->length)
                                      : hash_loop(term, leaves, count, place - before));
    first_leaves_.push_back(static_cast<std::uint32_t>(first));
    before = place;
    first += count;
  }
  first_leaves_.push_back(static_cast<std::uint32_t>(first));
  if (table_.size() < table) grow(table);
}

std::uint32_t TermHistory::hash_of(std::size_t number) const noexcept {
  const Past& past = terms_[number];
  const Extent* const leaves = leaves_.data() + past.first_leaf;
  if (past.shape == 0) return hash_access(past.step, leaves->length);
  return hash_loop({past.count, past.shape}, leaves, leaves_of(number), past.step);
}

void TermHistory::grow(std::size_t table) {
  std::vector<std::uint32_t> old(table, 0);
  old.swap(table_);
  for (const std::uint32_t met : old) {
    if (met == 0) continue;
    const std::array<std::uint32_t, 3> hashes{hash_of(met - 1), hash_of(met), hash_of(met + 1)};
    std::uint32_t& latest = table_[slot(hashes.data())];
    latest = std::max(latest, met);
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
  const std::uint32_t met = table_[slot(hashes_.data() + term)];
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
  table_[slot(hashes_.data() + number - 2)] = static_cast<std::uint32_t>(terms_.size() - 2);
}

void TermHistory::met_accesses(std::size_t number, std::span<const Extent> accesses,
                               std::uint64_t place) {
  const std::size_t first = terms_.size();
  auto leaf = static_cast<std::uint32_t>(leaves_.size());
  terms_.resize(first + accesses.size());
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    const std::uint64_t now = unsigned_of(accesses[i].offset);
    terms_[first + i] = {1, now - place, 0, leaf++};
    place = now;
  }
  leaves_.insert(leaves_.end(), accesses.begin(), accesses.end());
  if (table_.empty()) return;
  for (std::size_t i = number < 2 ? 2 - number : 0; i < accesses.size(); ++i) {
    table_[slot(hashes_.data() + number + i - 2)] = static_cast<std::uint32_t>(first + i - 1);
  }
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
