// Decision and settings at H5Fcreate and H5Fopen.
#pragma once

#include "recorder/hooks/decisions.h"

namespace iotune::tuner {

void follow_fapl_mpio(Provider& hdf5, std::int64_t fapl, Word comm, Word info) noexcept;
void before_hdf5_open(Provider& hdf5, const char* path, recorder::Hdf5Making making,
                      std::int64_t& fapl, recorder::OpenState& state) noexcept;
bool again_hdf5_open(Provider& hdf5, const char* path, std::int64_t file, std::int64_t& fapl,
                     recorder::OpenState& state) noexcept;
void after_hdf5_open(Provider& hdf5, const char* path, std::int64_t file,
                     recorder::OpenState& state) noexcept;

}  // namespace iotune::tuner
