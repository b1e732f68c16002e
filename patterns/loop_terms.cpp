#include "patterns/loop_terms.h"

#include "patterns/packed_columns.h"
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
    if (mode == kModePacked) return packed(n);
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
    return !in_.failed() && add_all_atoms(n);
  }

  bool packed(std::uint32_t n) noexcept {
    std::int64_t* to = nullptr;
    if (n == 0 || dims_ == 0 || !take_values(std::size_t{n} * dims_, to)) return false;
    read_packed(in_, n, dims_, reinterpret_cast<std::uint64_t*>(to));
    return !in_.failed() && add_all_atoms(n);
  }

  bool add_all_atoms(std::uint32_t n) noexcept {
    Term term;
    term.rows = term.count = n;
    term.values = build_ ? values_.data() : nullptr;
    std::uint32_t index = 0;
    return add(term, index);
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
    Term term;
    term.levels = static_cast<std::uint8_t>(levels_);
    term.rows = term.count = count;
    term.values = to;
    if (first_is_known) put(place, to);
    Columns changed;
    const std::uint32_t coded = count - (first_is_known ? 1U : 0U);
    if (coded != 0) read_changed(in_, active_, changed);
    for (std::uint32_t k = 0; k < coded; ++k) {
      step(place, changed);
      put(place, to);
    }
    return own_strides(count, term.own_strides) && add(term, index);
  }

  // `count` vectors for each loop around that does not have one stride.
  bool own_strides(std::uint32_t count, const std::int64_t*& strides) noexcept {
    if (levels_ == 0) return !in_.failed();
    std::int64_t* to = nullptr;
    if (!take_values(std::size_t{count} * dims_ * levels_, to)) return false;
    strides = to;
    Columns changed;
    for (unsigned level = 0; level < levels_; ++level) {
      read_changed(in_, active_, changed);
      for (std::uint32_t k = 0; k < count; ++k) vector(changed, to);
    }
    return !in_.failed();
  }

  void vector(const Columns& changed, std::int64_t*& to) noexcept {
    std::uint64_t sum[kMaxDims] = {};
    step(sum, changed);
    put(sum, to);
  }

  bool loop(std::uint64_t* place, std::uint64_t reference, std::uint32_t most_rows,
            bool place_is_known, unsigned depth, std::uint32_t& index,
            std::uint32_t& rows) noexcept {
    const std::uint64_t count = in_.varint();
    if (count < 2 || count > most_rows) return false;
    if (!place_is_known) {
      Columns changed;
      read_changed(in_, active_, changed);
      step(place, changed);
    }
    std::int64_t* to = nullptr;
    if (!take_values(dims_, to)) return false;
    Term term;
    term.kind = Term::Kind::kLoop;
    term.repeated = reference != 0;
    term.levels = static_cast<std::uint8_t>(levels_);
    term.count = static_cast<std::uint32_t>(count);
    term.values = to;
    put(place, to);
    if (!add(term, index)) return false;
    Definition body{};
    if (reference == 0) {
      if (!define(most_rows / term.count, depth, body)) return false;
    } else {
      if (reference > defined_ || reference > kDefinitionWindow) return false;
      const auto back = static_cast<std::uint32_t>(reference);
      body = definitions_[(defined_ - back) % kDefinitionWindow];
      if (body.rows > most_rows / term.count) return false;
      if (!own_strides(1, term.own_strides)) return false;
    }
    rows = term.rows = body.rows * term.count;
    term.first_child = body.first_child;
    term.stride = body.stride;
    if (build_) terms_[index] = term;
    return !in_.failed();
  }

  bool define(std::uint32_t most_rows, unsigned depth, Definition& body) noexcept {
    const std::uint64_t head = in_.varint();
    const std::uint64_t parts = head >> 1U;
    if (parts == 0 || parts > most_rows || depth == kMaxLoopDepth) return false;
    const bool own = (head & 1U) != 0;
    if (own) {
      const std::uint64_t said = in_.varint();
      if (said == 0 || said > most_rows) return false;
      most_rows = static_cast<std::uint32_t>(said);
      ++levels_;
    }
    std::uint64_t place[kMaxDims] = {};
    if (!list(place, most_rows, static_cast<std::uint32_t>(parts), depth + 1, body.first_child,
              body.rows)) {
      return false;
    }
    if (own) {
      --levels_;
      if (body.rows != most_rows) return false;
    } else {
      std::int64_t* to = nullptr;
      if (!take_values(dims_, to)) return false;
      body.stride = to;
      Columns changed;
      read_changed(in_, active_, changed);
      vector(changed, to);
    }
    definitions_[defined_++ % kDefinitionWindow] = body;
    return !in_.failed();
  }

  void step(std::uint64_t* place, const Columns& changed) noexcept {
    for (unsigned c = 0; c < changed.count; ++c) {
      place[changed.index[c]] += static_cast<std::uint64_t>(in_.svarint());
    }
  }

  void put(const std::uint64_t* tuple, std::int64_t*& to) const noexcept {
    if (to == nullptr) return;
    // The first dims_ values of `tuple` are set by every caller; the analyzer does not see it.
    for (unsigned j = 0; j < dims_; ++j) {
      *to++ = static_cast<std::int64_t>(tuple[j]);  // NOLINT(clang-analyzer-core.uninitialized.*)
    }
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
  unsigned levels_ = 0;  // loops around without one stride
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
  // Iterations of the loops around that left the strides to their terms.
  std::size_t iterations[kMaxLoopDepth + 1] = {};
  const Term* term = tree.first();
  while (term != nullptr) {
    if (row >= term->rows) {
      row -= term->rows;
      term = tree.next(*term);
      continue;
    }
    const bool is_atom = term->kind == Term::Kind::kAtoms;
    const std::size_t vectors = is_atom ? term->count : 1;
    const std::size_t place = is_atom ? row : 0;
    add(term->values + place * tree.dims, 1);
    for (unsigned level = 0; level < term->levels && term->own_strides != nullptr; ++level) {
      add(term->own_strides + (level * vectors + place) * tree.dims, iterations[level]);
    }
    if (is_atom) return true;
    const std::size_t iteration_rows = term->rows / term->count;
    const Term* child = tree.first_child(*term);
    const unsigned around = child->levels - (term->stride == nullptr ? 1U : 0U);
    if (term->repeated) {
      for (unsigned level = 0; level < around; ++level) iterations[level] = 0;
    }
    if (term->stride == nullptr) {
      iterations[around] = row / iteration_rows;
    } else {
      add(term->stride, row / iteration_rows);
    }
    row %= iteration_rows;
    term = child;
  }
  return tree.dims == 0;
}

}  // namespace iotune::patterns
