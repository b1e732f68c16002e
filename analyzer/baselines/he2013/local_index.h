// What one process writes, as the papers' local pattern structure (HPDC 2013, 2.3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/baselines/he2013/unit.h"
#include "patterns/extent.h"

namespace iotune::he2013 {

// A piece of the file and where it lies in the log of the process that wrote it. Bytes.
struct RawEntry {
  std::uint32_t chunk_id = 0;  // which log
  std::int64_t logical = 0;
  std::int64_t length = 0;
  std::int64_t physical = 0;

  friend bool operator==(const RawEntry&, const RawEntry&) = default;
};

// One unit of logical offsets, and the units of the lengths and physical offsets of the same
// accesses. All three expand to the same count. (The papers' figure 6.)
struct LocalEntry {
  std::uint32_t chunk_id = 0;
  Unit logical;
  std::vector<Unit> lengths;
  std::vector<Unit> physical;
};

// Where the papers give no figure, the sizes are those with which their figures come out: 6 KB in
// memory for FS-TEST on 512 ranks is one global entry of 128 + 12·512 bytes, 37.0 for MILC A one of
// 128 + 12·1024, and 3.0 for MILC B one of 16 ids whose three units have no delta (44 + 3·20 +
// 12·16). Of the 128 bytes 84 are three units of one delta.
inline constexpr std::size_t kRawEntryBytes = 56;  // in memory; HPDC 2013, 3.1
inline constexpr std::size_t kLocalHeaderBytes = 48;
inline constexpr std::size_t kGlobalHeaderBytes = 44;
inline constexpr std::size_t kChunkIdBytes = 12;

std::size_t memory_bytes(const Unit& unit) noexcept;  // 20 + 8·|d|
std::size_t memory_bytes(std::span<const Unit> units) noexcept;
std::size_t memory_bytes(const LocalEntry& entry) noexcept;

struct LocalOptions {
  unsigned window = kWindow;
  std::size_t buffer_entries = 102400;  // raw entries that are searched at a time
};

// The index of one process. Physical offsets are those of a log that is only appended to.
class LocalIndex {
 public:
  explicit LocalIndex(std::uint32_t chunk_id, const LocalOptions& options = {});

  // Searches the buffer for patterns when it is full.
  void add(const patterns::Extent& access);
  // At the end: what is still in the buffer.
  void close() { flush(); }

  // What a flush found, in order. Where no delta comes again in a unit, its accesses are left raw
  // (the papers' "non-pattern index").
  std::span<const LocalEntry> patterns() const noexcept { return patterns_; }
  std::span<const RawEntry> raw() const noexcept { return raw_; }
  // Calls pattern(LocalEntry) or single(RawEntry) for what flushes found, in the order of accesses.
  template <typename Pattern, typename Single>
  void for_each(Pattern&& pattern, Single&& single) const {
    std::size_t patterns = 0;
    std::size_t singles = 0;
    for (const bool is_pattern : order_) {
      if (is_pattern) {
        pattern(patterns_[patterns++]);
      } else {
        single(raw_[singles++]);
      }
    }
  }
  // The entries as they were added.
  std::vector<RawEntry> expand() const;

  std::size_t memory_bytes() const noexcept;

 private:
  void flush();

  std::uint32_t chunk_id_;
  LocalOptions options_;
  std::int64_t log_end_ = 0;
  std::vector<std::int64_t> logical_;  // the buffer, by columns
  std::vector<std::int64_t> length_;
  std::vector<std::int64_t> physical_;
  std::vector<LocalEntry> patterns_;
  std::vector<RawEntry> raw_;
  std::vector<bool> order_;  // true: the next of patterns_, false: the next of raw_
};

// The pieces of an entry, in the order in which they were written.
void append_pieces(const LocalEntry& entry, std::vector<RawEntry>& pieces);

}  // namespace iotune::he2013
