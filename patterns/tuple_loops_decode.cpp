#include <cstdint>
#include <cstring>

#include "patterns/term_parser.h"
#include "patterns/tuple_loops.h"

namespace iotune::patterns {
namespace {

// Expands terms straight into the caller's tuples. Every vector that the terms refer back to is the
// difference of two tuples that are already there, hence no memory of its own.
class TupleSink {
 public:
  struct List {
    std::uint32_t previous;  // the row that the next place is said from
  };
  struct Body {
    std::uint32_t rows;
    std::uint32_t start;  // two iterations of it are here
  };

  TupleSink(ByteReader& in, std::uint64_t* tuples, unsigned dims) noexcept
      : in_(in), tuples_(tuples), dims_(dims) {}

  bool take_all(std::uint32_t /*rows*/, std::uint64_t*& to) noexcept {
    to = tuples_;
    return true;
  }
  List outermost(const std::uint64_t* first) noexcept {
    std::memcpy(tuples_, first, dims_ * sizeof(std::uint64_t));
    return {0};
  }
  List inner(std::uint32_t row) noexcept { return {row}; }

  bool begin_atoms(List&, std::uint32_t, unsigned, bool) noexcept { return true; }
  void atom(List& items, std::uint32_t row, const Columns& changed) noexcept {
    step(row, items.previous, changed);
    items.previous = row;
  }
  bool begin_own_strides(std::uint32_t) noexcept { return true; }
  void own_stride(std::uint32_t row, std::uint32_t rows, const Columns& changed) noexcept {
    step(row + rows, row, changed);
  }
  void move_along(std::uint32_t row, std::uint32_t from, std::uint32_t after,
                  std::uint32_t rows) noexcept {
    for (std::uint32_t x = from; x < after; ++x) translate(x + rows, x, row + rows, row);
  }

  bool begin_loop(List& items, std::uint32_t row, std::uint32_t, unsigned, bool,
                  const Columns* place, std::uint32_t&) noexcept {
    if (place != nullptr) step(row, items.previous, *place);
    items.previous = row;
    return true;
  }
  void copy(const Body& body, std::uint32_t row) noexcept {
    for (std::uint32_t x = 1; x < 2 * body.rows; ++x) {
      translate(row + x, row, body.start + x, body.start);
    }
  }
  void end_body(const List&, std::uint32_t row, std::uint32_t rows, Body& body) noexcept {
    body = {rows, row};
  }
  bool stride(std::uint32_t row, const Body& body, const Columns& changed) noexcept {
    step(row + body.rows, row, changed);
    move_along(row, row + 1, row + body.rows, body.rows);
    return true;
  }
  // Each tuple from the third iteration on makes the step that the one `rows` before it made.
  void expand(std::uint32_t row, std::uint32_t rows, std::uint32_t after,
              const LoopsAround* around) noexcept {
    const std::size_t back = std::size_t{rows} * dims_;
    std::uint64_t* to = at(row + 2 * rows);
    for (const std::uint64_t* end = at(after); to < end; ++to) {
      const std::uint64_t* before = to - back;
      *to = *before + (*before - *(before - back));
    }
    // What an iteration of a loop around adds is the same in every iteration of this one.
    for (unsigned k = 0; around != nullptr && k < around->count; ++k) {
      const std::uint32_t further = around->rows[k];
      for (std::uint32_t x = row + rows; x < after; ++x) {
        translate(x + further, x, x - rows + further, x - rows);
      }
    }
  }
  void end_loop(std::uint32_t, const Body&, std::uint32_t) noexcept {}

 private:
  // Puts tuple `to` to `base` as `like` is to `like_base`.
  void translate(std::uint32_t to, std::uint32_t base, std::uint32_t like,
                 std::uint32_t like_base) noexcept {
    for (unsigned j = 0; j < dims_; ++j) {
      at(to)[j] = at(base)[j] + (at(like)[j] - at(like_base)[j]);
    }
  }

  void step(std::uint32_t to, std::uint32_t from, const Columns& changed) noexcept {
    std::uint64_t* tuple = at(to);
    std::memcpy(tuple, at(from), dims_ * sizeof(std::uint64_t));
    for (unsigned c = 0; c < changed.count; ++c) {
      tuple[changed.index[c]] += static_cast<std::uint64_t>(in_.svarint());
    }
  }

  std::uint64_t* at(std::uint32_t row) noexcept { return tuples_ + std::size_t{row} * dims_; }

  ByteReader& in_;
  std::uint64_t* tuples_;
  unsigned dims_;
};

}  // namespace

bool decode_tuples(ByteReader& in, std::size_t n, unsigned dims,
                   std::span<std::int64_t> out) noexcept {
  if (n <= kMaxTuples && dims <= kMaxDims && out.size() >= n * dims) {
    TupleSink sink(in, reinterpret_cast<std::uint64_t*>(out.data()), dims);
    if (TermParser(in, dims, sink).read(static_cast<std::uint32_t>(n))) return true;
  }
  in.fail();
  return false;
}

}  // namespace iotune::patterns
