// The terms of one list after the other, each foretold from those before it: what a loop goes on
// with, what came after the same terms elsewhere. One template writes and reads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "analyzer/pattern_log/even_numbers.h"
#include "analyzer/pattern_log/number_models.h"
#include "analyzer/pattern_log/packed_run.h"
#include "analyzer/pattern_log/shapes.h"
#include "analyzer/pattern_log/term_history.h"
#include "patterns/tuple_loops.h"

namespace iotune::analyzer::pattern_log {

// Of all that is read into memory in one section: a bound for damaged bytes.
inline constexpr std::uint64_t kMostNumbers = std::uint64_t{1} << 23U;

// What is left of that bound.
class Budget {
 public:
  template <class Coder>
  bool take(Coder& coder, std::uint64_t numbers) {
    if constexpr (!Coder::kWrites) {
      if (numbers > left_) coder.fail();
    }
    left_ -= std::min(numbers, left_);
    return !coder.failed();
  }

 private:
  std::uint64_t left_ = kMostNumbers;
};

class TermModel {
 public:
  template <class Coder>
  void code(Coder& coder, Shapes& shapes, TermList& list, Budget& budget) {
    const std::uint64_t size = size_.code(coder, list.terms.size());
    if (!budget.take(coder, size)) return;
    Cursor at;
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
    if (kind == Kind::kNew) {
      const std::uint32_t fresh = code_shape(coder, shapes, term.shape, 1, budget);
      if (coder.failed()) return;
      term.shape = fresh;
    } else if (kind == Kind::kKnown) {
      const auto newest = static_cast<std::uint32_t>(last_.size() - 1);
      const std::uint32_t guess = next_of_[at.shape % kFollowers];
      const std::uint64_t back =
          shape_.code(coder, newest - term.shape,
                      {newest - std::min(guess, newest), newest - at.shape}, recent_shapes_);
      if (back >= newest) coder.fail();
      if (coder.failed()) return;
      term.shape = newest - static_cast<std::uint32_t>(back);
    }
    next_of_[at.shape % kFollowers] = term.shape;
    Last& last = last_[term.shape];
    const std::uint32_t leaves = shapes[term.shape].leaves;
    if (!budget.take(coder, leaves)) return;
    if (term.shape != 0) {
      term.count = counts_.code(coder, term.count, {last.count, last_count_}, recent_);
      if (term.count == 0) return coder.fail();
      last_count_ = last.count = term.count;
    }
    if constexpr (!Coder::kWrites) {
      list.terms.push_back(term);
      list.leaves.resize(list.leaves.size() + leaves);
    }
    Extent* const leaf = list.leaves.data() + at.leaf;
    code_first_leaf(coder, leaf[0], at, term.shape);
    const bool met = last.leaves.size() == leaves;
    for (std::uint32_t l = 1; l < leaves && !coder.failed(); ++l) {
      code_leaf(coder, leaf + l, met ? last.leaves.data() + l : nullptr);
    }
    if (leaves > 1) last.leaves.assign(leaf, leaf + leaves);
    passed(shapes, list, at);
  }

