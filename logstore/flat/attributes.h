// What a file has beside its bytes, taken from the container that it was.
#pragma once

namespace iotune::logstore {

// Gives `file`, which is open for writing, the mode, times, access list and extended attributes of
// the container in `directory` and, as far as allowed, its owner. 0 or -errno.
int take_attributes(int directory, int file) noexcept;

}  // namespace iotune::logstore
