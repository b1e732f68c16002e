#include "analyzer/datasets/nest_text.h"

#include <algorithm>
#include <stdexcept>

#include "patterns/loop_terms.h"
#include "patterns/tuple_loops.h"

namespace iotune::analyzer {
namespace {

using patterns::Extent;
using patterns::Term;
using patterns::TermTree;

constexpr unsigned kDims = 2;
static_assert(sizeof(Extent) == kDims * sizeof(std::int64_t));

Extent sum(Extent base, const std::int64_t* values) {
  const auto plus = [](std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  };
  return {plus(base.offset, values[0]), plus(base.length, values[1])};
}

class TextOf {
 public:
  TextOf(const TermTree& tree, std::size_t shown_atoms) : tree_(tree), shown_(shown_atoms) {}

  std::string operator()(const Term& term) {
    text_.clear();
    add(term, {0, 0});
    return std::move(text_);
  }

 private:
  void number(std::int64_t value) { text_ += std::to_string(value); }

  void stride(const std::int64_t* values) {
    text_ += values[0] < 0 ? "" : "+";
    if (values[1] == 0) {
      number(values[0]);
      return;
    }
    if (values[0] < 0) text_ += '+';
    text_ += '(';
    number(values[0]);
    text_ += ',';
    number(values[1]);
    text_ += ')';
  }

  // Of the item-th of `items` leaves, one for each loop around that has no stride of its own.
  void own_strides(const Term& term, std::size_t item, std::size_t items) {
    for (unsigned level = 0; term.own_strides != nullptr && level < term.levels; ++level) {
      text_ += "; ";
      stride(term.own_strides + (level * items + item) * kDims);
    }
  }

  void add(const Term& term, Extent base) {
    if (term.kind == Term::Kind::kAtoms) {
      atoms(term, base);
      return;
    }
    const Extent start = sum(base, term.values);
    number(term.count);
    text_ += "×{";
    bool first = true;
    for (const Term* part = tree_.first_child(term); part != nullptr; part = tree_.next(*part)) {
      if (!first) text_ += ' ';
      first = false;
      add(*part, start);
    }
    if (term.stride != nullptr) {
      text_ += "; ";
      stride(term.stride);
    }
    text_ += '}';
    own_strides(term, 0, 1);
  }

  void atoms(const Term& run, Extent base) {
    const std::size_t shown = std::min<std::size_t>(run.count, shown_);
    for (std::size_t k = 0; k < shown; ++k) {
      const Extent place = sum(base, run.values + k * kDims);
      text_ += k == 0 ? "(" : " (";
      number(place.offset);
      text_ += ',';
      number(place.length);
      own_strides(run, k, run.count);
      text_ += ')';
    }
    if (shown == run.count) return;
    text_ += " … ";
    text_ += std::to_string(run.count - shown);
    text_ += " more";
  }

  const TermTree& tree_;
  std::size_t shown_;
  std::string text_;
};

}  // namespace

Nests find_nests(std::span<const Extent> accesses, std::size_t shown_atoms) {
  const std::size_t n = accesses.size();
  if (n > patterns::kMaxTuples) throw std::length_error("too many accesses in one sequence");
  if (n == 0) return {{}, 0};
  const std::span<const std::int64_t> values(reinterpret_cast<const std::int64_t*>(accesses.data()),
                                             n * kDims);
  std::vector<std::byte> scratch(patterns::scratch_bytes(n, kDims));
  std::vector<std::byte> bytes(patterns::plain_bytes(values, n, kDims) + 1);
  patterns::ByteWriter writer(bytes);
  if (!patterns::encode_tuples(values, n, kDims, scratch, writer)) {
    throw std::logic_error("an encoding does not fit where it must");
  }
  patterns::ByteReader reader(writer.written());
  patterns::TermSpace space;
  if (!patterns::measure_terms(reader, n, kDims, space)) {
    throw std::logic_error("an encoding cannot be read back");
  }
  std::vector<Term> terms(space.terms);
  std::vector<std::int64_t> term_values(space.values);
  TermTree tree;
  if (!patterns::read_terms(reader, n, kDims, terms, term_values, tree)) {
    throw std::logic_error("an encoding cannot be read back");
  }
  Nests found{{}, writer.bytes_used()};
  TextOf text(tree, shown_atoms);
  for (const Term* term = tree.first(); term != nullptr; term = tree.next(*term)) {
    found.terms.push_back({text(*term), term->rows});
  }
  return found;
}

}  // namespace iotune::analyzer
