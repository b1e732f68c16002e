#include <cstdint>
#include <cstring>

#include "patterns/packed_columns.h"
#include "patterns/tuple_bytes.h"
#include "patterns/tuple_loops.h"

namespace iotune::patterns {
namespace {

constexpr std::uint32_t kAnyNumber = UINT32_MAX;

// Expands terms straight into the caller's tuples. Every vector that the terms
// refer back to is the difference of two tuples that are already there, hence no
// memory of its own but the window of definitions. Without tuples (nullptr) it only
// passes over the bytes.
class TermReader {
 public:
  TermReader(ByteReader& in, std::uint64_t* tuples, unsigned dims) noexcept
      : in_(in), tuples_(tuples), dims_(dims) {}

  bool read(std::uint32_t n) noexcept {
    std::uint64_t passed[kMaxDims];
    if (!read_head(in_, dims_, active_, tuples_ == nullptr ? passed : tuples_)) return false;
    std::uint32_t stop = 0;
    return list(0, n, kAnyNumber, 0, stop) && stop == n;
  }

 private:
  struct Definition {
    std::uint32_t start;  // two iterations of it are here
    std::uint32_t rows;
  };

  // Reads `parts` terms (or as many as fill the place) into the tuples
  // [row, end); tuple `row` is there already. `stop` is the tuple after the last.
  bool list(std::uint32_t row, std::uint32_t end, std::uint32_t parts, unsigned depth,
            std::uint32_t& stop) noexcept {
    const std::uint32_t first = row;
    std::uint32_t previous = row;
    while (parts != 0 && (row != end || parts != kAnyNumber)) {
      const std::uint64_t head = in_.varint();
      if (in_.failed() || row >= end) return false;
      if (!is_loop_head(head)) {
        const std::uint64_t run = (head >> 1U) + 1;
        if (run > end - row || run > parts) return false;
        const auto count = static_cast<std::uint32_t>(run);
        if (!atoms(row, count, row == first, previous)) return false;
        previous = row + count - 1;
        row += count;
        if (parts != kAnyNumber) parts -= count;
      } else {
        std::uint32_t after = row;
        if (!loop(head >> 1U, row, end, row == first, previous, depth, after)) return false;
        previous = row;
        row = after;
        if (parts != kAnyNumber) --parts;
      }
    }
    stop = row;
    return true;
  }

  bool atoms(std::uint32_t row, std::uint32_t count, bool first_is_known,
             std::uint32_t previous) noexcept {
    Columns changed;
    const std::uint32_t known = first_is_known ? 1 : 0;
    if (count != known) read_changed(in_, active_, changed);
    for (std::uint32_t i = known; i < count; ++i) {
      step(row + i, i == 0 ? previous : row + i - 1, changed);
    }
    for (unsigned k = 0; k < around_.count; ++k) {
      read_changed(in_, active_, changed);
      for (std::uint32_t i = 0; i < count; ++i) step(row + i + around_.rows[k], row + i, changed);
    }
    return !in_.failed();
  }

  bool loop(std::uint64_t reference, std::uint32_t row, std::uint32_t end, bool place_is_known,
            std::uint32_t previous, unsigned depth, std::uint32_t& after) noexcept {
    const std::uint64_t count = in_.varint();
    if (count < 2 || count > end - row) return false;
    const std::uint32_t most_rows = (end - row) / static_cast<std::uint32_t>(count);
    if (!place_is_known) {
      Columns changed;
      read_changed(in_, active_, changed);
      step(row, previous, changed);
    }
    std::uint32_t rows = 0;
    if (reference == 0 ? !define(row, most_rows, depth, rows)
                       : !copy(reference, row, most_rows, rows)) {
      return false;
    }
    after = row + rows * static_cast<std::uint32_t>(count);
    go_on(row + 2 * rows, after, rows);
    if (reference != 0) return move_copy(row, after);
    // What an iteration of a loop around adds is the same in every iteration of this one.
    for (unsigned k = 0; k < around_.count && tuples_ != nullptr; ++k) {
      for (std::uint32_t x = row + rows; x < after; ++x) {
        translate(x + around_.rows[k], x, x - rows + around_.rows[k], x - rows);
      }
    }
    return true;
  }

