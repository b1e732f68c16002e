#include "recorder/read/trace_blocks/trace_index.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "patterns/bytes.h"
#include "recorder/read/trace_blocks/block_scan.h"
#include "recorder/read/trace_blocks/block_sorter.h"
#include "recorder/read/trace_blocks/buffer_index.h"

namespace iotune::recorder {
namespace {

std::uint64_t rank_or_last(const ProcessSection& section) {
  const auto rank = section.attributes.find("rank");
  const bool known = rank != section.attributes.end() && rank->second != "-1";
  return known ? unsigned_of(section.attributes, "rank") : UINT64_MAX;
}

}  // namespace

std::uint64_t unsigned_of(const Attributes& attributes, const char* key) {
  const auto found = attributes.find(key);
  std::uint64_t value = 0;
  if (found != attributes.end()) {
    std::from_chars(found->second.data(), found->second.data() + found->second.size(), value);
  }
  return value;
}

std::string ProcessSection::identity() const {
  const auto pid = attributes.find("pid"), ticks = attributes.find("start_ticks"),
             host = attributes.find("host");
  if (pid == attributes.end() || ticks == attributes.end()) return {};
  return (host == attributes.end() ? std::string() : host->second) + ' ' + pid->second + ' ' +
         ticks->second;
}

void ProcessSection::add(EventsPlace place) {
  const auto [found, added] = by_epoch.try_emplace({place.thread, place.epoch}, events.size());
  if (added) {
    events.push_back(std::move(place));
  } else if (place.calls > events[found->second].calls) {
    events[found->second] = std::move(place);
  }
}

EventsPlace* ProcessSection::find(std::uint64_t thread, std::uint64_t epoch, std::uint64_t calls) {
  const auto found = by_epoch.find({thread, epoch});
  if (found == by_epoch.end() || events[found->second].calls != calls) return nullptr;
  return &events[found->second];
}

Result<TraceIndex> index_trace(const std::string& path) {
  Result<InputFile> file = InputFile::open(path);
  if (!file) return file.error();
  if (is_buffer(*file)) {
    Result<BufferImage> buffer = read_buffer(*file);
    if (!buffer) return buffer.error();
    TraceIndex index{std::move(*file), {}, {}, {}, {}, {}, false};
    index_buffer(*buffer, index);
    return index;
  }
  std::array<std::byte, kTraceHeadBytes> head{};
  constexpr std::size_t kMagicBytes = sizeof kTraceMagic - 1;
  if (file->read(0, head) != head.size() ||
      std::memcmp(head.data(), kTraceMagic, kMagicBytes) != 0) {
    return Error{path, "not a trace of iotune"};
  }
  const std::uint32_t version =
      patterns::ByteReader(std::span<const std::byte>(head).subspan(kMagicBytes)).u32le();
  if (version < kOldestReadVersion || version > kFormatVersion) {
    return Error{path, "trace format version " + std::to_string(version) + ", this iotune reads " +
                           std::to_string(kOldestReadVersion) + " to " +
                           std::to_string(kFormatVersion)};
  }
  TraceIndex index{std::move(*file), {}, {}, {}, {}, {}, false};
  BlockScan scan;
  scan_blocks(index.file, kTraceHeadBytes, UINT64_MAX, scan);
  BlockSorter sorter(index);
  sorter.add(scan);
  sorter.finish();
  // Ranks that share blocks come in the order of these.
  if (!index.shared.empty()) {
    std::stable_sort(index.processes.begin(), index.processes.end(),
                     [](const ProcessSection& a, const ProcessSection& b) {
                       return rank_or_last(a) < rank_or_last(b);
                     });
  }
  for (ProcessSection& section : index.processes) {
    section.dropped = std::max(section.dropped, unsigned_of(section.attributes, "dropped"));
    // Of the buffer that it was joined from.
    if (const auto damage = section.attributes.find("damage"); damage != section.attributes.end()) {
      section.damage.push_back(damage->second);
    }
  }
  return index;
}

std::vector<std::byte> read_payload(const TraceIndex& index, const EventsPlace& place) {
  if (!place.memory.empty()) return place.memory;
  if (place.shared != EventsPlace::kNotShared) {
    return index.shared[place.shared].payload(place.member);
  }
  return read_bytes(index.source(place.source), place.offset, place.bytes);
}

std::vector<std::byte> read_marks(const TraceIndex& index, const EventsPlace& place) {
  if (!place.marks_memory.empty() || place.marks_bytes == 0) return place.marks_memory;
  return read_bytes(index.source(place.marks_source), place.marks_offset, place.marks_bytes);
}

}  // namespace iotune::recorder
