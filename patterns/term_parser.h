// The one parser of tuple encodings (README.md). It checks the grammar and hands what it reads to a
// sink, which expands it or makes a tree of it. Internal to patterns/.
//
// A sink has a List (of terms that follow each other) and a Body (with its `rows`), and reads the
// values of a vector itself. Rows are counted from the first tuple on.
#pragma once

#include <cstdint>

#include "patterns/packed_columns.h"
#include "patterns/tuple_bytes.h"

namespace iotune::patterns {

template <class Sink>
class TermParser {
 public:
  TermParser(ByteReader& in, unsigned dims, Sink& sink) noexcept
      : in_(in), dims_(dims), sink_(sink) {}

  bool read(std::uint32_t n) noexcept {
    const std::uint8_t mode = in_.u8();
    if (in_.failed()) return false;
    std::uint64_t* to = nullptr;
    if (mode == kModePlain) {
      // Each value takes a byte at least: says whether the rest is worth reading.
      if (in_.bytes_left() < std::size_t{n} * dims_) return false;
      if (n == 0 || dims_ == 0) return true;
      if (!sink_.take_all(n, to)) return false;
      read_plain(n, to);
      return !in_.failed();
    }
    if (n == 0 || dims_ == 0) return false;
    if (mode == kModePacked) {
      if (!sink_.take_all(n, to)) return false;
      read_packed(in_, n, dims_, to);
      return !in_.failed();
    }
    std::uint64_t first[kMaxDims];
    if (mode != kModeTerms || !read_head(in_, dims_, active_, first)) return false;
    List outermost = sink_.outermost(first);
    std::uint32_t stop = 0;
    return list(outermost, 0, n, kAnyNumber, 0, stop) && stop == n;
  }

 private:
  using List = typename Sink::List;
  using Body = typename Sink::Body;
  static constexpr std::uint32_t kAnyNumber = UINT32_MAX;

  void read_plain(std::uint32_t n, std::uint64_t* to) noexcept {
    std::uint64_t last[kMaxDims] = {};
    for (std::uint32_t i = 0; i < n; ++i) {
      for (unsigned j = 0; j < dims_; ++j) {
        last[j] += static_cast<std::uint64_t>(in_.svarint());
        if (to != nullptr) *to++ = last[j];
      }
    }
  }

  // Reads `parts` terms (or as many as fill the place) of the rows [row, end). `stop` is the row
  // after the last.
  bool list(List& items, std::uint32_t row, std::uint32_t end, std::uint32_t parts, unsigned depth,
            std::uint32_t& stop) noexcept {
    for (bool first = true; parts != 0 && (row != end || parts != kAnyNumber); first = false) {
      const std::uint64_t head = in_.varint();
      if (in_.failed() || row >= end) return false;
      std::uint32_t taken = 1, rows = 0;
      if (!is_loop_head(head)) {
        const std::uint64_t run = (head >> 1U) + 1;
        if (run > end - row || run > parts) return false;
        taken = rows = static_cast<std::uint32_t>(run);
        if (!atoms(items, row, rows, first)) return false;
      } else if (!loop(items, head >> 1U, row, end, first, depth, rows)) {
        return false;
      }
      row += rows;
      if (parts != kAnyNumber) parts -= taken;
    }
    stop = row;
    return true;
  }

  bool atoms(List& items, std::uint32_t row, std::uint32_t count, bool first_is_known) noexcept {
    if (!sink_.begin_atoms(items, count, around_.count, first_is_known)) return false;
    const std::uint32_t known = first_is_known ? 1 : 0;
    Columns changed;
    if (count != known) read_changed(in_, active_, changed);
    for (std::uint32_t i = known; i < count; ++i) sink_.atom(items, row + i, changed);
    return own_strides(row, count, row + count);
  }

  // `count` vectors for each loop around that does not have one stride; what follows them, up to
  // `after`, moves as they do.
  bool own_strides(std::uint32_t row, std::uint32_t count, std::uint32_t after) noexcept {
    if (around_.count != 0 && !sink_.begin_own_strides(count * around_.count)) return false;
    for (unsigned k = 0; k < around_.count; ++k) {
      Columns changed;
      read_changed(in_, active_, changed);
      for (std::uint32_t i = 0; i < count; ++i) {
        sink_.own_stride(row + i, around_.rows[k], changed);
      }
      sink_.move_along(row, row + count, after, around_.rows[k]);
    }
    return !in_.failed();
  }

  bool loop(List& items, std::uint64_t reference, std::uint32_t row, std::uint32_t end,
            bool place_is_known, unsigned depth, std::uint32_t& rows) noexcept {
    const std::uint64_t said = in_.varint();
    if (said < 2 || said > end - row) return false;
    const auto count = static_cast<std::uint32_t>(said);
    const std::uint32_t most_rows = (end - row) / count;
    Columns changed;
    if (!place_is_known) read_changed(in_, active_, changed);
    std::uint32_t index = 0;
    const Columns* const place = place_is_known ? nullptr : &changed;
    if (!sink_.begin_loop(items, row, count, around_.count, reference != 0, place, index)) {
      return false;
    }
    Body body{};
    if (reference == 0) {
      if (!define(row, most_rows, depth, body)) return false;
    } else {
      if (reference > defined_ || reference > kDefinitionWindow) return false;
      const auto back = static_cast<std::uint32_t>(reference);
      body = definitions_[(defined_ - back) % kDefinitionWindow];
      if (body.rows > most_rows) return false;
      sink_.copy(body, row);
    }
    rows = body.rows * count;
    sink_.expand(row, body.rows, row + rows, reference == 0 ? &around_ : nullptr);
    // A copied loop moves as one in the loops around.
    if (reference != 0 && !own_strides(row, 1, row + rows)) return false;
    sink_.end_loop(index, body, rows);
    return !in_.failed();
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
    List items = sink_.inner(row);
    std::uint32_t stop = row;
    if (!list(items, row, row + most_rows, static_cast<std::uint32_t>(parts), depth + 1, stop)) {
      return false;
    }
    sink_.end_body(items, row, stop - row, body);
    if (own) {
      --around_.count;
      if (body.rows != most_rows) return false;
    } else {
      Columns changed;
      read_changed(in_, active_, changed);
      if (!sink_.stride(row, body, changed)) return false;
    }
    definitions_[defined_++ % kDefinitionWindow] = body;
    return !in_.failed();
  }

  ByteReader& in_;
  unsigned dims_;
  Sink& sink_;
  Columns active_;
  LoopsAround around_;
  Body definitions_[kDefinitionWindow];
  std::uint32_t defined_ = 0;
};

}  // namespace iotune::patterns
