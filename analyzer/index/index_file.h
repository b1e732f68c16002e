// An index as bytes: analyzer/index/FORMAT.md. A file is a sequence of blocks that each stand for
// themselves, so that ranks may append theirs and a log store what came since the last time.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "analyzer/index/index_builder.h"
#include "analyzer/index/offset_index.h"

namespace iotune::analyzer {

inline constexpr char kIndexFileMagic[] = "IOTUNE-INDEX";  // 12 bytes, without its NUL
inline constexpr std::uint32_t kIndexFileVersion = 1;
inline constexpr std::uint32_t kIndexBlockMagic = 0x58444949U;  // "IIDX"

// The head of a file; blocks may follow.
std::vector<std::byte> index_file_head();
// One block, to be appended to a file's bytes.
std::vector<std::byte> index_block(const IndexParts& parts);
// A file with one block.
std::vector<std::byte> write_index(const OffsetIndex& index);

struct ReadLimits {
  // What a block may be unpacked to. A block is never trusted with more, whatever it says.
  std::size_t block_bytes = std::size_t{1} << 30U;
  IndexLimits index;
};

struct IndexFile {
  std::vector<IndexParts> blocks;     // in the file's order
  std::size_t bytes_passed_over = 0;  // of damage, or of a block cut off
};

// Every whole block. What is damaged is passed over to the next block, and counted. An error only
// where the head is not that of an index.
Result<IndexFile> read_index_blocks(std::span<const std::byte> bytes,
                                    const ReadLimits& limits = {});

// All blocks joined, as IndexBuilder::add does it: streams have the same numbers in all blocks.
// An error where a block contradicts another one, or `allow_damage` is not set and bytes were
// passed over.
Result<OffsetIndex> read_index(std::span<const std::byte> bytes, bool allow_damage = false,
                               const ReadLimits& limits = {});

}  // namespace iotune::analyzer
