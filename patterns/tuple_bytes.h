// What the reader and the writer of tuple encodings share: the bytes
// themselves. Internal to patterns/; README.md describes the format.
#pragma once

#include <cstdint>

#include "patterns/bytes.h"
#include "patterns/tuple_loops.h"

namespace iotune::patterns {

inline constexpr std::uint8_t kModePlain = 0;
inline constexpr std::uint8_t kModeTerms = 1;
inline constexpr std::uint8_t kModePacked = 2;

// How many definitions back a reference may point. Both sides keep that many, so
// that a decoder needs no memory that grows with the input.
inline constexpr std::uint32_t kDefinitionWindow = 256;

// A set of places in a tuple, ascending.
struct Columns {
  std::uint8_t index[kMaxDims] = {};
  unsigned count = 0;

  void add(unsigned column) noexcept { index[count++] = static_cast<std::uint8_t>(column); }
};

// A subset of `count` places is a bit mask in groups of seven, lowest first, cut
// after the last group that is not zero. One place or none needs no mask: its
// value is always there.
inline void write_mask(ByteWriter& out, const std::uint8_t* bits, unsigned count) noexcept {
  unsigned groups = (count + 6) / 7;
  while (groups > 1 && bits[groups - 1] == 0) --groups;
  for (unsigned i = 0; i < groups; ++i) {
    out.u8(static_cast<std::uint8_t>(bits[i] | (i + 1 < groups ? 0x80U : 0U)));
  }
}

inline constexpr unsigned kMaskGroups = (kMaxDims + 6) / 7;

// Reads a mask over `count` places and lists the members; with `names`, by the
// column each place holds.
inline void read_mask(ByteReader& in, unsigned count, const Columns* names,
                      Columns& members) noexcept {
  members.count = 0;
  bool more = true;
  for (unsigned place = 0; more; place += 7) {
    const unsigned group = in.u8();
    more = (group & 0x80U) != 0;
    const bool over_long = place != 0 && group == 0;
    if (in.failed() || over_long || place >= count) return in.fail();
    for (unsigned bit = 0; bit < 7; ++bit) {
      if ((group >> bit & 1U) == 0) continue;
      if (place + bit >= count) return in.fail();
      members.add(names == nullptr ? place + bit : names->index[place + bit]);
    }
  }
}

inline void read_changed(ByteReader& in, const Columns& active, Columns& changed) noexcept {
  if (active.count > 1) return read_mask(in, active.count, &active, changed);
  changed = active;
}

// The head of a terms encoding: which columns change at all, and the first tuple.
inline bool read_head(ByteReader& in, unsigned dims, Columns& active,
                      std::uint64_t* first) noexcept {
  read_mask(in, dims, nullptr, active);
  Columns nonzero;
  if (dims > 1) {
    read_mask(in, dims, nullptr, nonzero);
  } else {
    nonzero.add(0);
  }
  for (unsigned j = 0; j < dims; ++j) first[j] = 0;
  for (unsigned c = 0; c < nonzero.count; ++c) {
    first[nonzero.index[c]] = static_cast<std::uint64_t>(in.svarint());
  }
  return !in.failed();
}

// Heads of terms: an even number is a run of atoms, an odd one a loop.
constexpr std::uint64_t atoms_head(std::uint32_t run) noexcept {
  return std::uint64_t{run - 1} << 1U;
}
constexpr std::uint64_t loop_head(std::uint32_t reference) noexcept {
  return std::uint64_t{reference} << 1U | 1U;
}
constexpr bool is_loop_head(std::uint64_t head) noexcept {
  return (head & 1U) != 0;
}
// A body says how many terms it has, and whether one stride moves all of them.
constexpr std::uint64_t body_head(std::uint32_t parts, bool one_stride) noexcept {
  return std::uint64_t{parts} << 1U | (one_stride ? 0U : 1U);
}

// Rows per iteration of the loops around a term that have no stride for all of
// their body: each atom and each reference in it says how it moves in them.
struct LoopsAround {
  std::uint32_t rows[kMaxLoopDepth];
  unsigned count = 0;
};

}  // namespace iotune::patterns
