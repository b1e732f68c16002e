#include "patterns/loop_terms.h"

#include "patterns/tuple_bytes.h"

namespace iotune::patterns {
namespace {

constexpr std::uint32_t kAnyNumber = UINT32_MAX;

// One pass over the bytes, used twice: without arrays it only counts.
class TreeReader {
 public:
  TreeReader(ByteReader& in, unsigned dims, std::span<Term> terms,
             std::span<std::int64_t> values) noexcept
      : in_(in), dims_(dims), build_(true), terms_(terms), values_(values) {}
  TreeReader(ByteReader& in, unsigned dims) noexcept : in_(in), dims_(dims), build_(false) {}

  bool read(std::uint32_t n) noexcept {
    const std::uint8_t mode = in_.u8();
    if (in_.failed()) return false;
    if (mode == kModePlain) return plain(n);
    std::uint64_t first[kMaxDims];
    std::uint32_t rows = 0;
    std::uint32_t head = 0;
    return mode == kModeTerms && n != 0 && dims_ != 0 && read_head(in_, dims_, active_, first) &&
           list(first, n, kAnyNumber, 0, head, rows) && rows == n;
  }

  TermSpace used() const noexcept { return {term_count_, value_count_}; }

 private:
  struct Definition {
    std::uint32_t rows;
    std::uint32_t first_child;
    const std::int64_t* stride;
  };

  bool plain(std::uint32_t n) noexcept {
    if (in_.bytes_left() < std::size_t{n} * dims_) return false;
    if (n == 0 || dims_ == 0) return true;
    std::uint64_t last[kMaxDims] = {};
    std::int64_t* to = nullptr;
    if (!take_values(std::size_t{n} * dims_, to)) return false;
    for (std::uint32_t i = 0; i < n; ++i) {
      for (unsigned j = 0; j < dims_; ++j) last[j] += static_cast<std::uint64_t>(in_.svarint());
      put(last, to);
    }
    std::uint32_t index = 0;
    return !in_.failed() && add({Term::Kind::kAtoms, n, n, Term::kNone, Term::kNone,
                                 build_ ? values_.data() : nullptr, nullptr},
                                index);
  }

  // Reads `parts` terms (or as many as make up `most_rows`). `place` holds the
  // first tuple of the first one, relative to the loop around, and is used up.
  bool list(std::uint64_t* place, std::uint32_t most_rows, std::uint32_t parts, unsigned depth,
            std::uint32_t& head, std::uint32_t& rows) noexcept {
    std::uint32_t last = Term::kNone;
    rows = 0;
    while (parts != 0 && (rows != most_rows || parts != kAnyNumber)) {
      const std::uint64_t code = in_.varint();
      if (in_.failed() || rows == most_rows) return false;
      std::uint32_t index = 0;
      std::uint32_t part = 1;
      std::uint32_t part_rows = 0;
      const bool first = last == Term::kNone;
      if (!is_loop_head(code)) {
        const std::uint64_t run = (code >> 1U) + 1;
        if (run > most_rows - rows || run > parts) return false;
        part = part_rows = static_cast<std::uint32_t>(run);
        if (!atoms(place, part, first, index)) return false;
      } else if (!loop(place, code >> 1U, most_rows - rows, first, depth, index, part_rows)) {
        return false;
      }
      if (first) {
        head = index;
      } else if (build_) {
        terms_[last].next = index;
      }
      last = index;
      rows += part_rows;
      if (parts != kAnyNumber) parts -= part;
    }
    return true;
  }

  bool atoms(std::uint64_t* place, std::uint32_t count, bool first_is_known,
             std::uint32_t& index) noexcept {
    std::int64_t* to = nullptr;
    if (!take_values(std::size_t{count} * dims_, to)) return false;
    const Term term{Term::Kind::kAtoms, count, count, Term::kNone, Term::kNone, to, nullptr};
    if (!add(term, index)) return false;
    if (first_is_known) put(place, to);
    Columns changed;
    const std::uint32_t coded = count - (first_is_known ? 1U : 0U);
    if (coded != 0) read_changed(in_, active_, changed);
    for (std::uint32_t k = 0; k < coded; ++k) {
      step(place, changed);
      put(place, to);
    }
    return !in_.failed();
  }

