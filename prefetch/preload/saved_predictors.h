// What a stream's predictor keeps over runs, for those that do: a plan of the accesses
// ("recorded"), transitions between blocks ("markov"). One file a stream, below the user's state
// directory, known by the path that was read, the rank, and which of the process's streams on that
// path it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/files/descriptor.h"
#include "core/os/sleep_lock.h"
#include "patterns/bytes.h"
#include "patterns/extent.h"
#include "prefetch/preload/library_interface.h"

namespace iotune::prefetch {

// Each is a file in the user's home: who opens one a thousand times must not fill that.
inline constexpr std::uint32_t kMostSavedOfPath = 64;
// Of fewer reads nothing is worth a file, and files of a few reads come by the thousand.
inline constexpr std::uint64_t kLeastReadsSaved = 8;

struct SavedKey {
  std::uint64_t path = 0;  // its hash; 0: nothing is kept
  std::uint32_t ordinal = 0;
};

// Once: where the user's state is, and how to ask for the rank.
void set_up_saved(const PrefetchHost& host) noexcept;

// Of so many streams of a path, and of the process, something is kept; of others nothing.
SavedKey saved_key(int fd) noexcept;

// What an earlier run left, in memory until release_saved; empty where there is nothing. A file
// that is damaged goes.
std::span<const std::byte> read_saved(const SavedKey& key, const char* predictor) noexcept;
void release_saved(std::span<const std::byte> saved) noexcept;

// It was of use: of the folder's files the others are older now.
void touch_saved(const SavedKey& key, const char* predictor) noexcept;

// The files of a path, one by one. It has the folder open.
class SavedOfPath {
 public:
  SavedOfPath(std::uint64_t path, const char* predictor) noexcept;

  // A bit for each number that has a file.
  std::uint64_t numbers() noexcept;
  // As many of a file's first bytes as fit. They are not checked against its crc.
  std::span<const std::byte> begin_of(std::uint32_t number, std::span<std::byte> room) noexcept;

 private:
  std::uint64_t path_;
  const char* predictor_;
  Descriptor folder_;
};

// Replaces what this key's stream has written, as a whole. What another stream has left stays: then
// the key's number becomes the next that is free, or where none is, that of the path's oldest file,
// which goes. False on any failure.
bool write_saved(SavedKey& key, const char* predictor, std::span<const std::byte> bytes,
                 bool is_own) noexcept;

void leave_saved_by_jump() noexcept;

// The accesses of a stream on their way into a plan. Bounded: what does not fit any more is left
// out, and the plan ends there.
class PlanRecorder {
 public:
  // nullptr where there is no memory. Never given back but by release().
  static PlanRecorder* make() noexcept;
  void add(const patterns::Extent& access) noexcept;
  // The plan so far; what it lies in is the recorder's.
  std::span<const std::byte> finish() noexcept;
  // The same in memory of its own, to be given back by release_saved(); it can be gone on with
  // adding. Empty where there is no memory, or the plan has ended.
  std::span<const std::byte> copy() noexcept;
  void release() noexcept;

 private:
  static constexpr std::size_t kPiece = 1024, kPlanBytes = 1 << 20;
  void encode() noexcept;

  std::size_t pending_;
  std::size_t bytes_;
  bool full_;
  patterns::Extent accesses_[kPiece];
  std::byte plan_[kPlanBytes];
};

}  // namespace iotune::prefetch
