#include "logstore/read/merged_index.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "analyzer/index/index_file.h"
#include "analyzer/index/tuple_file.h"
#include "logstore/format.h"
#include "patterns/bytes.h"
#include "patterns/crc32c.h"

namespace iotune::logstore {
namespace {

using patterns::ByteReader;
using patterns::ByteWriter;

constexpr std::size_t kMagicBytes = 16;
constexpr char kMagic[kMagicBytes] = "IOTUNE-LOGMERGE";
constexpr std::size_t kCheckedBytes = kHeadBytes - 4;
constexpr std::uint32_t kNotSynced = 1;  // the flag
constexpr char kCompacted[] = "compacted.";
// Up to so many bytes the whole stands twice: the single indexes may be gone.
constexpr std::size_t kMostTwice = std::size_t{1} << 18;

// `copy` is one of the two, or all there is.
Result<MergedBytes> read_copy(std::span<const std::byte> copy, std::uint64_t container_id,
                              const ReadLimits& limits) {
  const auto damaged = [](const char* what) { return MergedBytes{std::nullopt, what}; };
  if (copy.size() < kHeadBytes) return damaged("is cut off");
  if (std::memcmp(copy.data(), kMagic, kMagicBytes) != 0) return damaged("is no merged index");
  ByteReader head(copy.subspan(kMagicBytes));
  const std::uint32_t version = head.u32le();
  const std::uint32_t flags = head.u32le();
  if (version > kFormatVersion) {
    return Error{kMergedName, "is of version " + std::to_string(version) +
                                  " of the log store; this iotune reads " +
                                  std::to_string(kFormatVersion)};
  }
  const std::uint32_t crc = ByteReader(copy.subspan(kCheckedBytes)).u32le();
  if (version == 0 || crc != patterns::crc32c(copy.data(), kCheckedBytes)) {
    return damaged("has a damaged head");
  }
  if ((flags & ~kNotSynced) != 0) {
    return Error{kMergedName, "has flags that this iotune does not know"};
  }
  MergedIndex merged;
  merged.is_synced = (flags & kNotSynced) == 0;
  merged.container_id = head.u64le();
  merged.generation = head.u64le();
  merged.size = static_cast<std::int64_t>(head.u64le());
  const std::uint64_t payload_bytes = head.u64le();
  const std::uint32_t payload_crc = head.u32le();
  if (merged.container_id != container_id) return Error{kMergedName, "is of another container"};
  if (merged.size < 0 || merged.size > kLargestFile) return damaged("has no size");
  if (payload_bytes > copy.size() - kHeadBytes) return damaged("is cut off");
  const auto payload = copy.subspan(kHeadBytes, payload_bytes);
  if (payload_crc != patterns::crc32c(payload.data(), payload.size())) return damaged("is damaged");

  ByteReader in(payload);
  std::vector<std::int64_t> rows;
  if (!analyzer::read_tuples(in, 2, limits.writers, rows)) return damaged("has a damaged list");
  for (std::size_t i = 0; i < rows.size(); i += 2) {
    if (rows[i] < 0 || rows[i + 1] < 0 || rows[i + 1] > kLargestFile) {
      return damaged("has a damaged list");
    }
    merged.covered.push_back({rows[i], rows[i + 1]});
  }
  analyzer::StreamNames retired;
  const std::size_t most_names = limits.writers * kLongestWriterName;
  if (!analyzer::StreamNames::read(in, most_names, retired)) return damaged("has damaged names");
  for (std::size_t i = 0; i < retired.size(); ++i) merged.retired.push_back(retired[i]);
  analyzer::ReadLimits index_limits;
  index_limits.block_bytes = limits.entries * std::size_t{64};
  index_limits.index.entries = limits.entries;
  auto file = analyzer::read_index_blocks(in.take(in.bytes_left()), index_limits);
  if (!file) return damaged("has no index in it");
  if (file->blocks.size() != 1 || file->bytes_passed_over != 0) {
    return damaged("has a damaged index in it");
  }
  merged.parts = std::move(file->blocks[0]);
  const auto& names = merged.parts.names;
  if (merged.parts.ends.size() != merged.covered.size() || names.size() != merged.covered.size()) {
    return damaged("has writers without a name");
  }
  std::set<std::string> seen;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string name = names[i];
    if (!is_writer_name(name.data(), name.size()) || !seen.insert(name).second) {
      return damaged("has a name that no writer has");
    }
  }
  for (const auto& [stream, knots] : merged.parts.knots) {
    for (const auto& knot : knots) {
      if (knot.time < 0 || knot.time >= kMergedTimes) return damaged("has times of no compaction");
    }
  }
  // What the numbers mean is checked by who merges indexes.
  analyzer::IndexBuilder trial(index_limits.index);
  if (trial.add(merged.parts)) return damaged("has entries of no index");
  return MergedBytes{std::move(merged), ""};
}

}  // namespace

bool is_compacted_name(const std::string& writer) {
  const std::size_t before = sizeof kCompacted - 1;
  return writer.size() > before && writer.starts_with(kCompacted) &&
         std::all_of(writer.begin() + static_cast<std::ptrdiff_t>(before), writer.end(),
                     [](char c) { return c >= '0' && c <= '9'; });
}

std::string compacted_name(std::uint64_t generation) {
  return kCompacted + std::to_string(generation);
}

std::vector<std::byte> write_merged_index(const MergedIndex& merged) {
  std::vector<std::byte> payload;
  std::vector<std::int64_t> rows;
  for (const CoveredWriter& one : merged.covered) {
    rows.insert(rows.end(), {one.index_bytes, one.log_bytes});
  }
  analyzer::append_tuples(payload, rows, 2);
  analyzer::StreamNames(merged.retired).write(payload);
  const auto head = analyzer::index_file_head();
  payload.insert(payload.end(), head.begin(), head.end());
  const auto block = analyzer::index_block(merged.parts);
  payload.insert(payload.end(), block.begin(), block.end());

  std::vector<std::byte> bytes(kHeadBytes);
  ByteWriter writer(bytes);
  writer.raw(kMagic, kMagicBytes);
  writer.u32le(kFormatVersion);
  writer.u32le(merged.is_synced ? 0 : kNotSynced);
  writer.u64le(merged.container_id);
  writer.u64le(merged.generation);
  writer.u64le(static_cast<std::uint64_t>(merged.size));
  writer.u64le(payload.size());
  writer.u32le(patterns::crc32c(payload.data(), payload.size()));
  writer.u32le(patterns::crc32c(bytes.data(), kCheckedBytes));
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  if (bytes.size() <= kMostTwice) {
    const std::vector<std::byte> once = bytes;
    bytes.insert(bytes.end(), once.begin(), once.end());
  }
  return bytes;
}

Result<MergedBytes> read_merged_index(std::span<const std::byte> bytes, std::uint64_t container_id,
                                      const ReadLimits& limits) {
  auto first = read_copy(bytes, container_id, limits);
  if (!first || first->merged || bytes.size() > 2 * kMostTwice || bytes.size() % 2 != 0) {
    return first;
  }
  auto second = read_copy(bytes.subspan(bytes.size() / 2), container_id, limits);
  return second && !second->merged ? std::move(first) : std::move(second);
}

}  // namespace iotune::logstore
