// What is known of the datasets that a program moves data of.
#pragma once

#include "core/abi/hdf5_api.h"

namespace iotune::recorder {

inline constexpr int kMaxDimensions = 32;  // H5S_MAX_RANK

// The dataset's number in this process. The first time its description is recorded (the pseudo
// call iotune_dataset). 0 where it is none, nothing is recorded, or it must not be asked.
std::int64_t object_of(Provider& provider, Hid dataset) noexcept;

// Where the dataset has a number: its description once more, under the same number.
void describe_again(Provider& provider, Hid dataset) noexcept;

struct ChunkShape {
  int dimensions;  // below 1: not chunked
  std::uint64_t chunk[kMaxDimensions];
  std::size_t element_bytes;
};
// Of the dataset with this number; the last one of a thread is remembered, because reading the
// creation list costs more than a small chunk's transfer.
const ChunkShape& chunk_shape(const Hdf5Api& api, Hid dataset, std::int64_t object) noexcept;

}  // namespace iotune::recorder
