// A nest whose shape is new: its form first (what is in what), then its numbers from the inside
// out, so that each may be predicted from what the loops within and the parts before it cover.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "analyzer/pattern_log/budget.h"
#include "analyzer/pattern_log/coding/related_value.h"
#include "analyzer/pattern_log/reach.h"
#include "analyzer/pattern_log/shapes.h"
#include "patterns/tuple_loops.h"

namespace iotune::analyzer::pattern_log {

class NestModel {
 public:
  // A part of a body, in the order of the text: how many parts it has, if it is a loop of a new
  // shape; else which known shape, counted back from the newest so far.
  struct Node {
    std::uint32_t parts;  // 0: an access or a known shape
    std::uint32_t known;  // 0: an access or a new shape; else how far back, from 1 on
    friend bool operator==(const Node&, const Node&) = default;
  };
  using Form = std::vector<Node>;

  // `known`: how many shapes there are before it.
  template <class Coder>
  void code_form(Coder& coder, const Shapes& shapes, std::uint32_t shape, std::uint32_t known,
                 Budget& budget) {
    form_.clear();
    if constexpr (Coder::kWrites) {
      std::uint32_t newest = known;
      flatten(shapes, shape, newest);
    }
    node_ = number_ = 0;
    std::size_t back = 0;
    if constexpr (Coder::kWrites) {
      while (back < forms_.size() && forms_[forms_.size() - 1 - back].form != form_) ++back;
    }
    if (!forms_.empty() && coder.bit(again_, back < forms_.size())) {
      back = static_cast<std::size_t>(back_.code(coder, back + 1) - 1);
      if (back >= forms_.size()) return coder.fail();
      like_ = forms_.size() - 1 - back;
      form_ = forms_[like_].form;
      has_like_ = true;
      return;
    }
    code_loop(coder, 1, budget);
    if (coder.failed()) return;
    node_ = 0;
    has_like_ = false;
    // Begins anew rather than to let go of the oldest: that would be slow.
    if (forms_.size() == kMostForms) forms_.clear();
    forms_.push_back({form_, {}, {}});
    like_ = forms_.size() - 1;
  }

  // The numbers of a term of that form, but for its first leaf: that one is in the list at `leaf`,
  // for a reader the last one. `next`: the number that the next shape gets. Returns the term.
  template <class Coder>
  ShapeTerm code_numbers(Coder& coder, Shapes& shapes, TermList& list, std::size_t leaf,
                         ShapeTerm term, std::uint32_t next, RecentNumbers& recent,
                         Budget& budget) {
    ShapePart part{term.count, term.shape, 0};
    Spans spans;
    code_part(coder, shapes, list, leaf, part, next, 1, recent, budget, spans);
    return {part.count, part.shape};
  }

  // How many streams there are: what is written in turn goes on behind all of them.
  void set_streams(std::uint64_t streams) noexcept { streams_ = streams; }

 private:
  static constexpr std::size_t kMostForms = 64;
  struct KnownForm {
    Form form;
    // Of nests of this form, number by number as they are coded: of the last one, and what was
    // added to that of the one before.
    std::vector<std::uint64_t> numbers, steps;
  };

  void flatten(const Shapes& shapes, std::uint32_t shape, std::uint32_t& newest) {
    const std::vector<ShapePart>& parts = shapes[shape].parts;
    form_.push_back({static_cast<std::uint32_t>(parts.size()), 0});
    for (const ShapePart& part : parts) {
      if (part.shape == 0) {
        form_.push_back({0, 0});
      } else if (part.shape < newest && !is_simple(shapes[part.shape])) {
        form_.push_back({0, newest - part.shape});
      } else {
        flatten(shapes, part.shape, newest);
      }
    }
    if (shape == newest) ++newest;
  }
  // Costs less than to say that it is known, and nests of one form stay of one.
  static bool is_simple(const Shape& shape) noexcept {
    return shape.depth == 1 && shape.leaves == 1;
  }

