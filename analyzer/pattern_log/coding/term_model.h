// The terms of one list after the other, each predicted from those before it: what a loop goes on
// with, what came after the same terms elsewhere. One template writes and reads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "analyzer/pattern_log/budget.h"
#include "analyzer/pattern_log/coding/even_numbers.h"
#include "analyzer/pattern_log/coding/nest_model.h"
#include "analyzer/pattern_log/coding/number_models.h"
#include "analyzer/pattern_log/coding/packed_run.h"
#include "analyzer/pattern_log/coding/term_history.h"
#include "analyzer/pattern_log/shapes.h"
#include "patterns/tuple_loops.h"

namespace iotune::analyzer::pattern_log {

class TermModel {
 public:
  template <class Coder>
  void code(Coder& coder, Shapes& shapes, TermList& list, Budget& budget) {
    const std::uint64_t size = size_.code(coder, list.terms.size());
    if (!budget.take(coder, size)) return;
    Cursor at;
    at.place.length = first_length_;
    std::vector<std::uint32_t> packed;  // for each term: how many from here on are packed
    if constexpr (Coder::kWrites) {
      packed = find_packed_runs(shapes, list, seen_);
      history_.prepare(shapes, list);
    }
    while (at.term < size && !coder.failed()) {
      Match match;
      Kind kind = Kind::kAccess;
      if constexpr (Coder::kWrites) {
        match = history_.find(at.term);
        const bool loop = list.terms[at.term].shape != 0;
        const bool known = loop && list.terms[at.term].shape < last_.size();
        kind = match.length > 0      ? Kind::kMatch
               : loop                ? (known ? Kind::kKnown : Kind::kNew)
               : packed[at.term] > 0 ? Kind::kPacked
                                     : Kind::kAccess;
      }
      kind = static_cast<Kind>(kinds_[kind_history_].code(coder, static_cast<unsigned>(kind)));
      kind_history_ = (kind_history_ << 2U | static_cast<unsigned>(kind)) & 0x1fU;
      switch (kind) {
        case Kind::kMatch:
          copy(coder, shapes, list, match, size - at.term, at, budget);
          break;
        case Kind::kPacked: {
          const std::uint32_t run = Coder::kWrites ? packed[at.term] : 0;
          code_packed(coder, list, run, size - at.term, at, budget);
          break;
        }
        case Kind::kAccess:
        case Kind::kKnown:
        case Kind::kNew:
          code_term(coder, shapes, list, kind, at, budget);
          break;
        default:
          coder.fail();
      }
    }
  }

  // Shapes that came by other ways than code(): to be called before the next list's are interned.
  void know(const Shapes& shapes) { last_.resize(shapes.size()); }
  void set_streams(std::uint64_t streams) noexcept { nests_.set_streams(streams); }
  RecentNumbers& recent() noexcept { return recent_; }

 private:
  enum class Kind : unsigned { kAccess, kKnown, kNew, kPacked, kMatch };

  struct Cursor {
    std::uint64_t term = 0;
    std::size_t leaf = 0;
    // Of the term before: where it began, and guesses for where the next one does.
    Extent place{};
    std::uint64_t step = 0, on = 0, end = 0;
    // Of the one before that.
    std::uint64_t older_step = 0, older_length = 0;
    std::uint32_t shape = 0;
  };
  // The last term of a shape.
  struct Last {
    std::uint64_t count = 0;
    std::vector<Extent> leaves;
  };

  template <class Coder>
  void code_term(Coder& coder, Shapes& shapes, TermList& list, Kind kind, Cursor& at,
                 Budget& budget) {
    ShapeTerm term{1, 0};
    if constexpr (Coder::kWrites) term = list.terms[at.term];
    if (kind == Kind::kNew) return code_nest(coder, shapes, list, term, at, budget);
    if (kind == Kind::kKnown) {
      const auto newest = static_cast<std::uint32_t>(last_.size() - 1);
      const std::uint32_t guess = next_of_[at.shape % kFollowers];
      const std::uint64_t back =
          shape_.code(coder, newest - term.shape,
                      {newest - std::min(guess, newest), newest - at.shape}, recent_shapes_);
      if (back >= newest) coder.fail();
      if (coder.failed()) return;
      term.shape = newest - static_cast<std::uint32_t>(back);
    }
    Last& last = last_[term.shape];
    const std::uint32_t leaves = shapes[term.shape].leaves;
    if (!budget.take(coder, leaves)) return;
    if (term.shape != 0) {
      term.count = counts_.code(coder, term.count, {last.count, last_count_}, recent_);
      if (term.count == 0) return coder.fail();
    }
    if constexpr (!Coder::kWrites) {
      list.terms.push_back(term);
      list.leaves.resize(list.leaves.size() + leaves);
    }
    Extent* const leaf = list.leaves.data() + at.leaf;
    code_first_leaf(coder, leaf[0], at, term.shape != 0);
    const bool met = last.leaves.size() == leaves;
    for (std::uint32_t l = 1; l < leaves && !coder.failed(); ++l) {
      code_leaf(coder, leaf + l, met ? last.leaves.data() + l : nullptr);
    }
    learn(term, leaf, leaves, at);
    passed(shapes, list, at);
  }

