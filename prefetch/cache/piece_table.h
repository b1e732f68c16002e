// What was read ahead, or is to be, in bounded memory: pieces of files, what state each is in,
// which of them make room for others. Both caches have one: the preload's (read_cache.h), whose
// pieces are each of one stream, and the file system's (filesystem/read_ahead_cache.h), whose are
// each of one file.
//
// It takes no lock, makes no call, asks no clock and allocates nothing: the caller holds a lock of
// its own around all of it. What is filled or held may be touched without that lock. Its memory may
// become all zero in the middle of any of it, in the child of a fork: the table is empty then.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "patterns/extent.h"

namespace iotune::prefetch {

// One read of the storage: no piece is longer.
inline constexpr std::int64_t kPieceBytes = 1 << 20;
inline constexpr unsigned kNoPiece = ~0u;

// A piece as it was when it was named: it may be gone since, and its number another's.
struct PieceName {
  unsigned number = kNoPiece;
  std::uint32_t birth = 0;
};

// The pieces of one stream or file, by offset. All zero: none.
struct PieceIndex {
  std::uint32_t root = 0;               // one more than a number; 0: none
  std::atomic<std::uint32_t> count{0};  // changed under the lock; without it a guess
};

// For whom pieces are read ahead: what was not asked for in many of its reads never will be.
struct PieceReader {
  std::uint64_t reads = 0;
};

enum class PieceState : std::uint8_t {
  kFree,
  kWanted,   // nobody has begun to read it
  kFilling,  // somebody reads it, and has its memory
  kReady,
  kDropped,  // found no more; its memory is free when the last one has let go of it
};

struct Piece {
  std::int64_t offset;
  std::uint32_t wanted, bytes, used;  // bytes: what there was of it; used: of those
  std::uint32_t birth;
  std::uint32_t left, right;   // in the index
  std::uint32_t older, newer;  // among the ready ones
  PieceIndex* index;           // nullptr: dropped
  PieceReader* reader;         // nullptr: it has gone
  std::uint64_t at_read, born_ns;
  std::uint16_t units, holders;
  PieceState state;

  std::int64_t end() const noexcept { return offset + wanted; }
  std::int64_t filled_end() const noexcept { return offset + bytes; }
};

struct FoundPart {
  PieceName piece;
  const std::byte* bytes;
  std::size_t length;
};

enum class Found : std::uint8_t { kNothing, kWhole, kUnderWay };

struct PieceRules {
  std::uint32_t unit_bytes = 0;  // memory is given in these; kPieceBytes is a multiple
  bool overlap = false;          // pieces of one index may overlap
  bool short_ends_file = false;  // where one was filled in part, the file ends
};

class PieceTable {
 public:
  constexpr PieceTable() noexcept = default;
  PieceTable(const PieceTable&) = delete;
  PieceTable& operator=(const PieceTable&) = delete;

  // For so many units: of what use() takes as `heads`.
  static std::size_t heads_bytes(unsigned units) noexcept;
  // `heads`, aligned to 8, and `room`, of units * unit_bytes, stay the caller's and outlive the
  // table. All zero in `heads` is an empty table: it may be made so at any time.
  void use(std::byte* heads, std::byte* room, unsigned units, const PieceRules& rules) noexcept;

  // A wanted piece of at most kPieceBytes. Where there is no room those that were used go, then
  // those that will never be. kNoPiece where that is not enough.
  PieceName add(PieceIndex& index, PieceReader* reader, const patterns::Extent& extent,
                std::uint64_t now_ns) noexcept;
  // nullptr where it is gone. A dropped one is not, as long as somebody has its memory.
  Piece* named(PieceName name) const noexcept;
  Piece& piece(unsigned number) const noexcept { return pieces_[number]; }
  std::byte* memory_of(unsigned number) const noexcept;

  // Of a wanted piece: from here to end_filling its memory is the caller's.
  void begin_filling(unsigned number) noexcept;
  // `bytes`: what there is of it; below 0: it could not be read, and is dropped.
  void end_filling(unsigned number, std::int64_t bytes) noexcept;
  // Its memory stays what it is until it is let go.
  void hold(unsigned number) noexcept { ++pieces_[number].holders; }
  void let_go(unsigned number) noexcept;

  // Looks for all of the extent, in at most `room` parts. kUnderWay: a piece of it is being filled.
  // kNothing: the caller reads it, and what nobody has begun of it is dropped.
  Found find(PieceIndex& index, const patterns::Extent& extent, FoundPart* parts, unsigned room,
             unsigned& count) noexcept;
  // Counts `length` bytes of a piece as used. How many of them nobody had used before.
  std::uint32_t use_bytes(unsigned number, std::size_t length) noexcept;

  void drop(unsigned number) noexcept;  // one that is not dropped yet
  void drop_all(PieceIndex& index) noexcept;
  // Of what overlaps the extent what nobody has begun to fill.
  void drop_wanted(PieceIndex& index, const patterns::Extent& extent) noexcept;
  // The reader goes: what is ready of its pieces is nobody's.
  void leave(const PieceReader& reader) noexcept;

  // In the order of offsets, then of age. kNoPiece: there is none.
  unsigned first_from(const PieceIndex& index, std::int64_t offset,
                      std::uint32_t birth = 0) const noexcept;
  unsigned last_before(const PieceIndex& index, std::int64_t offset,
                       std::uint32_t birth = 0) const noexcept;
  unsigned after(const PieceIndex& index, unsigned number) const noexcept;
  // The one that was wanted first.
  unsigned oldest(const PieceIndex& index) const noexcept;

 private:
  struct alignas(8) Heads {
    std::uint32_t births, next_unit, used_units;
    std::uint32_t oldest, newest;  // of the ready ones
  };

  unsigned run_between(unsigned from, unsigned end, unsigned units) const noexcept;
  unsigned free_run(unsigned units) noexcept;
  bool make_room(std::uint64_t now_ns) noexcept;
  void free_units(unsigned number) noexcept;
  void link(PieceIndex& index, unsigned number) noexcept;
  void unlink(unsigned number) noexcept;
  void link_ready(unsigned number) noexcept;
  void unlink_ready(const Piece& piece) noexcept;
  unsigned piece_at(const PieceIndex& index, std::int64_t at) const noexcept;

  Heads* heads_ = nullptr;
  Piece* pieces_ = nullptr;  // one a unit; a piece has the number of its first unit
  std::byte* room_ = nullptr;
  unsigned units_ = 0;
  PieceRules rules_;
};

}  // namespace iotune::prefetch
