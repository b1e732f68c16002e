#include <cstdint>
#include <cstring>

#include "patterns/packed_columns.h"
#include "patterns/tuple_bytes.h"
#include "patterns/tuple_loops.h"

namespace iotune::patterns {
namespace {

// The one reader of the bytes (README.md): it checks the grammar and expands terms straight into
// the caller's tuples. Every vector that the terms refer back to is the difference of two tuples
// that are already there, hence no memory of its own. Rows are counted from the first tuple on.
// kKeeps: false passes over the bytes, and writes nothing.
template <bool kKeeps>
class TermReader {
 public:
  TermReader(ByteReader& in, std::uint64_t* tuples, unsigned dims) noexcept
      : in_(in), tuples_(tuples), dims_(dims) {}

  bool read(std::uint32_t n) noexcept {
    const std::uint8_t mode = in_.u8();
    if (in_.failed()) return false;
    if (mode == kModePlain) {
      // Each value takes a byte at least: says whether the rest is worth reading.
      if (in_.bytes_left() < std::size_t{n} * dims_) return false;
      if (dims_ != 0) read_plain(n);
      return !in_.failed();
    }
    if (n == 0 || dims_ == 0) return false;
    if (mode == kModePacked) {
      read_packed(in_, n, dims_, tuples_);
      return !in_.failed();
    }
    std::uint64_t first[kMaxDims];
    if (mode != kModeTerms || !read_head(in_, dims_, active_, first)) return false;
    if constexpr (kKeeps) std::memcpy(tuples_, first, dims_ * sizeof(std::uint64_t));
    std::uint32_t stop = 0;
    return list(0, n, kAnyNumber, 0, stop) && stop == n;
  }

 private:
  struct Body {
    std::uint32_t rows;
    std::uint32_t start;  // two iterations of it are here
  };
  static constexpr std::uint32_t kAnyNumber = UINT32_MAX;

  void read_plain(std::uint32_t n) noexcept {
    std::uint64_t last[kMaxDims] = {};
    for (std::uint32_t i = 0; i < n; ++i) {
      for (unsigned j = 0; j < dims_; ++j) {
        last[j] += static_cast<std::uint64_t>(in_.svarint());
        if constexpr (kKeeps) at(i)[j] = last[j];
      }
    }
  }

  // Reads `parts` terms (or as many as fill the place) of the rows [row, end), of which the first
  // tuple is there. `stop` is the row after the last.
  bool list(std::uint32_t row, std::uint32_t end, std::uint32_t parts, unsigned depth,
            std::uint32_t& stop) noexcept {
    std::uint32_t previous = row;  // that the next place is said from
    for (bool first = true; parts != 0 && (row != end || parts != kAnyNumber); first = false) {
      const std::uint64_t head = in_.varint();
      if (in_.failed() || row >= end) return false;
      std::uint32_t taken = 1, rows = 0;
      if (!is_loop_head(head)) {
        const std::uint64_t run = (head >> 1U) + 1;
        if (run > end - row || run > parts) return false;
        taken = rows = static_cast<std::uint32_t>(run);
        if (!atoms(previous, row, rows, first)) return false;
        previous = row + rows - 1;
      } else {
        if (!loop(previous, head >> 1U, row, end, first, depth, rows)) return false;
        previous = row;
      }
      row += rows;
      if (parts != kAnyNumber) parts -= taken;
    }
    stop = row;
    return true;
  }

  bool atoms(std::uint32_t previous, std::uint32_t row, std::uint32_t count,
             bool first_is_known) noexcept {
    const std::uint32_t known = first_is_known ? 1 : 0;
    Columns changed;
    if (count != known) read_changed(in_, active_, changed);
    for (std::uint32_t i = known; i < count; ++i) {
      step(row + i, i == 0 ? previous : row + i - 1, changed);
    }
    return own_strides(row, count, row + count);
  }

  // `count` vectors for each loop around that does not have one stride; what follows them, up to
  // `after`, moves as they do.
  bool own_strides(std::uint32_t row, std::uint32_t count, std::uint32_t after) noexcept {
    for (unsigned k = 0; k < around_.count; ++k) {
      const std::uint32_t rows = around_.rows[k];
      Columns changed;
      read_changed(in_, active_, changed);
      for (std::uint32_t x = row; x < row + count; ++x) step(x + rows, x, changed);
      move_along(row, row + count, after, rows);
    }
    return !in_.failed();
  }

