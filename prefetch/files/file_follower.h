// Which files of a directory to read ahead, by an order in which they were read before: no I/O.
//
// The file that begins is looked for among the next of the order. How many are read ahead doubles
// with each file that is found there and halves with each other one; after a few of those the order
// is given up. Files whose first read comes out of memory although nobody read them ahead show that
// there is nothing to gain.
#pragma once

#include <cstdint>

#include "prefetch/files/file_order.h"

namespace iotune::prefetch {

class FileFollower {
 public:
  static constexpr std::uint32_t kNone = FileOrder::kNone;
  static constexpr std::uint32_t kMostAhead = 16;  // files
  static constexpr std::uint64_t kMostBytesAhead = 32 << 20;

  // From this place of the order on, which must outlive it; nullptr: nothing is followed.
  void follow(const FileOrder* order, std::uint32_t place) noexcept;
  const FileOrder* order() const noexcept { return order_; }

  struct Begun {
    bool foreseen = false;    // the order has it among the next
    bool ahead = false;       // it was handed out by next()
    std::uint32_t bytes = 0;  // of it, as set_bytes() said
  };
  // A file begins. `waited`: its first read took its time.
  Begun begins(std::uint64_t hash, bool waited) noexcept;

  // The place of the next file to be read ahead, which counts as handed out; kNone: none now.
  std::uint32_t next() noexcept;
  // What reading it ahead asks for.
  void set_bytes(std::uint64_t hash, std::uint32_t bytes) noexcept;

 private:
  static constexpr std::uint32_t kWindow = 16;     // threads of a program change places so far
  static constexpr std::uint32_t kMostMisses = 4;  // in a row
  static constexpr int kLeastWaits = 2, kMostWaits = 8;

  struct Ahead {
    std::uint64_t hash;
    std::uint32_t place, bytes;
  };
  bool find(std::uint64_t hash) noexcept;
  void drop(std::uint32_t number) noexcept;
  void drop_passed() noexcept;

  const FileOrder* order_ = nullptr;
  std::uint32_t at_ = 0, asked_ = 0;  // the next that is expected; the next to be handed out
  std::uint32_t depth_ = 0, misses_ = 0;
  int waits_ = 0;
  std::uint32_t held_ = 0;
  std::uint64_t bytes_ahead_ = 0;
  Ahead ahead_[kMostAhead] = {};
};

}  // namespace iotune::prefetch
