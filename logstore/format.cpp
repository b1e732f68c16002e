#include "logstore/format.h"

#include <cstring>

#include "patterns/bytes.h"
#include "patterns/crc32c.h"

namespace iotune::logstore {
namespace {

using patterns::ByteReader;
using patterns::ByteWriter;

constexpr std::size_t kMagicBytes = 16;
constexpr std::size_t kCheckedBytes = kHeadBytes - 4;
constexpr char kDescriptionMagic[kMagicBytes] = "IOTUNE-LOGSTORE";
constexpr char kIndexMagic[kMagicBytes] = "IOTUNE-LOGINDEX";

void finish_head(ByteWriter& writer, HeadBytes to) noexcept {
  while (writer.bytes_used() < kCheckedBytes) writer.u8(0);
  writer.u32le(patterns::crc32c(to.data(), kCheckedBytes));
}

void begin_head(ByteWriter& writer, const char* magic) noexcept {
  writer.raw(magic, kMagicBytes);
  writer.u32le(kFormatVersion);
  writer.u32le(0);
}

// A newer version is recognised before the checksum: it may stand elsewhere there.
HeadProblem check_head(ConstHeadBytes bytes, const char* magic, std::uint32_t& version) noexcept {
  if (std::memcmp(bytes.data(), magic, kMagicBytes) != 0) return HeadProblem::kNotOurs;
  ByteReader reader(bytes.subspan(kMagicBytes));
  version = reader.u32le();
  const std::uint32_t flags = reader.u32le();
  if (version > kFormatVersion) return HeadProblem::kNewer;
  const std::uint32_t crc = ByteReader(bytes.subspan(kCheckedBytes)).u32le();
  if (version == 0 || crc != patterns::crc32c(bytes.data(), kCheckedBytes)) {
    return HeadProblem::kDamaged;
  }
  return flags == 0 ? HeadProblem::kNone : HeadProblem::kUnknownFlags;
}

bool is_letter_or_digit(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

}  // namespace

const char kReadmeText[] =
    "This directory is one file. A program wrote it below a prefix that iotune's log store\n"
    "was asked to keep: each process has appended its writes to a log of its own (*.log),\n"
    "and an index beside it (*.index) says where in the file they belong.\n"
    "\n"
    "To get the file back as an ordinary one:  iotune log flatten THIS-DIRECTORY FILE\n"
    "To look at what is in it:                 iotune log stat THIS-DIRECTORY\n"
    "\n"
    "Copy, move or remove the directory as a whole only. The format of its files is\n"
    "described in logstore/FORMAT.md of iotune's sources.\n";

bool is_writer_name(const char* name, std::size_t size) noexcept {
  if (size == 0 || size > kLongestWriterName || !is_letter_or_digit(name[0])) return false;
  for (std::size_t i = 1; i < size; ++i) {
    const char c = name[i];
    if (!is_letter_or_digit(c) && c != '.' && c != '_' && c != '-') return false;
  }
  return true;
}

void write_description(const Description& description, HeadBytes to) noexcept {
  ByteWriter writer(to);
  begin_head(writer, kDescriptionMagic);
  writer.u64le(description.container_id);
  writer.u64le(static_cast<std::uint64_t>(description.made_ns));
  finish_head(writer, to);
}

HeadProblem read_description(ConstHeadBytes bytes, Description& description,
                             std::uint32_t& version) noexcept {
  const HeadProblem problem = check_head(bytes, kDescriptionMagic, version);
  if (problem != HeadProblem::kNone) return problem;
  ByteReader reader(bytes.subspan(kMagicBytes + 8));
  description.container_id = reader.u64le();
  description.made_ns = static_cast<std::int64_t>(reader.u64le());
  return description.container_id == 0 ? HeadProblem::kDamaged : HeadProblem::kNone;
}

void write_index_head(const IndexHead& head, HeadBytes to) noexcept {
  ByteWriter writer(to);
  begin_head(writer, kIndexMagic);
  writer.u64le(head.container_id);
  writer.u64le(static_cast<std::uint64_t>(head.begin_ns));
  writer.u64le(static_cast<std::uint64_t>(head.shift_ns));
  writer.u64le(static_cast<std::uint64_t>(head.error_ns));
  finish_head(writer, to);
}

HeadProblem read_index_head(ConstHeadBytes bytes, IndexHead& head,
                            std::uint32_t& version) noexcept {
  const HeadProblem problem = check_head(bytes, kIndexMagic, version);
  if (problem != HeadProblem::kNone) return problem;
  ByteReader reader(bytes.subspan(kMagicBytes + 8));
  head.container_id = reader.u64le();
  head.begin_ns = static_cast<std::int64_t>(reader.u64le());
  head.shift_ns = static_cast<std::int64_t>(reader.u64le());
  head.error_ns = static_cast<std::int64_t>(reader.u64le());
  return HeadProblem::kNone;
}

}  // namespace iotune::logstore
