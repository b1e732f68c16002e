// Makes a block of an index (FORMAT.md) of what NestFinder found, in memory that the caller gives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "logstore/write/time_line.h"
#include "patterns/nest_finder.h"

namespace iotune::logstore {

// Bytes of the file that were made a hole. Length 0: up to the end of all files.
struct Hole {
  std::int64_t start;
  std::int64_t length;
};

// How many entries, and bytes of the log, some terms stand for.
struct TermTotals {
  std::int64_t entries = 0;
  std::int64_t bytes = 0;
};
TermTotals totals_of(const patterns::NestFinder& finder, std::uint32_t terms) noexcept;

// What a block says beside its terms.
struct BlockFacts {
  std::uint32_t flags = 0;
  std::int64_t position = 0;   // entries before
  std::int64_t physical = 0;   // bytes of the log before
  std::int64_t log_bytes = 0;  // bytes of the log now
};

class BlockEncoder {
 public:
  // For a finder of that capacity, so many holes and so many knots.
  static std::size_t memory_bytes(std::uint32_t capacity, std::size_t holes,
                                  std::size_t knots) noexcept;
  // `memory`: memory_bytes() of the same, aligned to 8; it must outlive the encoder.
  BlockEncoder(std::span<std::byte> memory, std::uint32_t capacity, std::size_t holes,
               std::size_t knots) noexcept;

  // The block of the finder's first `terms` terms. The bytes are good until the next call. Empty
  // where they do not fit, which memory_bytes() rules out.
  std::span<const std::byte> encode(const patterns::NestFinder& finder, std::uint32_t terms,
                                    std::span<const Hole> holes, std::span<const Knot> knots,
                                    const BlockFacts& facts) noexcept;

 private:
  std::uint32_t name_bodies(const patterns::NestFinder& finder, std::uint32_t terms) noexcept;
  void begin_list() noexcept { rows_ = 0; }
  void row(std::int64_t a, std::int64_t b) noexcept {
    values_[2 * rows_] = a;
    values_[2 * rows_ + 1] = b;
    ++rows_;
  }
  bool end_list(patterns::ByteWriter& to) noexcept;

  std::span<std::uint32_t> names_;  // a body's number in the block; 0: not in it
  std::span<std::int64_t> values_;
  std::span<std::byte> scratch_;
  std::span<std::byte> block_;
  std::size_t rows_ = 0;
};

}  // namespace iotune::logstore
