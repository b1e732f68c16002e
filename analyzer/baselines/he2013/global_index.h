// The local entries of all processes joined, and looked up by file offset (HPDC 2013, 2.4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/baselines/he2013/local_index.h"

namespace iotune::he2013 {

// A local entry that several processes repeat one behind the other (the papers' figure 11). With
// more than one id it is a grid: `logical` has one stride s, every piece the same length l, and s/l
// pieces of different ids (columns) fill a stride; `logical.count` strides (rows) are a global
// stride, for which s/l ids stand in the list.
struct GlobalEntry {
  std::vector<Unit> ids;  // the chunk ids, themselves compressed, as the paper proposes
  std::uint64_t id_count = 1;
  Unit logical;  // of the first id
  std::vector<Unit> lengths;
  std::vector<Unit> physical;
};

// As the paper counts: 44 + units + 12 bytes an id, which is 128 + 12·ids for a grid.
std::size_t memory_bytes(const GlobalEntry& entry) noexcept;
// The same with the id list as it is kept here.
std::size_t memory_bytes_ids_compressed(const GlobalEntry& entry) noexcept;

// The contiguous rest of a piece: where the byte that was asked for lies, and how many bytes of
// the piece follow, itself included.
struct Piece {
  std::uint32_t chunk_id;
  std::int64_t physical;
  std::int64_t length;

  friend bool operator==(const Piece&, const Piece&) = default;
};

// Algorithm 2 and Algorithm 3 with their errors mended: see look_up.cpp. Where pieces of an entry
// overlap, the one that was written last.
std::optional<Piece> find(const LocalEntry& entry, std::int64_t offset);
std::optional<Piece> find(const GlobalEntry& entry, std::int64_t offset);

class GlobalIndex {
 public:
  // Sorts the entries by their first logical offset and joins neighbours that abut. Closes nothing:
  // every index must have been closed.
  explicit GlobalIndex(std::span<const LocalIndex> locals, unsigned window = kWindow);

  std::span<const GlobalEntry> patterns() const noexcept { return patterns_; }
  std::span<const RawEntry> raw() const noexcept { return raw_; }
  // All pieces, by chunk id and then in the order in which its process wrote them (pieces without
  // a byte: in any order among those at the same physical offset).
  std::vector<RawEntry> expand() const;

  // The piece that holds a byte of the file. The papers' pattern entries carry no time: of pieces
  // that overlap, the one of the largest chunk id, and of one chunk id the last written. Entries
  // are sorted, so that O(log entries) suffices where their ranges do not overlap; where they do
  // (ranks that could not be joined), all that span the offset are tried.
  std::optional<Piece> find(std::int64_t offset) const;

  std::size_t memory_bytes() const noexcept;
  std::size_t memory_bytes_ids_compressed() const noexcept;

 private:
  struct Range {
    std::int64_t start;    // first byte that the entry touches
    std::int64_t end;      // behind the last
    std::int64_t max_end;  // the largest end up to here
    std::size_t entry;     // in patterns_; behind them: in raw_
  };
  void make_ranges();

  std::vector<GlobalEntry> patterns_;
  std::vector<RawEntry> raw_;
  std::vector<Range> ranges_;  // by start
};

}  // namespace iotune::he2013
