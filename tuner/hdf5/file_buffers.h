// What HDF5 keeps of a file in memory: the page buffer, the metadata cache, and what of it goes
// when an object is closed. Not in every HDF5, nor in every build of one.
#pragma once

#include "core/abi/hdf5_api.h"
#include "tuner/decision/reasons.h"

namespace iotune::tuner {

// Why the setting is of no use here, kNone: it is. Each `set` is for lists of which that was
// asked.
Reason unfit_page_buffer(const Hdf5Api& api, bool mpio, bool only_reads,
                         std::uint64_t bytes) noexcept;
Reason unfit_metadata_cache(const Hdf5Api& api, std::uint64_t bytes) noexcept;
Reason unfit_evict_on_close(const Hdf5Api& api) noexcept;

void set_page_buffer(const Hdf5Api& api, Hid fapl, std::uint64_t bytes) noexcept;
// Of the file's own access list: HDF5 keeps 0 where the file has no pages.
bool get_page_buffer(const Hdf5Api& api, Hid fapl, std::uint64_t& bytes) noexcept;

// The size that the cache begins with; HDF5 goes on to adapt it, within limits that hold it.
void set_metadata_cache(const Hdf5Api& api, Hid fapl, std::uint64_t bytes) noexcept;
bool get_metadata_cache(const Hdf5Api& api, Hid file, std::uint64_t& bytes) noexcept;

}  // namespace iotune::tuner
