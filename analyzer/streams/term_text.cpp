#include "analyzer/streams/term_text.h"

#include <algorithm>
#include <stdexcept>

#include "analyzer/pattern_log/find_terms.h"
#include "patterns/tuple_bytes.h"

namespace iotune::analyzer {
namespace {

using pattern_log::Shape;
using pattern_log::ShapePart;
using pattern_log::Shapes;
using pattern_log::ShapeTerm;
using patterns::Extent;

// A body of more parts is cut in the text.
constexpr std::size_t kShownParts = 12;

bool one_stride(const Shape& shape) {
  return std::all_of(shape.strides.begin(), shape.strides.end(),
                     [&](const Extent& stride) { return stride == shape.strides.front(); });
}

class Writer {
 public:
  Writer(const Shapes& shapes, const TermTextOptions& options)
      : shapes_(shapes), options_(options) {}

  // `leaves`: those of the term.
  void add(std::uint64_t count, std::uint32_t index, const Extent* leaves) {
    if (index == 0) {
      access(*leaves, 0);
      return;
    }
    loop(count, index, leaves, 0);
  }
  void text(const std::string& words) { text_ += words; }
  std::string take() { return std::move(text_); }

 private:
  void loop(std::uint64_t count, std::uint32_t index, const Extent* leaves, std::size_t leaf) {
    const Shape& shape = shapes_[index];
    const bool block = one_stride(shape);
    if (!block) own_.push_back({&shape, leaf});
    text_ += std::to_string(count);
    text_ += "×{";
    for (std::size_t p = 0; p < shape.parts.size(); ++p) {
      if (p > 0) text_ += ' ';
      if (p == kShownParts) {
        text_ += "… " + std::to_string(shape.parts.size() - p) + " more";
        break;
      }
      const ShapePart& part = shape.parts[p];
      if (part.shape == 0) {
        access(leaves[part.first_leaf], leaf + part.first_leaf);
      } else {
        loop(part.count, part.shape, leaves + part.first_leaf, leaf + part.first_leaf);
      }
    }
    if (block) {
      text_ += "; ";
      stride(shape.strides.front());
    } else {
      own_.pop_back();
    }
    text_ += '}';
  }

  // `leaf`: its number among the term's.
  void access(const Extent& at, std::size_t leaf) {
    const auto place = static_cast<std::int64_t>(static_cast<std::uint64_t>(at.offset) -
                                                 static_cast<std::uint64_t>(options_.origin));
    if (!options_.offsets_only) text_ += '(';
    text_ += std::to_string(place);
    if (!options_.offsets_only) text_ += ',' + std::to_string(at.length);
    for (const Own& own : own_) {
      text_ += "; ";
      stride(own.shape->strides[leaf - own.first_leaf]);
    }
    if (!options_.offsets_only) text_ += ')';
  }

  void stride(const Extent& by) {
    if (by.length == 0 || options_.offsets_only) {
      text_ += (by.offset < 0 ? "" : "+") + std::to_string(by.offset);
    } else {
      text_ += "+(" + std::to_string(by.offset) + ',' + std::to_string(by.length) + ')';
    }
  }

  // A loop around of which each access has a stride of its own.
  struct Own {
    const Shape* shape;
    std::size_t first_leaf;
  };
  const Shapes& shapes_;
  const TermTextOptions& options_;
  std::vector<Own> own_;
  std::string text_;
};

}  // namespace

std::string term_text(const Shapes& shapes, const pattern_log::TermList& list,
                      const TermTextOptions& options) {
  Writer writer(shapes, options);
  const Extent* leaves = list.leaves.data();
  for (std::size_t t = 0; t < list.terms.size(); ++t) {
    if (t > 0) writer.text(" ");
    if (t == options.shown) {
      writer.text("… " + std::to_string(list.terms.size() - t) + " more");
      break;
    }
    const ShapeTerm& term = list.terms[t];
    writer.add(term.count, term.shape, leaves);
    leaves += shapes[term.shape].leaves;
  }
  return writer.take();
}

std::uint64_t accesses_of(const Shapes& shapes, const pattern_log::TermList& list) {
  std::uint64_t sum = 0;
  for (const ShapeTerm& term : list.terms) {
    sum += term.shape == 0 ? 1 : term.count * shapes[term.shape].rows;
  }
  return sum;
}

Nests find_nests(std::span<const Extent> accesses, std::size_t shown_atoms) {
  const std::size_t n = accesses.size();
  if (n > patterns::kMaxTuples) throw std::length_error("too many accesses in one sequence");
  if (n == 0) return {{}, 0};
  constexpr unsigned kDims = 2;
  const std::span<const std::int64_t> values(reinterpret_cast<const std::int64_t*>(accesses.data()),
                                             n * kDims);
  std::vector<std::byte> scratch(patterns::scratch_bytes(n, kDims));
  std::vector<std::byte> bytes(patterns::plain_bytes(values, n, kDims) + 1);
  patterns::ByteWriter writer(bytes);
  if (!patterns::encode_tuples(values, n, kDims, scratch, writer)) {
    throw std::logic_error("an encoding does not fit where it must");
  }
  Shapes shapes;
  pattern_log::TermList all;
  if (bytes.front() == std::byte{patterns::kModeTerms}) {
    all = pattern_log::all_terms(accesses, shapes);
  } else {
    all.terms.assign(n, {1, 0});
    all.leaves.assign(accesses.begin(), accesses.end());
  }
  Nests found{{}, writer.bytes_used()};
  auto leaf = all.leaves.begin();
  for (auto term = all.terms.begin(); term != all.terms.end();) {
    const auto next =
        std::find_if(term, all.terms.end(), [](const ShapeTerm& one) { return one.shape != 0; });
    const auto end = next == term ? term + 1 : next;
    const auto leaves = next == term ? shapes[term->shape].leaves : end - term;
    const pattern_log::TermList unit{{term, end}, {leaf, leaf + leaves}};
    found.terms.push_back(
        {term_text(shapes, unit, {.shown = shown_atoms}), accesses_of(shapes, unit)});
    term = end;
    leaf += leaves;
  }
  return found;
}

}  // namespace iotune::analyzer