  template <class Coder>
  void code_loop(Coder& coder, unsigned depth, Budget& budget) {
    Node node{1, 0};
    if constexpr (Coder::kWrites) node = form_[node_];
    const std::uint64_t parts = parts_.code(coder, node.parts);
    if (parts == 0 || depth > patterns::kMaxLoopDepth) coder.fail();
    if (!budget.take(coder, parts, 2)) return;
    if constexpr (!Coder::kWrites) form_.push_back({static_cast<std::uint32_t>(parts), 0});
    ++node_;
    for (std::uint64_t p = 0; p < parts && !coder.failed(); ++p) {
      if constexpr (Coder::kWrites) node = form_[node_];
      const unsigned context = (depth > 2 ? 2U : depth - 1) + (parts > 1 ? 3U : 0U);
      if (!coder.bit(inner_[context], node.parts != 0 || node.known != 0)) {
        if constexpr (!Coder::kWrites) form_.push_back({0, 0});
        ++node_;
      } else if (coder.bit(inner_known_[p > 0 ? 1 : 0], node.known != 0)) {
        const std::uint64_t back = inner_shape_.code(coder, node.known);
        if (back == 0 || back > UINT32_MAX) return coder.fail();
        if constexpr (!Coder::kWrites) form_.push_back({0, static_cast<std::uint32_t>(back)});
        ++node_;
      } else {
        code_loop(coder, depth + 1, budget);
      }
    }
  }

  // A loop of which the first leaf is known; `leaf`: where that is, then the place of the next
  // part's.
  template <class Coder>
  Reach code_part(Coder& coder, Shapes& shapes, TermList& list, std::size_t& leaf, ShapePart& part,
                  std::uint32_t& next, unsigned depth, RecentNumbers& recent, Budget& budget,
                  Spans& spans) {
    const std::uint32_t size = form_[node_++].parts;
    std::vector<ShapePart> parts(size, {1, 0, 0});
    std::vector<Extent> strides;
    if constexpr (Coder::kWrites) {
      parts = shapes[part.shape].parts;
      strides = shapes[part.shape].strides;
    }
    const std::size_t first = leaf;
    std::size_t part_leaf = first;
    Reach body, of_first;
    for (std::uint32_t p = 0; p < size; ++p) {
      if (p > 0) code_leaf(coder, list, leaf, part_leaf, first, body, spans, recent, budget);
      if (coder.failed()) return {};
      part_leaf = leaf;
      const std::uint64_t from =
          unsigned_of(list.leaves[leaf].offset) - unsigned_of(list.leaves[first].offset);
      const Node node = form_[node_];
      Reach reach;
      if (node.parts != 0) {
        reach =
            code_part(coder, shapes, list, leaf, parts[p], next, depth + 1, recent, budget, spans);
      } else if (++node_; node.known != 0) {
        if (node.known >= next) coder.fail();
        if (coder.failed()) return {};
        parts[p].shape = next - node.known;
        if (shapes[parts[p].shape].depth + depth > patterns::kMaxLoopDepth) coder.fail();
        reach = code_known(coder, shapes, list, leaf, parts[p], recent, budget, spans);
      } else {
        reach.on = reach.end = unsigned_of(list.leaves[leaf++].length);
        spans.add(reach.end);
      }
      if (coder.failed()) return {};
      if (p == 0) of_first = reach;
      body = {from + reach.on, from + reach.end};
    }
    if (size > 1) spans.add(body.end);
    strides.resize(leaf - first);
    if (!budget.take(coder, strides.size(), 2)) return {};
    code_strides(coder, strides, size > 1 ? body.end : of_first.on,
                 size > 1 ? of_first.on : body.end, spans, recent);
    code_count(coder, part.count, recent);
    if (coder.failed()) return {};
    const Reach reach =
        reach_of_loop(body, part.count, strides.front(), strides[part_leaf - first]);
    spans.add(reach.on);
    if constexpr (!Coder::kWrites) {
      part.shape = shapes.intern(std::move(parts), std::move(strides));
    }
    // Numbered as they are met: the writer interned them all before, inner ones first.
    if (part.shape > next) coder.fail();
    if (part.shape == next) ++next;
    return reach;
  }

  // A loop of a known shape in a new one: its further leaves and its count.
  template <class Coder>
  Reach code_known(Coder& coder, const Shapes& shapes, TermList& list, std::size_t& leaf,
                   ShapePart& part, RecentNumbers& recent, Budget& budget, Spans& spans) {
    const std::size_t first = leaf;
    const std::uint32_t leaves = shapes[part.shape].leaves;
    for (++leaf; leaf - first < leaves && !coder.failed(); ++leaf) {
      const std::uint64_t length = unsigned_of(list.leaves[leaf - 1].length);
      code_leaf(coder, list, leaf, leaf - 1, leaf - 1, {length, length}, spans, recent, budget);
    }
    code_count(coder, part.count, recent);
    if (coder.failed()) return {};
    return reach_of(shapes, part, list.leaves.data() + first, spans);
  }

