// The fixed parts of a container's files (FORMAT.md), for those who write and those who read them.
// Part of the preload: no allocation, no C++ runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace iotune::logstore {

inline constexpr std::uint32_t kFormatVersion = 1;
// Where anything of the file or of a log may lie, in bytes.
inline constexpr std::int64_t kLargestFile = std::int64_t{1} << 60;

inline constexpr char kReadmeName[] = "README";
inline constexpr char kAppendName[] = "append";
inline constexpr char kDescriptionName[] = "container";
inline constexpr char kHandleName[] = "handle";
// In place of the indexes of many writers, and the same before it is whole.
inline constexpr char kMergedName[] = "merged.index";
inline constexpr char kNewMergedName[] = "merged.index.new";
inline constexpr std::size_t kGenerationAt = 32;  // of a merged index, in its head
inline constexpr char kLogEnding[] = ".log";
inline constexpr char kIndexEnding[] = ".index";
inline constexpr std::size_t kLongestWriterName = 100;
// What stands in a container's README.
extern const char kReadmeText[];

// May a writer be called so?
bool is_writer_name(const char* name, std::size_t size) noexcept;

inline constexpr std::size_t kHeadBytes = 64;
using HeadBytes = std::span<std::byte, kHeadBytes>;
using ConstHeadBytes = std::span<const std::byte, kHeadBytes>;

enum class HeadProblem : std::uint8_t { kNone, kNotOurs, kNewer, kUnknownFlags, kDamaged };

struct Description {
  std::uint64_t container_id;  // not 0
  std::int64_t made_ns;        // since 1970
};
void write_description(const Description& description, HeadBytes to) noexcept;
// `version` is set wherever the bytes are ours at all.
HeadProblem read_description(ConstHeadBytes bytes, Description& description,
                             std::uint32_t& version) noexcept;

struct IndexHead {
  std::uint64_t container_id;
  std::int64_t begin_ns;  // since 1970; times of the blocks count from here
  std::int64_t shift_ns;  // to be added to all times
  std::int64_t error_ns;  // against other nodes; -1: not known
};
void write_index_head(const IndexHead& head, HeadBytes to) noexcept;
HeadProblem read_index_head(ConstHeadBytes bytes, IndexHead& head, std::uint32_t& version) noexcept;

inline constexpr std::uint32_t kBlockMagic = 0x4b4c424cU;  // "LBLK"
inline constexpr std::size_t kBlockHeadBytes = 40;
inline constexpr std::size_t kBlockChecked = 8;  // the crc is of what stands from here on
inline constexpr std::uint32_t kMostPayloadBytes = std::uint32_t{1} << 26;
inline constexpr std::uint32_t kDurable = 1;  // the flag
inline constexpr std::uint32_t kKnownBlockFlags = kDurable;

}  // namespace iotune::logstore