  // A loop of a shape that is defined here.
  template <class Coder>
  void code_nest(Coder& coder, Shapes& shapes, TermList& list, ShapeTerm term, Cursor& at,
                 Budget& budget) {
    const auto next = static_cast<std::uint32_t>(last_.size());
    nests_.code_form(coder, shapes, term.shape, next, budget);
    if (!budget.take(coder, 1)) return;
    if constexpr (!Coder::kWrites) list.leaves.push_back({});
    code_first_leaf(coder, list.leaves[at.leaf], at, true);
    if (coder.failed()) return;
    term = nests_.code_numbers(coder, shapes, list, at.leaf, term, next, recent_, budget);
    if (coder.failed()) return;
    if constexpr (!Coder::kWrites) list.terms.push_back(term);
    last_.resize(std::max(last_.size(), std::size_t{term.shape} + 1));
    learn(term, list.leaves.data() + at.leaf, shapes[term.shape].leaves, at);
    passed(shapes, list, at);
  }

  void learn(const ShapeTerm& term, const Extent* leaves, std::uint32_t count, const Cursor& at) {
    next_of_[at.shape % kFollowers] = term.shape;
    if (term.shape == 0) return;
    Last& last = last_[term.shape];
    last_count_ = last.count = term.count;
    if (count > 1) last.leaves.assign(leaves, leaves + count);
  }

  template <class Coder>
  void code_first_leaf(Coder& coder, Extent& leaf, const Cursor& at, bool loop) {
    const unsigned context = (at.shape != 0 ? 2U : 0U) + (loop ? 1U : 0U);
    const std::uint64_t from = unsigned_of(at.place.offset);
    const std::uint64_t learned = steps_.guess(at.step, unsigned_of(at.place.length));
    const std::uint64_t step = first_offsets_[context].code(
        coder, unsigned_of(leaf.offset) - from, {at.on, at.end, learned, at.older_step}, recent_);
    steps_.learn(at.step, unsigned_of(at.place.length), step);
    leaf.offset = signed_of(from + step);
    const std::uint64_t before = unsigned_of(at.place.length);
    const std::uint64_t learned_length = lengths_.guess(step, before);
    const std::uint64_t length = unsigned_of(leaf.length);
    // Nothing was there before the first of all.
    leaf.length =
        signed_of(before == 0 && at.term == 0
                      ? first_lengths_.code(coder, length, {}, recent_)
                      : first_lengths_.code(coder, length,
                                            {before, learned_length, at.older_length}, recent_));
    lengths_.learn(step, before, unsigned_of(leaf.length));
    if (at.term == 0) first_length_ = leaf.length;
  }

  // A further leaf of a loop, from the one before it.
  template <class Coder>
  void code_leaf(Coder& coder, Extent* leaf, const Extent* last) {
    const Extent before = leaf[-1];
    const std::uint64_t from = unsigned_of(before.offset);
    const std::uint64_t again =
        last == nullptr ? leaf_step_ : unsigned_of(last[0].offset) - unsigned_of(last[-1].offset);
    leaf_step_ = offsets_.code(coder, unsigned_of(leaf->offset) - from,
                               {again, unsigned_of(before.length), 0}, recent_);
    leaf->offset = signed_of(from + leaf_step_);
    leaf->length = signed_of(further_lengths_.code(
        coder, unsigned_of(leaf->length),
        {last == nullptr ? unsigned_of(before.length) : unsigned_of(last->length),
         unsigned_of(before.length)},
        recent_));
  }

  // After a term: where the next one may be.
  void passed(const Shapes& shapes, const TermList& list, Cursor& at) {
    const ShapeTerm& term = list.terms[at.term];
    const Extent* const leaf = list.leaves.data() + at.leaf;
    const Shape& shape = shapes[term.shape];
    const std::uint64_t step = unsigned_of(leaf->offset) - unsigned_of(at.place.offset);
    if (term.shape == 0) {
      at.on = step;
      at.end = unsigned_of(leaf->length);
    } else {
      Spans spans;
      const Reach reach = reach_of(shapes, {term.count, term.shape, 0}, leaf, spans);
      at.on = reach.on;
      at.end = reach.end;
    }
    history_.met(at.term, term, leaf, shape.leaves, step);
    at.older_step = at.step;
    at.older_length = unsigned_of(at.place.length);
    at.step = step;
    at.place = *leaf;
    at.shape = term.shape;
    at.leaf += shape.leaves;
    ++at.term;
  }

