// The folder of plans and models, below the user's state directory. It holds so many bytes and
// files; the oldest go, by the time of their last change or use.
#pragma once

#include <cstdint>

#include "prefetch/preload/library_interface.h"

namespace iotune::prefetch {

inline constexpr std::uint64_t kMostFolderBytes = std::uint64_t{128} << 20;
inline constexpr std::uint64_t kMostFolderFiles = 4096;

// Files on their way to their names begin so: what a death leaves of one goes after an hour.
inline constexpr char kDraftBegin[] = ".draft-";

// Once, before any other function.
void set_up_saved_folder(const PrefetchHost& host) noexcept;

// Its descriptor, negative where there is none. `make`: it is made where it is missing.
int open_saved_folder(bool make) noexcept;

// A file was added: at the first of this process, and now and then, what is too much is removed.
void bound_saved_folder(int folder) noexcept;

void leave_saved_folder_by_jump() noexcept;

}  // namespace iotune::prefetch
