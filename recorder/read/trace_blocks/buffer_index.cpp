#include "recorder/read/trace_blocks/buffer_index.h"

#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <string>

#include "core/os/host_label.h"
#include "recorder/read/trace_blocks/block_sorter.h"
#include "recorder/read/trace_blocks/block_text.h"

namespace iotune::recorder {
namespace {

// Field 22 of /proc/PID/stat; empty where there is no such process, or only its zombie.
std::string start_time_of(std::uint32_t pid) {
  const Result<InputFile> stat = InputFile::open("/proc/" + std::to_string(pid) + "/stat");
  if (!stat) return {};
  std::array<std::byte, 1024> bytes{};
  const std::size_t size = stat->read(0, bytes);
  const std::string text(reinterpret_cast<const char*>(bytes.data()), size);
  // The program's name may hold spaces and parentheses; field 3 follows its last one.
  std::size_t at = text.rfind(')');
  if (at != std::string::npos && (text.substr(at, 3) == ") Z" || text.substr(at, 3) == ") X")) {
    return {};
  }
  for (int field = 2; field < 22 && at != std::string::npos; ++field) at = text.find(' ', at + 1);
  if (at == std::string::npos) return {};
  return text.substr(at + 1, text.find(' ', at + 1) - at - 1);
}

// The buffer's name is HOST.PID.START_TIME.RANDOM.iobuf: a pid alone may be somebody else's by
// now. True where it is not known.
bool owner_runs(const InputFile& file, std::uint32_t pid, const std::string& host) {
  utsname names{};
  if (::uname(&names) != 0) return true;
  std::string here;
  make_host_label(names.nodename, [&](char letter) { here += letter; });
  if (!host.empty() && host != here) return true;
  const std::string start = start_time_of(pid);
  if (start.empty()) return false;
  const std::string name = file.path().substr(file.path().rfind('/') + 1);
  const std::string beginning = "." + std::to_string(pid) + ".";
  const std::size_t at = name.find(beginning);
  if (at == std::string::npos) return true;
  const std::size_t from = at + beginning.size();
  return name.substr(from, name.find('.', from) - from) == start;
}

struct SourceScan {
  std::uint32_t source = 0;
  BlockScan scan;
};

// What the blocks of a buffer are read from, in the order of their making.
std::vector<SourceScan> scan_buffer(BufferImage& buffer, TraceIndex& index) {
  std::vector<SourceScan> scans(1);
  const auto scan_areas = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < std::min(to, buffer.block_areas.size()); ++i) {
      const auto& [begin, end] = buffer.block_areas[i];
      scan_blocks(index.file, begin, end, scans.back().scan);
    }
  };
  scan_areas(0, 1);
  if (buffer.spilled > 0) {
    const std::string path = spill_path(index.file.path());
    Result<InputFile> spill = InputFile::open(path);
    if (!spill) {
      buffer.damage.push_back("blocks of calls left memory for a file that cannot be read: " +
                              spill.error().text());
    } else {
      if (spill->size() < buffer.spilled) {
        buffer.damage.push_back(std::to_string(buffer.spilled - spill->size()) + " bytes of " +
                                path + " were cut off");
      }
      index.others.push_back(std::move(*spill));
      scans.push_back({static_cast<std::uint32_t>(index.others.size()), {}});
      scan_blocks(index.others.back(), kTraceHeadBytes, buffer.spilled, scans.back().scan);
    }
  }
  scans.emplace_back();
  scan_areas(1, SIZE_MAX);
  for (std::vector<std::byte>& copy : buffer.copied_blocks) {
    index.others.push_back(InputFile::of_bytes(index.file.path(), std::move(copy)));
    scans.push_back({static_cast<std::uint32_t>(index.others.size()), {}});
    scan_blocks(index.others.back(), 0, UINT64_MAX, scans.back().scan);
  }
  return scans;
}

}  // namespace

void index_buffer(BufferImage& buffer, TraceIndex& index) {
  std::vector<SourceScan> scans = scan_buffer(buffer, index);
  index.processes.emplace_back();
  ProcessSection& section = index.processes.back();
  section.attributes["pid"] = std::to_string(buffer.pid);
  section.attributes["start_ticks"] = std::to_string(buffer.first_ticks);
  section.attributes["wall_ns"] = std::to_string(buffer.first_realtime_ns);
  bool any = false;
  for (auto& [source, scan] : scans) {
    for (BlockPlace& block : scan.blocks) {
      any = true;
      // Damage to PROCESS leaves no doubt here: a buffer has one process.
      block.orphan = false;
      if (static_cast<BlockType>(block.type) != BlockType::kProcess) continue;
      read_block_text(read_bytes(index.source(source), block.offset, block.bytes),
                      section.attributes);
      // The header has no checksum of its own.
      if (unsigned_of(section.attributes, "pid") != buffer.pid ||
          unsigned_of(section.attributes, "start_ticks") != buffer.first_ticks ||
          unsigned_of(section.attributes, "wall_ns") != buffer.first_realtime_ns) {
        section.damage.emplace_back("the header and the first block do not agree");
      }
    }
  }
  if (!any) section.damage.emplace_back("the block that says whose calls these are is lost");
  BlockSorter sorter(index);
  for (auto& [source, scan] : scans) {
    std::erase_if(scan.blocks, [](const BlockPlace& block) {
      return static_cast<BlockType>(block.type) == BlockType::kProcess;
    });
    sorter.add(scan, source);
  }
  sorter.finish();

  section.damage.insert(section.damage.end(), buffer.damage.begin(), buffer.damage.end());
  section.dropped = std::max(section.dropped, buffer.dropped);
  index.in_use = owner_runs(index.file, buffer.pid, section.attributes["host"]);
  section.alive = buffer.state == 0 && index.in_use;
  const std::uint64_t table = unsigned_of(section.attributes, "table");
  for (const RingImage& ring : buffer.rings) {
    if (section.attributes.contains("table") && table != call_table_crc()) {
      section.damage.push_back("the last calls of thread " + std::to_string(ring.thread) +
                               " were recorded by another version of iotune: left out");
      continue;
    }
    EventsPlace place{};
    EncodedRing encoded =
        encode_ring_image(buffer, ring, unsigned_of(section.attributes, "ticks_per_second"));
    const std::size_t whole_bytes = encoded.whole_bytes;
    place.memory = std::move(encoded.events);
    place.marks_memory = std::move(encoded.marks);
    if (!read_epoch(place.memory, place)) {
      section.damage.push_back("the last calls of thread " + std::to_string(ring.thread) +
                               " are damaged");
      continue;
    }
    const bool stands_in_a_block =
        std::ranges::any_of(section.events, [&](const EventsPlace& other) {
          return other.thread == place.thread && other.epoch == place.epoch &&
                 other.calls >= place.calls;
        });
    // Of a list that is being gone on with, one call may be there before its number is.
    if (!stands_in_a_block && whole_bytes + kRecordHeadBytes <= ring.records.size()) {
      section.damage.push_back("the calls of thread " + std::to_string(ring.thread) + " in " +
                               std::to_string(ring.records.size() - whole_bytes) +
                               " bytes behind a damaged record are lost");
    }
    section.add(std::move(place));  // of a block and a ring of one epoch, the one with more calls
  }
}

}  // namespace iotune::recorder