  bool loop(std::uint32_t previous, std::uint64_t reference, std::uint32_t row, std::uint32_t end,
            bool place_is_known, unsigned depth, std::uint32_t& rows) noexcept {
    const std::uint64_t said = in_.varint();
    if (said < 2 || said > end - row) return false;
    const auto count = static_cast<std::uint32_t>(said);
    const std::uint32_t most_rows = (end - row) / count;
    if (!place_is_known) {
      Columns changed;
      read_changed(in_, active_, changed);
      step(row, previous, changed);
    }
    Body body{};
    if (reference == 0) {
      if (!define(row, most_rows, depth, body)) return false;
    } else {
      if (reference > defined_ || reference > kDefinitionWindow) return false;
      const auto back = static_cast<std::uint32_t>(reference);
      body = definitions_[(defined_ - back) % kDefinitionWindow];
      if (body.rows > most_rows) return false;
      for (std::uint32_t x = 1; x < 2 * body.rows; ++x) {
        translate(row + x, row, body.start + x, body.start);
      }
    }
    rows = body.rows * count;
    expand(row, body.rows, row + rows, reference == 0);
    // A copied loop moves as one in the loops around.
    return (reference == 0 || own_strides(row, 1, row + rows)) && !in_.failed();
  }

  bool define(std::uint32_t row, std::uint32_t most_rows, unsigned depth, Body& body) noexcept {
    const std::uint64_t head = in_.varint();
    const std::uint64_t parts = head >> 1U;
    if (parts == 0 || parts > most_rows || depth == kMaxLoopDepth) return false;
    const bool own = (head & 1U) != 0;
    if (own) {
      const std::uint64_t said = in_.varint();
      if (said == 0 || said > most_rows) return false;
      most_rows = static_cast<std::uint32_t>(said);
      around_.rows[around_.count++] = most_rows;
    }
    std::uint32_t stop = row;
    if (!list(row, row + most_rows, static_cast<std::uint32_t>(parts), depth + 1, stop)) {
      return false;
    }
    body = {stop - row, row};
    if (own) {
      --around_.count;
      if (body.rows != most_rows) return false;
    } else {
      Columns changed;
      read_changed(in_, active_, changed);
      step(row + body.rows, row, changed);
      move_along(row, row + 1, row + body.rows, body.rows);
    }
    definitions_[defined_++ % kDefinitionWindow] = body;
    return !in_.failed();
  }

  // What an iteration of a loop around, of so many rows, adds to these tuples is the same as to
  // that in `row`.
  void move_along(std::uint32_t row, std::uint32_t from, std::uint32_t after,
                  std::uint32_t rows) noexcept {
    for (std::uint32_t x = from; x < after; ++x) translate(x + rows, x, row + rows, row);
  }

  // Each tuple from the third iteration on makes the step that the one `rows` before it made.
  void expand(std::uint32_t row, std::uint32_t rows, std::uint32_t after, bool is_new) noexcept {
    if constexpr (!kKeeps) return;
    const std::size_t back = std::size_t{rows} * dims_;
    std::uint64_t* to = at(row + 2 * rows);
    for (const std::uint64_t* end = at(after); to < end; ++to) {
      const std::uint64_t* before = to - back;
      *to = *before + (*before - *(before - back));
    }
    // What an iteration of a loop around adds is the same in every iteration of this one.
    for (unsigned k = 0; is_new && k < around_.count; ++k) {
      const std::uint32_t further = around_.rows[k];
      for (std::uint32_t x = row + rows; x < after; ++x) {
        translate(x + further, x, x - rows + further, x - rows);
      }
    }
  }

  // Puts tuple `to` to `base` as `like` is to `like_base`.
  void translate(std::uint32_t to, std::uint32_t base, std::uint32_t like,
                 std::uint32_t like_base) noexcept {
    if constexpr (!kKeeps) return;
    for (unsigned j = 0; j < dims_; ++j) {
      at(to)[j] = at(base)[j] + (at(like)[j] - at(like_base)[j]);
    }
  }

  void step(std::uint32_t to, std::uint32_t from, const Columns& changed) noexcept {
    if constexpr (kKeeps) std::memcpy(at(to), at(from), dims_ * sizeof(std::uint64_t));
    for (unsigned c = 0; c < changed.count; ++c) {
      const auto by = static_cast<std::uint64_t>(in_.svarint());
      if constexpr (kKeeps) at(to)[changed.index[c]] += by;
    }
  }

  std::uint64_t* at(std::uint32_t row) noexcept { return tuples_ + std::size_t{row} * dims_; }

  ByteReader& in_;
  std::uint64_t* tuples_;
  unsigned dims_;
  Columns active_;
  LoopsAround around_;
  Body definitions_[kDefinitionWindow];
  std::uint32_t defined_ = 0;
};

}  // namespace

bool decode_tuples(ByteReader& in, std::size_t n, unsigned dims,
                   std::span<std::int64_t> out) noexcept {
  if (n <= kMaxTuples && dims <= kMaxDims && out.size() >= n * dims) {
    TermReader<true> reader(in, reinterpret_cast<std::uint64_t*>(out.data()), dims);
    if (reader.read(static_cast<std::uint32_t>(n))) return true;
  }
  in.fail();
  return false;
}

bool skip_tuples(ByteReader& in, std::size_t n, unsigned dims) noexcept {
  if (n <= kMaxTuples && dims <= kMaxDims &&
      TermReader<false>(in, nullptr, dims).read(static_cast<std::uint32_t>(n))) {
    return true;
  }
  in.fail();
  return false;
}

}  // namespace iotune::patterns