  template <class Coder>
  void code_first_leaf(Coder& coder, Extent& leaf, const Cursor& at, std::uint32_t shape) {
    const unsigned context = (at.shape != 0 ? 2U : 0U) + (shape != 0 ? 1U : 0U);
    const std::uint64_t from = unsigned_of(at.place.offset);
    const std::uint64_t learned = steps_.guess(at.step, unsigned_of(at.place.length));
    const std::uint64_t step = first_offsets_[context].code(
        coder, unsigned_of(leaf.offset) - from, {at.on, at.end, learned, at.older_step}, recent_);
    steps_.learn(at.step, unsigned_of(at.place.length), step);
    leaf.offset = signed_of(from + step);
    const std::uint64_t length_guess = lengths_.guess(step, unsigned_of(at.place.length));
    leaf.length = signed_of(first_lengths_.code(
        coder, unsigned_of(leaf.length),
        {unsigned_of(at.place.length), length_guess, at.older_length}, recent_));
    lengths_.learn(step, unsigned_of(at.place.length), unsigned_of(leaf.length));
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

  template <class Coder>
  std::uint32_t code_shape(Coder& coder, Shapes& shapes, std::uint32_t index, unsigned depth,
                           Budget& budget) {
    std::vector<ShapePart> parts;
    std::vector<Extent> strides;
    if constexpr (Coder::kWrites) {
      parts = shapes[index].parts;
      strides = shapes[index].strides;
    }
    const std::uint64_t size = parts_.code(coder, parts.size());
    if (size == 0 || depth > patterns::kMaxLoopDepth) coder.fail();
    if (!budget.take(coder, size)) return 0;
    parts.resize(size);
    std::uint64_t leaves = 0;
    for (ShapePart& part : parts) {
      if constexpr (!Coder::kWrites) part = {1, 0, 0};
      if (coder.bit(inner_[depth > 2 ? 2 : depth], part.shape != 0)) {
        const bool known = coder.bit(inner_known_, part.shape < last_.size());
        if (known) {
          const std::uint64_t newest = last_.size() - 1;
          const std::uint64_t back = inner_shape_.code(coder, newest - part.shape);
          if (back >= newest) coder.fail();
          if (coder.failed()) return 0;
          part.shape = static_cast<std::uint32_t>(newest - back);
          if (shapes[part.shape].depth + depth > patterns::kMaxLoopDepth) coder.fail();
        } else {
          part.shape = code_shape(coder, shapes, part.shape, depth + 1, budget);
        }
        if (coder.failed()) return 0;
        part.count =
            counts_.code(coder, part.count, {last_[part.shape].count, last_count_}, recent_);
        last_count_ = last_[part.shape].count = part.count;
        if (part.count == 0) coder.fail();
      }
      leaves += shapes[part.shape].leaves;
      if (coder.failed()) return 0;
    }
    if (!budget.take(coder, 2 * leaves)) return 0;
    strides.resize(leaves);
    const ShapePart& first = parts.front();
    const Extent within = first.shape == 0
                              ? Extent{0, 0}
                              : moved({0, 0}, shapes[first.shape].strides[0], first.count);
    for (std::uint64_t l = 0; l < leaves && !coder.failed(); ++l) {
      const Extent before = l == 0 ? within : strides[l - 1];
      Extent& stride = strides[l];
      stride.offset = signed_of(strides_[l == 0 ? 0 : 1].code(
          coder, unsigned_of(stride.offset), {unsigned_of(before.offset)}, recent_));
      stride.length = signed_of(length_strides_.code(
          coder, unsigned_of(stride.length), {l == 0 ? 0 : unsigned_of(before.length)}, recent_));
    }
    if (coder.failed()) return 0;
    if constexpr (!Coder::kWrites) index = shapes.intern(std::move(parts), std::move(strides));
    // Numbered as they are met: the writer interned them all before, inner ones first.
    if (index != last_.size()) {
      coder.fail();
      return 0;
    }
    last_.emplace_back();
    return index;
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
      at.on = unsigned_of(shape.strides[0].offset) * term.count;
      at.end = at.on - unsigned_of(shape.strides[0].offset) + unsigned_of(leaf->length);
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
    if (!budget.take(coder, 2 * size)) return;
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
  Number size_, parts_, packed_size_, match_lengths_, inner_shape_;
  PackedRangeModel packed_offsets_, packed_lengths_;
  std::array<Tree<3>, 32> kinds_;
  unsigned kind_history_ = 0;
  Value shape_, counts_, offsets_, first_lengths_, further_lengths_, length_strides_, distances_;
  std::array<Value, 4> first_offsets_;
  std::array<Value, 2> strides_;
  std::array<Bit, 3> inner_{};
  Bit inner_known_ = Bit::rare(8);
  RecentNumbers recent_, recent_shapes_, recent_distances_;
  std::vector<Last> last_;  // by shape
  std::array<std::uint32_t, kFollowers> next_of_{};
  std::uint64_t last_count_ = 0, leaf_step_ = 0, last_distance_ = 0;
  Followers steps_, lengths_;
  TermHistory history_;
  std::vector<std::uint32_t> seen_;
};

}  // namespace iotune::analyzer::pattern_log
