// libiotune-gather.so, loaded by the processes that IOTUNE_GATHER is set for.
#pragma once

#include <cstdint>

namespace iotune::gather {

// What the tuner knows.
struct TunersKnowledge {
  // Which MPI-IO of Open MPI's opens a file, "OMPIO" or another; nullptr where the MPI has but one.
  const char* (*name_of_io)(const char* path);
  // What a batch system lets this job take of a node's memory.
  std::uint64_t (*job_limit_bytes)();
};

// Loads it and puts it in front of MPI's functions on files. By the constructor, once. What fails
// is one line, and nothing is gathered.
void install_gather(const TunersKnowledge& knowledge) noexcept;

}  // namespace iotune::gather