  bool loop(std::uint64_t* place, std::uint64_t reference, std::uint32_t most_rows,
            bool place_is_known, unsigned depth, std::uint32_t& index,
            std::uint32_t& rows) noexcept {
    const std::uint64_t count = in_.varint();
    if (count < 2 || count > most_rows) return false;
    const auto iterations = static_cast<std::uint32_t>(count);
    Columns changed;
    if (!place_is_known) {
      read_changed(in_, active_, changed);
      step(place, changed);
    }
    Term term{Term::Kind::kLoop, 0, iterations, Term::kNone, Term::kNone, nullptr, nullptr};
    std::int64_t* to = nullptr;
    if (!take_values(dims_, to)) return false;
    term.values = to;
    put(place, to);
    if (!add(term, index)) return false;
    Definition body{};
    if (reference == 0) {
      if (!define(most_rows / iterations, depth, body)) return false;
    } else {
      if (reference > defined_ || reference > kDefinitionWindow) return false;
      const auto back = static_cast<std::uint32_t>(reference);
      body = definitions_[(defined_ - back) % kDefinitionWindow];
      if (body.rows > most_rows / iterations) return false;
    }
    rows = body.rows * iterations;
    if (build_) {
      terms_[index].rows = rows;
      terms_[index].first_child = body.first_child;
      terms_[index].stride = body.stride;
    }
    return !in_.failed();
  }

  bool define(std::uint32_t most_rows, unsigned depth, Definition& body) noexcept {
    const std::uint64_t parts = in_.varint();
    if (parts == 0 || parts > most_rows || depth == kMaxLoopDepth) return false;
    std::uint64_t place[kMaxDims] = {};
    if (!list(place, most_rows, static_cast<std::uint32_t>(parts), depth + 1, body.first_child,
              body.rows)) {
      return false;
    }
    std::int64_t* to = nullptr;
    if (!take_values(dims_, to)) return false;
    body.stride = to;
    Columns changed;
    read_changed(in_, active_, changed);
    for (unsigned j = 0; j < dims_; ++j) place[j] = 0;
    step(place, changed);
    put(place, to);
    definitions_[defined_++ % kDefinitionWindow] = body;
    return true;
  }

  void step(std::uint64_t* place, const Columns& changed) noexcept {
    for (unsigned c = 0; c < changed.count; ++c) {
      place[changed.index[c]] += static_cast<std::uint64_t>(in_.svarint());
    }
  }

  void put(const std::uint64_t* tuple, std::int64_t*& to) const noexcept {
    if (!build_) return;
    for (unsigned j = 0; j < dims_; ++j) *to++ = static_cast<std::int64_t>(tuple[j]);
  }

  bool take_values(std::size_t count, std::int64_t*& to) noexcept {
    const std::size_t from = value_count_;
    value_count_ += count;
    if (!build_) return true;
    if (values_.size() - from < count) return false;
    to = values_.data() + from;
    return true;
  }

  bool add(const Term& term, std::uint32_t& index) noexcept {
    index = term_count_++;
    if (!build_) return true;
    if (index >= terms_.size()) return false;
    terms_[index] = term;
    return true;
  }

  ByteReader& in_;
  unsigned dims_;
  bool build_;
  std::span<Term> terms_;
  std::span<std::int64_t> values_;
  std::uint32_t term_count_ = 0;
  std::size_t value_count_ = 0;
  Columns active_;
  Definition definitions_[kDefinitionWindow];
  std::uint32_t defined_ = 0;
};

}  // namespace

bool measure_terms(ByteReader in, std::size_t n, unsigned dims, TermSpace& space) noexcept {
  if (n > kMaxTuples || dims > kMaxDims) return false;
  TreeReader reader(in, dims);
  if (!reader.read(static_cast<std::uint32_t>(n))) return false;
  space = reader.used();
  return true;
}

bool read_terms(ByteReader& in, std::size_t n, unsigned dims, std::span<Term> terms,
                std::span<std::int64_t> values, TermTree& tree) noexcept {
  tree = {};
  if (n <= kMaxTuples && dims <= kMaxDims) {
    TreeReader reader(in, dims, terms, values);
    if (reader.read(static_cast<std::uint32_t>(n))) {
      tree = {terms.first(reader.used().terms), n, dims};
      return true;
    }
  }
  in.fail();
  return false;
}

bool tuple_at(const TermTree& tree, std::size_t row, std::span<std::int64_t> tuple) noexcept {
  if (row >= tree.rows || tuple.size() < tree.dims) return false;
  const auto add = [&](const std::int64_t* values, std::size_t times) noexcept {
    for (unsigned j = 0; j < tree.dims; ++j) {
      const auto sum =
          static_cast<std::uint64_t>(tuple[j]) + static_cast<std::uint64_t>(values[j]) * times;
      tuple[j] = static_cast<std::int64_t>(sum);
    }
  };
  for (unsigned j = 0; j < tree.dims; ++j) tuple[j] = 0;
  const Term* term = tree.first();
  while (term != nullptr) {
    if (row >= term->rows) {
      row -= term->rows;
      term = tree.next(*term);
      continue;
    }
    if (term->kind == Term::Kind::kAtoms) {
      add(term->values + row * tree.dims, 1);
      return true;
    }
    const std::size_t iteration_rows = term->rows / term->count;
    add(term->values, 1);
    add(term->stride, row / iteration_rows);
    row %= iteration_rows;
    term = tree.first_child(*term);
  }
  return tree.dims == 0;
}

}  // namespace iotune::patterns
