#include "analyzer/pattern_log/coding/align_lists.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <unordered_set>
#include <utility>

#include "analyzer/pattern_log/channels.h"

namespace iotune::analyzer::pattern_log {
namespace {

// Longer lists are no cut loop.
constexpr std::size_t kMostTerms = 64;
constexpr std::uint64_t kMostWrittenOut = 8;  // iterations of a short loop
constexpr std::size_t kMostElements = 64;     // of a body
constexpr std::size_t kMostKinds = 256;
constexpr std::size_t kRecentTerms = 8;  // different ones of a channel, to be known again

// A term, or a part of a body in one iteration of it.
struct Element {
  ShapeTerm term;
  std::vector<Extent> leaves;
  std::vector<Extent> strides;  // of the loop that is aligned; empty outside of it
};
using Elements = std::vector<Element>;

// Terms, and parts of the bodies of loops, wherever they are.
using Kinds = std::vector<ShapeTerm>;
bool has_kind(const Kinds& kinds, const ShapeTerm& kind) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}
void add_kinds(const Shapes& shapes, const TermList& list, Kinds& kinds) {
  if (list.terms.size() > kMostTerms) return;
  const auto add = [&](const ShapeTerm& kind) {
    if (kinds.size() < kMostKinds && !has_kind(kinds, kind)) kinds.push_back(kind);
  };
  for (const ShapeTerm& term : list.terms) {
    add(term);
    for (const ShapePart& part : shapes[term.shape].parts) add({part.count, part.shape});
  }
}

class Aligner {
 public:
  // Short loops of such kinds are written out.
  Aligner(Shapes& shapes, const TermList& list, const Kinds& kinds)
      : shapes_(shapes), list_(list), kinds_(kinds) {}

  // The list as one loop. `cut`: only if there are terms beside the loop.
  std::optional<TermList> one_loop(bool cut) {
    const std::size_t size = list_.terms.size();
    if (size == 0 || size > kMostTerms || (cut && size == 1)) return std::nullopt;
    std::size_t main = 0;
    for (std::size_t t = 1; t < size; ++t) {
      if (rows_of(list_.terms[t]) > rows_of(list_.terms[main])) main = t;
    }
    const ShapeTerm loop = list_.terms[main];
    if (loop.shape == 0) return std::nullopt;
    // Most lists are no such loop: that is known before anything is copied.
    std::size_t period = 0;
    for (const ShapePart& part : shapes_[loop.shape].parts) {
      period += written_out({part.count, part.shape});
    }
    std::size_t beside = 0;
    for (std::size_t t = 0; t < size; ++t) {
      if (t != main) beside += written_out(list_.terms[t]);
    }
    if (period == 0 || period > kMostElements || beside % period != 0) return std::nullopt;
    if (beside == 0 && period == shapes_[loop.shape].parts.size()) return std::nullopt;
    collect(main);
    write_out(before_);
    write_out(body_);
    write_out(after_);
    for (std::size_t i = 0; i < before_.size(); ++i) {
      // Iterations are counted from the loop's first; these are before it, modulo 2^64.
      const std::size_t back = before_.size() - i;
      const std::size_t iterations = (back + period - 1) / period;
      if (!belongs(before_[i], iterations * period - back, 0 - std::uint64_t{iterations})) {
        return std::nullopt;
      }
    }
    for (std::size_t i = 0; i < after_.size(); ++i) {
      if (!belongs(after_[i], i % period, loop.count + i / period)) return std::nullopt;
    }
    return joined(loop.count + beside / period);
  }

 private:
  std::uint64_t rows_of(const ShapeTerm& term) const {
    return shapes_[term.shape].rows * term.count;
  }

  void collect(std::size_t main) {
    const Extent* leaf = list_.leaves.data();
    for (std::size_t t = 0; t < list_.terms.size(); ++t) {
      const ShapeTerm& term = list_.terms[t];
      const Shape& shape = shapes_[term.shape];
      if (t == main) {
        for (const ShapePart& part : shape.parts) {
          const std::uint32_t leaves = shapes_[part.shape].leaves;
          const Extent* const stride = shape.strides.data() + part.first_leaf;
          body_.push_back({{part.count, part.shape},
                           {leaf + part.first_leaf, leaf + part.first_leaf + leaves},
                           {stride, stride + leaves}});
        }
      } else {
        (t < main ? before_ : after_).push_back({term, {leaf, leaf + shape.leaves}, {}});
      }
      leaf += shape.leaves;
    }
  }

  // A short loop of what also stands alone.
  bool is_short(const ShapeTerm& term) const {
    if (term.shape == 0 || term.count > kMostWrittenOut) return false;
    const std::vector<ShapePart>& parts = shapes_[term.shape].parts;
    return std::all_of(parts.begin(), parts.end(), [&](const ShapePart& part) {
      return has_kind(kinds_, {part.count, part.shape});
    });
  }
  // How many elements write_out() makes of it.
  std::size_t written_out(const ShapeTerm& term) const {
    return is_short(term) ? shapes_[term.shape].parts.size() * term.count : 1;
  }
  void write_out(Elements& elements) const {
    Elements out;
    for (Element& element : elements) {
      const Shape& shape = shapes_[element.term.shape];
      if (!is_short(element.term)) {
        out.push_back(std::move(element));
        continue;
      }
      for (std::uint64_t i = 0; i < element.term.count; ++i) {
        for (const ShapePart& part : shape.parts) {
          Element& made = out.emplace_back();
          made.term = {part.count, part.shape};
          const std::uint32_t end = part.first_leaf + shapes_[part.shape].leaves;
          for (std::uint32_t l = part.first_leaf; l < end; ++l) {
            made.leaves.push_back(moved(element.leaves[l], shape.strides[l], i));
            if (!element.strides.empty()) made.strides.push_back(element.strides[l]);
          }
        }
      }
    }
    elements = std::move(out);
  }

