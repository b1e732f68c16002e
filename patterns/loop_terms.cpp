#include "patterns/loop_terms.h"

#include "patterns/term_parser.h"

namespace iotune::patterns {
namespace {

// Makes a tree of terms; without arrays it only counts what that takes.
class TreeSink {
 public:
  struct List {
    std::uint64_t place[kMaxDims];  // of the last term, relative to the loop around
    std::uint32_t head = Term::kNone, last = Term::kNone;
  };
  struct Body {
    std::uint32_t rows;
    std::uint32_t first_child;
    const std::int64_t* stride;
  };

  TreeSink(ByteReader& in, unsigned dims) noexcept : in_(in), dims_(dims), build_(false) {}
  TreeSink(ByteReader& in, unsigned dims, std::span<Term> terms,
           std::span<std::int64_t> values) noexcept
      : in_(in), dims_(dims), build_(true), terms_(terms), values_(values) {}

  TermSpace used() const noexcept { return {term_count_, value_count_}; }

  bool take_all(std::uint32_t rows, std::uint64_t*& to) noexcept {
    List all = inner(0);
    if (!begin_atoms(all, rows, 0, false)) return false;
    to = reinterpret_cast<std::uint64_t*>(to_);
    return true;
  }
  List outermost(const std::uint64_t* first) noexcept {
    List items = inner(0);
    for (unsigned j = 0; j < dims_; ++j) items.place[j] = first[j];
    return items;
  }
  List inner(std::uint32_t /*row*/) noexcept { return {.place = {}}; }

  bool begin_atoms(List& items, std::uint32_t count, unsigned levels,
                   bool first_is_known) noexcept {
    if (!take_values(std::size_t{count} * dims_)) return false;
    Term term;
    term.levels = static_cast<std::uint8_t>(levels);
    term.rows = term.count = count;
    term.values = to_;
    if (first_is_known) put(items.place);
    return add(items, term);
  }
  void atom(List& items, std::uint32_t /*row*/, const Columns& changed) noexcept {
    step(items.place, changed);
    put(items.place);
  }
  // Of the term that was added last.
  bool begin_own_strides(std::uint32_t vectors) noexcept {
    if (!take_values(std::size_t{vectors} * dims_)) return false;
    if (build_) terms_[term_count_ - 1].own_strides = to_;
    return true;
  }
  void own_stride(std::uint32_t, std::uint32_t, const Columns& changed) noexcept {
    vector(changed);
  }
  void move_along(std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t) noexcept {}

  bool begin_loop(List& items, std::uint32_t /*row*/, std::uint32_t count, unsigned levels,
                  bool repeated, const Columns* place, std::uint32_t& index) noexcept {
    if (place != nullptr) step(items.place, *place);
    if (!take_values(dims_)) return false;
    Term term;
    term.kind = Term::Kind::kLoop;
    term.repeated = repeated;
    term.levels = static_cast<std::uint8_t>(levels);
    term.count = count;
    term.values = to_;
    put(items.place);
    index = term_count_;
    return add(items, term);
  }
  void copy(const Body&, std::uint32_t) noexcept {}
  void end_body(const List& items, std::uint32_t /*row*/, std::uint32_t rows, Body& body) noexcept {
    body = {rows, items.head, nullptr};
  }
  bool stride(std::uint32_t /*row*/, Body& body, const Columns& changed) noexcept {
    if (!take_values(dims_)) return false;
    body.stride = to_;
    vector(changed);
    return true;
  }
  void expand(std::uint32_t, std::uint32_t, std::uint32_t, const LoopsAround*) noexcept {}
  void end_loop(std::uint32_t index, const Body& body, std::uint32_t rows) noexcept {
    if (!build_) return;
    terms_[index].rows = rows;
    terms_[index].first_child = body.first_child;
    terms_[index].stride = body.stride;
  }

 private:
  void vector(const Columns& changed) noexcept {
    std::uint64_t sum[kMaxDims] = {};
    step(sum, changed);
    put(sum);
  }

  void step(std::uint64_t* place, const Columns& changed) noexcept {
    for (unsigned c = 0; c < changed.count; ++c) {
      place[changed.index[c]] += static_cast<std::uint64_t>(in_.svarint());
    }
  }

  void put(const std::uint64_t* tuple) noexcept {
    if (!build_) return;
    // The first dims_ values of `tuple` are set by every caller; the analyzer does not see it.
    for (unsigned j = 0; j < dims_; ++j) {
      *to_++ = static_cast<std::int64_t>(tuple[j]);  // NOLINT(clang-analyzer-core.uninitialized.*)
    }
  }

  bool take_values(std::size_t count) noexcept {
    const std::size_t from = value_count_;
    value_count_ += count;
    if (!build_) return true;
    if (values_.size() - from < count) return false;
    to_ = values_.data() + from;
    return true;
  }

  bool add(List& items, const Term& term) noexcept {
    const std::uint32_t index = term_count_++;
    if (build_ && index >= terms_.size()) return false;
    if (build_) terms_[index] = term;
    if (items.last == Term::kNone) {
      items.head = index;
    } else if (build_) {
      terms_[items.last].next = index;
    }
    items.last = index;
    return true;
  }

  ByteReader& in_;
  unsigned dims_;
  bool build_;
  std::span<Term> terms_;
  std::span<std::int64_t> values_;
  std::int64_t* to_ = nullptr;  // the next of the values that were taken last
  std::uint32_t term_count_ = 0;
  std::size_t value_count_ = 0;
};

}  // namespace

bool measure_terms(ByteReader in, std::size_t n, unsigned dims, TermSpace& space) noexcept {
  if (n > kMaxTuples || dims > kMaxDims) return false;
  TreeSink sink(in, dims);
  if (!TermParser(in, dims, sink).read(static_cast<std::uint32_t>(n))) return false;
  space = sink.used();
  return true;
}

bool skip_tuples(ByteReader& in, std::size_t n, unsigned dims) noexcept {
  TreeSink sink(in, dims);
  if (n <= kMaxTuples && dims <= kMaxDims &&
      TermParser(in, dims, sink).read(static_cast<std::uint32_t>(n))) {
    return true;
  }
  in.fail();
  return false;
}

bool read_terms(ByteReader& in, std::size_t n, unsigned dims, std::span<Term> terms,
                std::span<std::int64_t> values, TermTree& tree) noexcept {
  tree = {};
  TreeSink sink(in, dims, terms, values);
  if (n <= kMaxTuples && dims <= kMaxDims &&
      TermParser(in, dims, sink).read(static_cast<std::uint32_t>(n))) {
    tree = {terms.first(sink.used().terms), n, dims};
    return true;
  }
  in.fail();
  return false;
}

}  // namespace iotune::patterns
