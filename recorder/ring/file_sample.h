// Of a long series of files (plt00000.h5, plt00001.h5 …; of out_h0_#.h5 and out_h1_#.h5 in turns
// each) the first ones are recorded whole and of the further ones a sample: recording hundreds of
// calls of each of thousands of files that are alike would take a share of a run's time that the
// run has no good of. Of the others stand in the trace their names, when they were opened and
// closed, and what was decided for them.
#pragma once

#include <cstdint>

namespace iotune::recorder {

// Recorded whole of every series, and of the further files one in so many.
constexpr std::uint32_t kWholeFiles = 4, kSampledOne = 256;

// Whether a further file's name is one of the sample, by its FNV-1a: by the name, so that ranks
// need not have counted alike. The hash's low bits follow the last characters too closely.
constexpr bool is_drawn(std::uint64_t name_hash) noexcept {
  return ((name_hash ^ name_hash >> 32U) * 0x9e3779b97f4a7c15u >> 40U) % kSampledOne == 0;
}

// Whether the calls on this file, which is to be opened, need not be recorded. Says the same of a
// name whenever it is asked, and the same in every process that opens the series' files in order;
// false where all is to be recorded (IOTUNE_RECORD) and for names without numbers.
bool is_sampled_out(const char* path) noexcept;

// Whether nobody else works on a file meanwhile, so that what is done until its close is known to
// be on it; false where a service has to see all transfers.
bool one_thread_records() noexcept;

// Whether of the HDF5 file that this thread is opening no calls are recorded.
bool is_opening_unrecorded() noexcept;

// Of how many openings the calls were not recorded, in this process.
void count_sampled_out() noexcept;
std::uint64_t sampled_out_files() noexcept;

}  // namespace iotune::recorder