  template <class Coder>
  void copy(Coder& coder, const Shapes& shapes, TermList& list, Match match, std::uint64_t most,
            Cursor& at, Budget& budget) {
    const std::uint64_t distance =
        distances_.code(coder, match.distance, {last_distance_}, recent_distances_);
    const std::uint64_t length = match_lengths_.code(coder, match.length);
    if (length == 0 || length > most || distance == 0 || distance > history_.size()) coder.fail();
    if (coder.failed()) return;
    last_distance_ = distance;
    for (std::uint64_t i = 0; i < length; ++i) {
      if constexpr (!Coder::kWrites) {
        if (!budget.take(coder, 2)) return;
        const std::uint32_t leaves = history_.copy(distance, at.place, list);
        if (!budget.take(coder, leaves)) return;
      }
      passed(shapes, list, at);
    }
  }

  // Accesses without a pattern: each column as multiples of what all have in common.
  template <class Coder>
  void code_packed(Coder& coder, TermList& list, std::uint32_t run, std::uint64_t most, Cursor& at,
                   Budget& budget) {
    const std::uint64_t size = packed_size_.code(coder, run);
    if (size == 0 || size > most) coder.fail();
    if (coder.failed()) return;
    if constexpr (Coder::kWrites) {
      packed_offsets_.prepare(list, at.leaf, size, &Extent::offset);
      packed_lengths_.prepare(list, at.leaf, size, &Extent::length);
    }
    const PackedRange offsets = packed_offsets_.code(coder);
    const PackedRange lengths = packed_lengths_.code(coder);
    if (!budget.take(coder, size, 2)) return;
    if constexpr (!Coder::kWrites) {
      list.terms.resize(list.terms.size() + size, {1, 0});
      list.leaves.resize(list.leaves.size() + size);
    }
    code_column(coder, list.leaves.data() + at.leaf, size, &Extent::offset, offsets);
    code_column(coder, list.leaves.data() + at.leaf, size, &Extent::length, lengths);
    if (!coder.failed()) passed_accesses(list, size, at);
  }

  template <class Coder>
  static void code_column(Coder& coder, Extent* leaves, std::uint64_t count,
                          std::int64_t Extent::*column, const PackedRange& range) {
    const EvenNumbers numbers(range.most);
    const patterns::Divider by(range.unit);
    std::array<std::uint64_t, EvenNumbers::kMostGroup> group{};
    for (std::uint64_t done = 0; done < count && !coder.failed(); done += numbers.group()) {
      const auto now =
          static_cast<unsigned>(std::min<std::uint64_t>(numbers.group(), count - done));
      if constexpr (Coder::kWrites) {
        for (unsigned i = 0; i < now; ++i) {
          group[i] = by.quotient(unsigned_of(leaves[done + i].*column) - range.least);
        }
      }
      numbers.code(coder, group.data(), now);
      if constexpr (!Coder::kWrites) {
        for (unsigned i = 0; i < now; ++i) {
          leaves[done + i].*column = signed_of(range.least + range.unit * group[i]);
        }
      }
    }
  }

  // As passed(), for so many accesses.
  void passed_accesses(const TermList& list, std::uint64_t count, Cursor& at) {
    const Extent* const leaves = list.leaves.data() + at.leaf;
    history_.met_accesses(at.term, {leaves, count}, unsigned_of(at.place.offset));
    for (std::uint64_t i = count < 2 ? 0 : count - 2; i < count; ++i) {
      const Extent before = i == 0 ? at.place : leaves[i - 1];
      at.older_step = at.step;
      at.older_length = unsigned_of(before.length);
      at.step = unsigned_of(leaves[i].offset) - unsigned_of(before.offset);
    }
    at.place = leaves[count - 1];
    at.on = at.step;
    at.end = unsigned_of(at.place.length);
    at.shape = 0;
    at.leaf += count;
    at.term += count;
  }

  static constexpr std::size_t kFollowers = 256;
  Number size_, packed_size_{expected::kCount}, match_lengths_;
  PackedRangeModel packed_offsets_, packed_lengths_;
  static constexpr std::array<Tree<3>, 32> kKinds = [] {
    std::array<Tree<3>, 32> kinds;
    kinds.fill(Tree<3>({6, 4, 6, 2, 4, 0, 0, 0}));
    return kinds;
  }();
  std::array<Tree<3>, 32> kinds_ = kKinds;
  unsigned kind_history_ = 0;
  NestModel nests_;
  Value shape_{expected::kFew}, counts_{expected::kCount}, offsets_, first_lengths_,
      further_lengths_, distances_{expected::kFew};
  std::array<Value, 4> first_offsets_;
  RecentNumbers recent_, recent_shapes_, recent_distances_;
  std::vector<Last> last_;  // by shape
  std::array<std::uint32_t, kFollowers> next_of_{};
  std::uint64_t last_count_ = 0, leaf_step_ = 0, last_distance_ = 0;
  std::int64_t first_length_ = 0;  // of the list before
  Followers steps_, lengths_;
  TermHistory history_;
  std::vector<std::uint32_t> seen_;
};

}  // namespace iotune::analyzer::pattern_log
