// What a batch system lets this job take of a node's memory.
#pragma once

#include <cstdint>

namespace iotune::tuner {

inline constexpr std::uint64_t kNoLimit = UINT64_MAX;

// The least limit of the control groups that `groups` (the text of /proc/self/cgroup) names, and of
// those above them, of either version. `root` is where they are mounted.
std::uint64_t group_limit_bytes(const char* groups, const char* root) noexcept;

// Of this process, asked once.
std::uint64_t job_limit_bytes() noexcept;

}  // namespace iotune::tuner
