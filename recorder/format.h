// Numbers of recorder/FORMAT.md that the writing and the reading side share.
#pragma once

#include <cstddef>
#include <cstdint>

namespace iotune::recorder {

inline constexpr std::uint32_t kFormatVersion = 3;
// Traces and buffers of older versions than that are refused.
inline constexpr std::uint32_t kOldestReadVersion = 2;

inline constexpr char kTraceMagic[] = "IOTUNE-TRACE";  // 12 bytes without the NUL
inline constexpr std::size_t kTraceHeadBytes = 16;

inline constexpr std::uint32_t kBlockMagic = 0x4B4C4249;
inline constexpr std::size_t kBlockHeadBytes = 16;
inline constexpr std::size_t kBlockAlignment = 8;

enum class BlockType : std::uint8_t {
  kProcess = 1,
  kEvents = 2,
  kEnd = 3,
  kShared = 4,
  kMarks = 5
};

// Flags of a stream above the mask of layers.
inline constexpr std::uint64_t kEveryTimeExact = 1U << 4U;
inline constexpr std::uint64_t kLayerMask = 0x0f;

// Form of the order of calls; less than that are the modes of tuples, which version 2 has there.
inline constexpr std::uint8_t kOrderAsSurprises = 3;

inline constexpr std::size_t kRingHeadBytes = 64;
// Behind a ring's head: marks of time.
inline constexpr std::size_t kRingMarksBytes = 64 * 24;
inline constexpr std::size_t kRecordHeadBytes = 32;
// Byte 7 of a record.
inline constexpr std::uint8_t kControlRecord = 1, kExactRecord = 2;

inline constexpr std::size_t kBufferHeadBytes = 8192;
inline constexpr std::size_t kSegmentTableOffset = 128;
inline constexpr std::size_t kSegmentEntryBytes = 24;
inline constexpr std::uint32_t kMaxBufferSegments = 336;
inline constexpr char kSpillSuffix[] = ".iospill";
enum class SegmentKind : std::uint32_t { kBlocks = 1, kRing = 2 };

}  // namespace iotune::recorder
