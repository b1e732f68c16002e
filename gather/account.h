// What happened to a file's small writes, for the trace: counts, and reasons.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gather/mpi/interface.h"

namespace iotune::gather {

// Why a call was made as it came.
enum class NotHeld : std::uint8_t {
  kLarge,
  kAtomic,
  kView,
  kMemory,
  kError,
  kArguments,
  kTypes,
  kTransferList,
  kSelection,
  kDataset,
  kStopped,
  kLog,
  kCount
};

class Account {
 public:
  void count(NotHeld why) noexcept { ++not_held_[static_cast<std::size_t>(why)]; }
  // One record of what was held, one for each reason that something was not.
  void note(void (*write)(const GatherNote& note), const char* file,
            std::uint64_t waiting_bytes) const noexcept;

  GatherCounts counts{};

 private:
  std::uint64_t not_held_[static_cast<std::size_t>(NotHeld::kCount)] = {};
};

// Of a file none of whose writes are held.
void note_refused(void (*write)(const GatherNote& note), const char* file,
                  const char* reason) noexcept;

}  // namespace iotune::gather
