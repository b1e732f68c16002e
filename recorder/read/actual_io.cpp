#include "recorder/read/actual_io.h"

#include <algorithm>

namespace iotune::recorder {
namespace {

constexpr std::array<const char*, kActualModes> kModes = {
    "independent",    "independent (chunks)",    "collective (chunks)",
    "mixed (chunks)", "collective (contiguous)", "in a way that iotune does not know"};
constexpr std::array<const char*, kCollectiveCauses> kCauses = {
    "independent transfers were asked for",
    "datatype conversion",
    "data transforms",
    "MPI's derived types are switched off",
    "a dataspace is neither simple nor scalar",
    "the dataset is neither contiguous nor chunked",
    "no filtered writes in parallel",
    "HDF5 could not find out",
    "no selection I/O",
    "a cause that iotune does not know"};

}  // namespace

const char* actual_mode_text(std::size_t mode) {
  return kModes[std::min(mode, kActualModes - 1)];
}

const char* collective_cause_text(std::size_t bit) {
  return kCauses[std::min(bit, kCollectiveCauses - 1)];
}

void ActualCounts::add(const TransferExtras::Actual& actual, std::uint64_t transfers) {
  const auto mode = static_cast<std::size_t>(actual.io_mode);
  modes[std::min(mode, kActualModes - 1)] += transfers;
  const auto bits = static_cast<std::uint64_t>(actual.global_cause);
  for (std::size_t bit = 0; bit + 1 < kCollectiveCauses; ++bit) {
    if ((bits >> bit & 1) != 0) causes[bit] += transfers;
  }
  if (bits >> (kCollectiveCauses - 1) != 0) causes[kCollectiveCauses - 1] += transfers;
}

void ActualCounts::add(const ActualCounts& other) {
  for (std::size_t i = 0; i < kActualModes; ++i) modes[i] += other.modes[i];
  for (std::size_t i = 0; i < kCollectiveCauses; ++i) causes[i] += other.causes[i];
}

}  // namespace iotune::recorder
