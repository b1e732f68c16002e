// Settings at H5Dcreate and H5Dopen (chunk cache, layout), and at H5Dread and H5Dwrite.
#pragma once

#include "recorder/hooks/decisions.h"

namespace iotune::tuner {

void before_hdf5_dataset(Provider& hdf5, recorder::DatasetCall& call,
                         recorder::OpenState& state) noexcept;
// True: the call is to be made once more, with the lists as they stand now.
bool again_hdf5_dataset(Provider& hdf5, std::int64_t dataset, std::int64_t& dcpl,
                        std::int64_t& dapl, recorder::OpenState& state) noexcept;
void after_hdf5_dataset(Provider& hdf5, std::int64_t dataset, recorder::OpenState& state) noexcept;

void before_hdf5_transfer(Provider& hdf5, std::int64_t dataset, std::int64_t dxpl,
                          recorder::OpenState& state) noexcept;
void after_hdf5_transfer(Provider& hdf5, std::int64_t dataset, int result,
                         recorder::OpenState& state) noexcept;

// Whether all of the above have nothing to do until a file is opened or closed.
bool leaves_datasets_alone() noexcept;

}  // namespace iotune::tuner
