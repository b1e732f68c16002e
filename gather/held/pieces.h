// What one rank has written to one file and the file does not have yet: bytes, and where they
// belong. No MPI, no I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gather/held/budget.h"
#include "gather/held/growing_memory.h"

namespace iotune::gather {

// `count` pieces of `bytes` bytes, each `stride` behind the one before. Their bytes lie one behind
// the other from `at` on, in the memory of what holds them.
struct Run {
  std::int64_t offset, bytes, stride, count;
  std::size_t at;

  std::int64_t end() const noexcept { return offset + (count - 1) * stride + bytes; }
};

// The pieces as they are to be written: ascending, each byte once.
struct Ascending {
  std::vector<Run> runs;  // one behind the other: none begins before the last one's end
  const std::byte* data;  // the pieces' bytes in this order, without gaps
  std::size_t bytes;

  bool empty() const noexcept { return bytes == 0; }
  std::int64_t begin() const noexcept { return runs.front().offset; }
  std::int64_t end() const noexcept { return runs.back().end(); }
};

class HeldPieces {
 public:
  // `budget`: for bytes, places, and what sorting them takes. It lives longer than this.
  explicit HeldPieces(Budget& budget) noexcept : budget_(budget) {}
  ~HeldPieces() { clear(); }
  HeldPieces(const HeldPieces&) = delete;
  HeldPieces& operator=(const HeldPieces&) = delete;

  // Room for a piece at `offset` (>= 0); nullptr: there is none, and nothing has changed. What is
  // written there counts from hold() on.
  std::byte* room_for(std::int64_t offset, std::size_t bytes) noexcept;
  // The bytes at the last room_for() belong to `offset`. False: no memory for its place.
  bool hold(std::int64_t offset, std::size_t bytes) noexcept;

  bool empty() const noexcept { return runs_.empty(); }
  std::size_t bytes() const noexcept { return used_; }
  // Whether a held piece may lie in the range; never false where one does.
  bool may_touch(std::int64_t offset, std::int64_t bytes) const noexcept {
    return !empty() && offset < end_ && offset + bytes > begin_;
  }

  // Copies bytes of the file to `to` where all of them are held: of those that were written twice
  // the later ones. False: not all are, or they lie in too many writes to look for; `to` may have
  // some.
  bool copy_out(std::int64_t offset, std::int64_t bytes, std::byte* to) const noexcept;

  // All that is held; of bytes that were written twice the later ones. Valid until the next change.
  // Throws std::bad_alloc, and holds all as before.
  Ascending ascending();
  // The same in the order of the writes, each of them, and their bytes: to be written one by one.
  const std::vector<Run>& written() const noexcept { return runs_; }
  const std::byte* bytes_written() const noexcept { return memory_.data(); }
  // Changes places with one of the same budget.
  void swap(HeldPieces& other) noexcept;
  // Nothing is held any more; its memory is given back.
  void clear() noexcept;

 private:
  bool take(std::int64_t offset, std::size_t more_bytes) noexcept;

  Budget& budget_;
  std::size_t taken_ = 0;  // of the budget
  GrowingMemory memory_, sorted_;
  std::vector<Run> runs_;  // in the order of the writes
  std::size_t used_ = 0, pieces_ = 0;
  bool ordered_ = true;  // each begins where the one before ends, or behind it
  std::int64_t begin_ = INT64_MAX, end_ = INT64_MIN;
};

}  // namespace iotune::gather
