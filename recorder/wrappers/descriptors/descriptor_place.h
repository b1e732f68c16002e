// Where the system puts what a program writes: a descriptor opened with O_APPEND, or one whose
// position others move as well, does not write where the program's own counting would say.
//
// A place that cannot be known is -1 (unknown), never a guess. What is asked of the kernel is asked
// by calls that a program after a privilege drop (privilege_drop.h) is spared.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>

#include "core/process/jump_safe_guard.h"
#include "recorder/wrappers/descriptors/descriptor_table.h"

namespace iotune::recorder {

inline constexpr std::int64_t kUnknownPlace = -1;

// Of each traced descriptor: bit 0: it appends; above: how often memory had been copied to a child
// when it was opened. 32 bits each.
inline constexpr std::uint32_t kAppends = 1;
extern std::atomic<std::uint32_t> g_descriptor_traits[kNearDescriptors];
// Of a descriptor that is traced.
inline std::atomic<std::uint32_t>& traits_word(int fd) noexcept {
  return fd < kNearDescriptors ? g_descriptor_traits[fd] : far_descriptor(fd)->traits;
}

// Calls of fork and vfork so far, and one: what was opened before the last one may stand in another
// process too, which moves the same position. Counted up by vfork_wrapper.cpp as well.
extern std::atomic<std::uint32_t> g_copies;

inline std::uint32_t traits_of_descriptor(int fd) noexcept {
  return traits_word(fd).load(std::memory_order_relaxed);
}
inline bool may_be_shared(std::uint32_t traits) noexcept {
  return traits >> 1 != g_copies.load(std::memory_order_relaxed);
}

// A traced descriptor was opened by this process just now, or (`inherited`) found open.
void set_traits(int fd, bool appends, bool inherited = false) noexcept;
// After dup.
void copy_traits(int fd, int newfd) noexcept;
// The program set the status flags of the open file of `fd`, as other descriptors may.
void set_appends(int fd, bool appends) noexcept;

// The file's size as this machine knows it, without asking a server; -1: unknown.
std::int64_t known_size(int fd) noexcept;

// What a call does at the position, or at the offset that it names.
enum class Way : std::uint8_t {
  kReads,
  kWrites,        // to the end where the descriptor appends
  kToTheEnd,      // RWF_APPEND
  kIgnoresFlags,  // RWF_NOAPPEND
};

// Around a write that names an offset, on a descriptor for which `place_is_asked` is true.
inline bool place_is_asked(int fd) noexcept {
  const std::uint32_t traits = traits_of_descriptor(fd);
  return (traits & kAppends) != 0 || may_be_shared(traits);
}
class AppendWatch {
 public:
  // `way` is none that reads.
  AppendWatch(int fd, Way way) noexcept;
  // Where the bytes went: `offset` where nothing appended.
  std::int64_t place(ssize_t moved, std::int64_t offset) const noexcept;

 private:
  bool appends() const noexcept;

  int fd_;
  Way way_;
  std::int64_t size_before_;
};

// Around a call at the descriptor's position. True to the moves of other threads of this process
// and of other processes.
class PositionWatch {
 public:
  PositionWatch(int fd, std::uint32_t file, Way way) noexcept
      : turns_(&g_turns[file % kTurns]), fd_(fd), way_(way) {
    const std::uint64_t before = turns_->fetch_add(kEntry + 1, std::memory_order_acq_rel);
    hold_over_call(this, end_turn, reinterpret_cast<std::uintptr_t>(turns_));
    entries_ = before / kEntry + 1;
    alone_ = before % kEntry == 0;
    const std::uint32_t traits = traits_of_descriptor(fd);
    appends_ = way == Way::kToTheEnd || (way == Way::kWrites && (traits & kAppends) != 0);
    if (__builtin_expect(!alone_ || may_be_shared(traits), 0)) look_before();
  }
  ~PositionWatch() {
    if (take_back(this)) turns_->fetch_sub(1, std::memory_order_acq_rel);
  }
  PositionWatch(const PositionWatch&) = delete;
  PositionWatch& operator=(const PositionWatch&) = delete;

  // Where the call that moved `moved` bytes found the position, or kUnknownPlace. False where the
  // descriptor has none: its number was closed and used again behind our back.
  bool place(ssize_t moved, std::int64_t& offset) const noexcept;

 private:
  friend std::uint64_t moves_of_position(std::uint32_t file) noexcept;
  friend void count_move_of_position(std::uint32_t file) noexcept;
  // A word: 2^16 times the calls that began, and the calls under way.
  static constexpr std::uint64_t kEntry = 1 << 16;
  // By the file's number, which the descriptors made by dup share. A stranger in the same place
  // costs a system call, or leaves a place unknown.
  static constexpr std::uint32_t kTurns = 1024;
  static std::atomic<std::uint64_t> g_turns[kTurns];

  static void end_turn(std::uintptr_t turns) noexcept;  // out of the way of every transfer
  void look_before() noexcept;

  std::atomic<std::uint64_t>* turns_;
  std::uint64_t entries_;
  std::int64_t position_before_ = kUnknownPlace, size_before_ = kUnknownPlace;
  int fd_;
  Way way_;
  bool alone_, appends_, looked_ = false;
};

// Calls so far that read or wrote at the position of the file, or moved it. (Of files that share a
// place in the table, of all.)
inline std::uint64_t moves_of_position(std::uint32_t file) noexcept {
  return PositionWatch::g_turns[file % PositionWatch::kTurns].load(std::memory_order_relaxed) /
         PositionWatch::kEntry;
}
// The program has moved it.
inline void count_move_of_position(std::uint32_t file) noexcept {
  PositionWatch::g_turns[file % PositionWatch::kTurns].fetch_add(PositionWatch::kEntry,
                                                                 std::memory_order_relaxed);
}

}  // namespace iotune::recorder
