// Positions of files after a privilege drop, when the kernel can no longer be asked: counted on
// from the moment of the privilege drop by the calls that are seen. Known by the file's number,
// which descriptors made by dup share, as they share the position.
#pragma once

#include <cstdint>

namespace iotune::recorder {

// Just before the privilege drop: asks for the position of every traced descriptor.
void save_offsets() noexcept;

// The file was opened after the privilege drop. `appends`: its writes go to an end that nobody
// knows.
void save_offset_of_opened(std::uint32_t file, bool appends) noexcept;

// Where a call at the position that moved `bytes` found it; -1: unknown.
// `appends`: it wrote to the end, so that from then on nobody knows until the next lseek.
std::int64_t saved_offset_before(std::uint32_t file, std::int64_t bytes, bool appends) noexcept;

// The program's lseek returned `position`.
void save_offset_after_seek(std::uint32_t file, std::int64_t position) noexcept;

}  // namespace iotune::recorder