  template <class Coder>
  void code_count(Coder& coder, std::uint64_t& count, RecentNumbers& recent) {
    const std::uint64_t like = like_or(last_count_);
    count = last_count_ = met(models().counts.code(coder, count, {like, last_count_}, recent));
    if (count == 0) coder.fail();
  }

  // The leaf at `leaf`, from the one at `before`; of the body that begins at `first`, so much is
  // covered.
  template <class Coder>
  void code_leaf(Coder& coder, TermList& list, std::size_t leaf, std::size_t before,
                 std::size_t first, const Reach& covered, const Spans& spans, RecentNumbers& recent,
                 Budget& budget) {
    if (!budget.take(coder, 1)) return;
    if constexpr (!Coder::kWrites) list.leaves.push_back({});
    Extent& made = list.leaves[leaf];
    const Extent at = list.leaves[before];
    const std::uint64_t from = unsigned_of(at.offset);
    const std::uint64_t end = unsigned_of(list.leaves[first].offset) + covered.end - from;
    const std::uint64_t step =
        met(models().steps.code(coder, unsigned_of(made.offset) - from,
                                {end, like_or(end), last_step_, 0}, spans, streams_, recent));
    last_step_ = step;
    made.offset = signed_of(from + step);
    const std::uint64_t length = unsigned_of(at.length);
    made.length = signed_of(met(
        models().lengths.code(coder, unsigned_of(made.length), {like_or(length), length}, recent)));
  }

  template <class Coder>
  void code_strides(Coder& coder, std::vector<Extent>& strides, std::uint64_t guess,
                    std::uint64_t other, const Spans& spans, RecentNumbers& recent) {
    for (std::size_t l = 0; l < strides.size() && !coder.failed(); ++l) {
      const Extent before = l == 0 ? Extent{} : strides[l - 1];
      const std::uint64_t offset = unsigned_of(strides[l].offset);
      const std::uint64_t length = unsigned_of(strides[l].length);
      const std::uint64_t same = unsigned_of(before.offset);
      const std::uint64_t even = unsigned_of(before.length);
      strides[l].offset = signed_of(
          met(l == 0 ? models().strides.code(coder, offset, {like_or(guess), guess, other, 0},
                                             spans, streams_, recent)
                     : further_strides_.code(coder, offset, {same, like_or(same)}, recent)));
      strides[l].length =
          signed_of(met(length_strides_.code(coder, length, {even, like_or(even)}, recent)));
    }
  }

  // What the number at this place is if nests of the form go on in even steps.
  std::uint64_t like_or(std::uint64_t other) const noexcept {
    const KnownForm& form = forms_[like_];
    return number_ < form.numbers.size() ? form.numbers[number_] + form.steps[number_] : other;
  }
  std::uint64_t met(std::uint64_t number) {
    KnownForm& form = forms_[like_];
    if (number_ == form.numbers.size()) {
      form.numbers.push_back(number);
      form.steps.push_back(0);
    } else {
      form.steps[number_] = number - form.numbers[number_];
      form.numbers[number_] = number;
    }
    ++number_;
    return number;
  }

  Form form_;
  std::vector<KnownForm> forms_;  // the newest last
  std::size_t node_ = 0, number_ = 0, like_ = 0;
  bool has_like_ = false;
  std::uint64_t streams_ = 1, last_count_ = 0, last_step_ = 0;

  Bit again_;
  Number back_, parts_, inner_shape_;
  std::array<Bit, 6> inner_{Bit(),        Bit::rare(3), Bit::rare(4),
                            Bit::rare(4), Bit::rare(6), Bit::rare(8)};
  std::array<Bit, 2> inner_known_{Bit::rare(8), Bit::rare(2)};
  // Of nests of a form that was met, or was not. Made when they are needed: seven thousand bytes.
  struct Models {
    Value counts{expected::kCount};
    Value lengths;
    RelatedValue steps, strides;
  };
  Models& models() {
    std::unique_ptr<Models>& made = models_[has_like_ ? 1 : 0];
    if (!made) made = std::make_unique<Models>();
    return *made;
  }
  std::array<std::unique_ptr<Models>, 2> models_;
  Value further_strides_{expected::kBytes, Bit::frequent(4)};
  Value length_strides_{expected::kBytes, Bit::frequent(12)};
};

}  // namespace iotune::analyzer::pattern_log