  bool belongs(const Element& element, std::size_t place, std::uint64_t iteration) const {
    const Element& in = body_[place];
    if (in.term != element.term) return false;
    for (std::size_t l = 0; l < in.leaves.size(); ++l) {
      const Extent at = moved(in.leaves[l], in.strides[l], iteration);
      if (!(at == element.leaves[l])) return false;
    }
    return true;
  }

  // The loop from the list's first element on.
  TermList joined(std::uint64_t count) {
    const std::size_t period = body_.size();
    const std::size_t begin = (period - before_.size() % period) % period;
    const std::uint64_t iterations = (before_.size() + period - 1) / period;
    std::vector<ShapePart> parts;
    std::vector<Extent> strides;
    TermList made;
    for (std::size_t i = 0; i < period; ++i) {
      const std::size_t place = (begin + i) % period;
      const Element& in = body_[place];
      const std::uint64_t iteration = (begin + i) / period - iterations;
      parts.push_back({in.term.count, in.term.shape, 0});
      strides.insert(strides.end(), in.strides.begin(), in.strides.end());
      for (std::size_t l = 0; l < in.leaves.size(); ++l) {
        made.leaves.push_back(moved(in.leaves[l], in.strides[l], iteration));
      }
    }
    made.terms.push_back({count, shapes_.intern(std::move(parts), std::move(strides))});
    return made;
  }

  Shapes& shapes_;
  const TermList& list_;
  const Kinds& kinds_;
  Elements before_, body_, after_;
};

std::size_t forms_of(const Shapes& shapes, const std::vector<Piece>& pieces,
                     const std::vector<std::size_t>& of,
                     const std::vector<std::optional<TermList>>& instead) {
  std::unordered_set<std::uint64_t> forms;
  for (const std::size_t i : of) {
    const TermList& list = !instead.empty() && instead[i] ? *instead[i] : pieces[i].list;
    forms.insert(form_hash(shapes, list) * 64 + pieces[i].channel);
  }
  return forms.size();
}

// The first pieces of each channel with such terms; perhaps some more.
std::vector<std::size_t> different_terms(const std::vector<Piece>& pieces) {
  std::vector<std::size_t> different;
  std::array<std::array<std::size_t, kRecentTerms>, kChannels> recent{};
  std::array<std::size_t, kChannels> met{};
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::uint32_t channel = pieces[i].channel;
    const auto begin = recent[channel].begin();
    const auto end = begin + static_cast<std::ptrdiff_t>(std::min(met[channel], kRecentTerms));
    const bool again = std::any_of(begin, end, [&](std::size_t before) {
      return pieces[before].list.terms == pieces[i].list.terms;
    });
    if (again) continue;
    recent[channel][met[channel]++ % kRecentTerms] = i;
    different.push_back(i);
  }
  return different;
}

}  // namespace

void join_cut_loop(Shapes& shapes, TermList& list) {
  if (list.terms.size() < 2) return;
  Kinds kinds;
  add_kinds(shapes, list, kinds);
  std::optional<TermList> aligned = Aligner(shapes, list, kinds).one_loop(true);
  if (aligned && aligned->leaves.size() <= list.leaves.size()) list = std::move(*aligned);
}

void align_lists(Shapes& shapes, std::vector<Piece>& pieces) {
  if (shapes.size() == 1) return;
  for (Piece& piece : pieces) {
    if (!piece.joined) join_cut_loop(shapes, piece.list);
  }
  if (pieces.size() < 2) return;
  // Ranks that are alike have equal terms: one of each tells whether it is worth while.
  const std::vector<std::size_t> different = different_terms(pieces);
  Kinds kinds;
  for (const std::size_t i : different) add_kinds(shapes, pieces[i].list, kinds);
  std::vector<std::optional<TermList>> written_out(pieces.size());
  const auto write_out = [&](std::size_t i) {
    written_out[i] = Aligner(shapes, pieces[i].list, kinds).one_loop(false);
  };
  for (const std::size_t i : different) write_out(i);
  const std::size_t forms = forms_of(shapes, pieces, different, {});
  if (forms == 1 || 2 * forms_of(shapes, pieces, different, written_out) > forms) return;
  std::vector<std::size_t> all(pieces.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  for (const std::size_t i : all) write_out(i);
  if (2 * forms_of(shapes, pieces, all, written_out) > forms) return;
  for (const std::size_t i : all) {
    if (written_out[i]) pieces[i].list = std::move(*written_out[i]);
  }
}

}  // namespace iotune::analyzer::pattern_log
