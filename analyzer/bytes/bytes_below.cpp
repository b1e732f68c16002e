#include "analyzer/bytes/bytes_below.h"

#include "recorder/read/access_words.h"

namespace iotune::analyzer {
namespace {

constexpr std::size_t kMostMoved = std::size_t{1} << 16U;  // within one call

}  // namespace

void BytesBelow::moved(const recorder::Call& call, const FileRecord& file, bool write) {
  const recorder::AccessWords words = recorder::access_words(call);
  if (words.length_bytes.value_or(0) <= 0) return;
  std::vector<Moved>& moved = moved_[call.thread];
  if (moved.size() > kMostMoved) return;
  const bool placed = words.offset_bytes && *words.offset_bytes >= 0;
  const auto bytes = static_cast<std::uint64_t>(*words.length_bytes);
  moved.push_back({&file, write, placed ? static_cast<std::uint64_t>(*words.offset_bytes) : 0,
                   placed ? bytes : 0});
}

std::vector<FileExtent> BytesBelow::take(std::uint32_t thread, const FileRecord& file, bool write) {
  std::vector<FileExtent> extents;
  const auto found = moved_.find(thread);
  if (found == moved_.end()) return extents;
  bool whole = found->second.size() <= kMostMoved;
  for (const Moved& one : found->second) {
    if (one.file != &file || one.write != write) continue;
    whole = whole && one.bytes > 0;
    if (!extents.empty() && extents.back().offset + extents.back().bytes == one.offset) {
      extents.back().bytes += one.bytes;
    } else {
      extents.push_back({one.offset, one.bytes});
    }
  }
  moved_.erase(found);
  if (!whole) extents.clear();
  return extents;
}

}  // namespace iotune::analyzer