  // Reads a body and yields two iterations of it.
  bool define(std::uint32_t row, std::uint32_t most_rows, unsigned depth,
              std::uint32_t& rows) noexcept {
    const std::uint64_t head = in_.varint();
    const std::uint64_t parts = head >> 1U;
    if (parts == 0 || parts > most_rows || depth == kMaxLoopDepth) return false;
    const bool own_strides = (head & 1U) != 0;
    if (own_strides) {
      const std::uint64_t said = in_.varint();
      if (said == 0 || said > most_rows) return false;
      most_rows = static_cast<std::uint32_t>(said);
      around_.rows[around_.count++] = most_rows;
    }
    std::uint32_t stop = row;
    if (!list(row, row + most_rows, static_cast<std::uint32_t>(parts), depth + 1, stop)) {
      return false;
    }
    rows = stop - row;
    if (own_strides) {
      --around_.count;
      if (rows != most_rows) return false;
    } else {
      Columns changed;
      read_changed(in_, active_, changed);
      step(row + rows, row, changed);
      for (std::uint32_t x = 1; x < rows && tuples_ != nullptr; ++x) {
        translate(row + rows + x, row + x, row + rows, row);
      }
    }
    definitions_[defined_++ % kDefinitionWindow] = {row, rows};
    return !in_.failed();
  }

  // Yields two iterations of a body read before.
  bool copy(std::uint64_t reference, std::uint32_t row, std::uint32_t most_rows,
            std::uint32_t& rows) noexcept {
    if (reference > defined_ || reference > kDefinitionWindow) return false;
    const auto back = static_cast<std::uint32_t>(reference);
    const Definition& known = definitions_[(defined_ - back) % kDefinitionWindow];
    rows = known.rows;
    if (rows > most_rows) return false;
    for (std::uint32_t x = 1; x < 2 * rows && tuples_ != nullptr; ++x) {
      translate(row + x, row, known.start + x, known.start);
    }
    return true;
  }

  // A copied loop moves as one in the loops around.
  bool move_copy(std::uint32_t row, std::uint32_t after) noexcept {
    for (unsigned k = 0; k < around_.count; ++k) {
      const std::uint32_t rows = around_.rows[k];
      Columns changed;
      read_changed(in_, active_, changed);
      step(row + rows, row, changed);
      if (tuples_ == nullptr) continue;
      for (std::uint32_t x = row + 1; x < after; ++x) translate(x + rows, x, row + rows, row);
    }
    return !in_.failed();
  }

  // Each tuple in [row, after) makes the step that the one `rows` before it made.
  void go_on(std::uint32_t row, std::uint32_t after, std::uint32_t rows) noexcept {
    if (tuples_ == nullptr) return;
    const std::size_t back = std::size_t{rows} * dims_;
    std::uint64_t* to = at(row);
    for (const std::uint64_t* end = at(after); to < end; ++to) {
      const std::uint64_t* before = to - back;
      *to = *before + (*before - *(before - back));
    }
  }

  // Puts tuple `to` to `base` as `like` is to `like_base`.
  void translate(std::uint32_t to, std::uint32_t base, std::uint32_t like,
                 std::uint32_t like_base) noexcept {
    for (unsigned j = 0; j < dims_; ++j) {
      at(to)[j] = at(base)[j] + (at(like)[j] - at(like_base)[j]);
    }
  }

  void step(std::uint32_t to, std::uint32_t from, const Columns& changed) noexcept {
    if (tuples_ == nullptr) {
      for (unsigned c = 0; c < changed.count; ++c) in_.varint();
      return;
    }
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
  Columns active_;
  LoopsAround around_;
  Definition definitions_[kDefinitionWindow];
  std::uint32_t defined_ = 0;
};

void read_plain(ByteReader& in, std::size_t n, unsigned dims, std::uint64_t* tuples) noexcept {
  // Each value takes a byte at least: says whether the rest is worth reading.
  if (in.bytes_left() < n * dims) return in.fail();
  for (std::size_t i = 0; i < n * dims; ++i) {
    const auto step = static_cast<std::uint64_t>(in.svarint());
    if (tuples != nullptr) tuples[i] = (i < dims ? 0 : tuples[i - dims]) + step;
  }
}

bool read(ByteReader& in, std::size_t n, unsigned dims, std::uint64_t* tuples) noexcept {
  const std::uint8_t mode = in.u8();
  if (in.failed()) return false;
  if (mode == kModePlain) {
    read_plain(in, n, dims, tuples);
  } else if (mode == kModePacked && n != 0 && dims != 0) {
    read_packed(in, n, dims, tuples);
  } else if (mode != kModeTerms || n == 0 || dims == 0 ||
             !TermReader(in, tuples, dims).read(static_cast<std::uint32_t>(n))) {
    in.fail();
  }
  return !in.failed();
}

}  // namespace

bool decode_tuples(ByteReader& in, std::size_t n, unsigned dims,
                   std::span<std::int64_t> out) noexcept {
  if (n > kMaxTuples || dims > kMaxDims || out.size() < n * dims) {
    in.fail();
    return false;
  }
  return read(in, n, dims, reinterpret_cast<std::uint64_t*>(out.data()));
}

bool skip_tuples(ByteReader& in, std::size_t n, unsigned dims) noexcept {
  if (n > kMaxTuples || dims > kMaxDims) {
    in.fail();
    return false;
  }
  return read(in, n, dims, nullptr);
}

}  // namespace iotune::patterns
