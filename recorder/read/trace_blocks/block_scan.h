// Finds the blocks of a file, and goes on behind damage.
#pragma once

#include <cstdint>
#include <vector>

#include "recorder/format.h"
#include "recorder/read/trace_blocks/input_file.h"

namespace iotune::recorder {

// Larger ones are damage: no writer makes them, and a wrong length must not cost memory.
inline constexpr std::uint32_t kMaxPayloadBytes = 64U << 20U;

struct BlockPlace {
  std::uint8_t type;     // may be one that this version does not know
  std::uint64_t offset;  // of the payload in the file
  std::uint32_t bytes;   // of the payload
  // Damage before this block may have swallowed a PROCESS block: whose it is is not known.
  bool orphan;
};

struct BlockScan {
  std::vector<BlockPlace> blocks;
  std::uint64_t skipped_bytes = 0;
  std::uint64_t first_skipped = 0;  // its offset, where bytes were skipped
};

// Appends the blocks of [begin, end) of the file, all with good checksums. Zeros behind the
// last block do not count as skipped.
void scan_blocks(const InputFile& file, std::uint64_t begin, std::uint64_t end, BlockScan& scan);

}  // namespace iotune::recorder
