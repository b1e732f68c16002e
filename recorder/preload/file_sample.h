// Of a long series of files (plt00000.h5, plt00001.h5 …) the first ones are recorded whole and of
// the further ones a sample: recording hundreds of calls of each of thousands of files that are
// alike would take a share of a run's time that the run has no good of. Of the others stand in the
// trace their names, when they were opened and closed, and what was decided for them. And a run
// that goes through a long series again, as training does epoch by epoch, shows nothing new: of a
// file that is read, or made, once more stand there the calls that open and close it.
#pragma once

#include <cstdint>

namespace iotune::recorder {

// Recorded whole of every series, and of the further files one in so many.
constexpr std::uint32_t kWholeFiles = 4, kSampledOne = 64;

// How a file is opened: what is changed in place may be another thing each time.
enum class FileUse : std::uint8_t { kReads, kMakes, kChanges };

// Of a file that is to be opened: whether its calls are recorded, only what was decided, or, where
// that has been opened for the same use before, its opening alone. The same in every process that
// opens the series' files in order; kWhole where all is to be recorded (IOTUNE_RECORD) and for
// names without numbers.
enum class Recorded : std::uint8_t { kWhole, kDecision, kOpening };
Recorded recorded_of(const char* path, FileUse use) noexcept;

// It has been opened.
void remember_opened(const char* path, FileUse use) noexcept;

// Of how many openings the calls were not recorded, in this process.
void count_sampled_out() noexcept;
std::uint64_t sampled_out_files() noexcept;

}  // namespace iotune::recorder
