#include "recorder/read/trace_index.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <unordered_map>

#include "patterns/bytes.h"
#include "recorder/read/block_scan.h"
#include "recorder/read/block_text.h"
#include "recorder/read/buffer_reader.h"

namespace iotune::recorder {
namespace {

std::vector<std::byte> read_bytes(const InputFile& file, std::uint64_t offset, std::size_t size) {
  std::vector<std::byte> bytes(size);
  if (file.read(offset, bytes) != size) bytes.clear();
  return bytes;
}

bool read_epoch(std::span<const std::byte> payload, EventsPlace& place) {
  patterns::ByteReader reader(payload);
  place.thread = reader.varint();
  place.epoch = reader.varint();
  place.calls = reader.varint();
  place.base_ns = reader.varint();
  return !reader.failed();
}

// Sorts blocks into the sections of their processes.
class Sorter {
 public:
  // Blocks before the first PROCESS belong to the index's last process, if it has one.
  explicit Sorter(TraceIndex& index)
      : index_(index), current_(index.processes.empty() ? kNobody : index.processes.size() - 1) {
    for (std::size_t i = 0; i < index.processes.size(); ++i) {
      by_identity_.try_emplace(index.processes[i].identity(), i);
    }
  }

  void add(const BlockScan& scan) {
    // Who the ranks were is known first.
    std::vector<const BlockPlace*> of_ranks;
    for (const BlockPlace& block : scan.blocks) {
      if (static_cast<BlockType>(block.type) != BlockType::kShared) continue;
      std::array<std::byte, 1> type{};
      index_.file.read(block.offset, type);
      if (static_cast<BlockType>(type[0]) == BlockType::kProcess) {
        add_shared(read_bytes(index_.file, block.offset, block.bytes));
      } else {
        of_ranks.push_back(&block);
      }
    }
    for (const BlockPlace* block : of_ranks) {
      add_shared(read_bytes(index_.file, block->offset, block->bytes));
    }
    for (const BlockPlace& block : scan.blocks) {
      switch (static_cast<BlockType>(block.type)) {
        case BlockType::kProcess:
          add_process(read_bytes(index_.file, block.offset, block.bytes));
          break;
        case BlockType::kEvents:
          add_events(block);
          break;
        case BlockType::kEnd:
          add_end(block);
          break;
        case BlockType::kShared:
          break;
        default:
          ++unknown_types_;
      }
    }
    if (scan.skipped_bytes > 0) {
      index_.warnings.push_back("damaged: passed over " + std::to_string(scan.skipped_bytes) +
                                " bytes from offset " + std::to_string(scan.first_skipped) + " on");
    }
  }

  void finish() {
    if (unknown_types_ > 0) {
      index_.warnings.push_back(std::to_string(unknown_types_) +
                                " blocks are of a type that this iotune does not know");
    }
    if (unreadable_ > 0) {
      index_.warnings.push_back(std::to_string(unreadable_) + " blocks could not be read");
    }
  }

 private:
  void add_process(const std::vector<std::byte>& payload) {
    Attributes attributes;
    read_block_text(payload, attributes);
    ProcessSection probe;
    probe.attributes = attributes;
    const std::string identity = probe.identity();
    auto& processes = index_.processes;
    std::size_t found = processes.size();
    if (!identity.empty()) {
      found = by_identity_.try_emplace(identity, processes.size()).first->second;
    } else if (current_ != kNobody) {
      found = current_;
    }
    current_ = found;
    if (found == processes.size()) {
      processes.push_back(std::move(probe));
      return;
    }
    for (auto& [key, value] : attributes) processes[found].attributes[key] = std::move(value);
  }

  // What ranks share goes to each of them.
  void add_shared(const std::vector<std::byte>& payload) {
    std::optional<SharedRanks> read = SharedRanks::read(payload);
    if (!read) {
      ++unreadable_;
      return;
    }
    const std::size_t before = current_;
    const auto number = static_cast<std::uint32_t>(index_.shared.size());
    index_.shared.push_back(std::move(*read));
    const SharedRanks& shared = index_.shared.back();
    for (std::size_t k = 0; k < shared.size(); ++k) {
      switch (shared.type()) {
        case BlockType::kProcess: {
          const auto known = by_rank_.find(shared.rank(k));
          current_ = known == by_rank_.end() ? kNobody : known->second;
          add_process(shared.payload(k));
          by_rank_[shared.rank(k)] = current_;
          break;
        }
        case BlockType::kEvents: {
          EventsPlace place{};
          place.thread = shared.token(0, k);
          place.epoch = shared.token(1, k);
          place.calls = shared.token(2, k);
          place.base_ns = shared.base_ns();
          place.shared = number;
          place.member = static_cast<std::uint32_t>(k);
          section_of_rank(shared.rank(k)).add(std::move(place));
          break;
        }
        case BlockType::kEnd:
          add_end_to(section_of_rank(shared.rank(k)), shared.payload(k));
          break;
        default:
          ++unknown_types_;
          break;
      }
    }
    current_ = before;
  }

  ProcessSection& section_of_rank(std::int64_t rank) {
    const auto [found, missing] = by_rank_.try_emplace(rank, index_.processes.size());
    if (missing) {
      index_.processes.emplace_back();
      index_.processes.back().attributes["rank"] = std::to_string(rank);
      index_.processes.back().damage.push_back(
          "the block that says which process this rank was "
          "is lost");
    }
    return index_.processes[found->second];
  }

  ProcessSection& section_of(const BlockPlace& block) {
    if (block.orphan || current_ == kNobody) {
      if (orphan_ == kNobody) {
        index_.processes.emplace_back();
        index_.processes.back().damage.push_back(
            "the block that says whose calls these are is lost");
        orphan_ = index_.processes.size() - 1;
      }
      return index_.processes[orphan_];
    }
    return index_.processes[current_];
  }

  void add_events(const BlockPlace& block) {
    EventsPlace place{};
    std::array<std::byte, 4 * patterns::kMaxVarintBytes> head{};
    const std::size_t got = index_.file.read(
        block.offset, std::span(head).first(std::min<std::size_t>(head.size(), block.bytes)));
    if (!read_epoch(std::span(head).first(got), place)) {
      ++unreadable_;
      return;
    }
    place.offset = block.offset;
    place.bytes = block.bytes;
    section_of(block).add(std::move(place));
  }

  void add_end(const BlockPlace& block) {
    add_end_to(section_of(block), read_bytes(index_.file, block.offset, block.bytes));
  }
  static void add_end_to(ProcessSection& section, const std::vector<std::byte>& payload) {
    read_block_text(payload, section.end);
    section.dropped = unsigned_of(section.end, "dropped");
  }

  static constexpr std::size_t kNobody = SIZE_MAX;
  TraceIndex& index_;
  std::size_t current_, orphan_ = kNobody;
  std::uint64_t unknown_types_ = 0, unreadable_ = 0;
  std::unordered_map<std::string, std::size_t> by_identity_;
  std::unordered_map<std::int64_t, std::size_t> by_rank_;
};

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
// now. True where it cannot be told.
bool owner_runs(const InputFile& file, std::uint32_t pid, const std::string& host) {
  std::array<char, 256> here{};
  if (::gethostname(here.data(), here.size() - 1) != 0) return true;
  if (char* const dot = std::strchr(here.data(), '.')) *dot = '\0';
  if (!host.empty() && host != here.data()) return true;
  const std::string start = start_time_of(pid);
  if (start.empty()) return false;
  const std::string name = file.path().substr(file.path().rfind('/') + 1);
  const std::string beginning = "." + std::to_string(pid) + ".";
  const std::size_t at = name.find(beginning);
  if (at == std::string::npos) return true;
  const std::size_t from = at + beginning.size();
  return name.substr(from, name.find('.', from) - from) == start;
}

std::uint64_t rank_or_last(const ProcessSection& section) {
  const auto rank = section.attributes.find("rank");
  const bool known = rank != section.attributes.end() && rank->second != "-1";
  return known ? unsigned_of(section.attributes, "rank") : UINT64_MAX;
}

void index_buffer(const BufferImage& buffer, TraceIndex& index) {
  // Damage to PROCESS leaves no doubt here: a buffer has one process.
  BlockScan all;
  for (const auto& [begin, end] : buffer.block_areas) scan_blocks(index.file, begin, end, all);
  index.processes.emplace_back();
  ProcessSection& section = index.processes.back();
  section.attributes["pid"] = std::to_string(buffer.pid);
  section.attributes["start_ticks"] = std::to_string(buffer.first_ticks);
  section.attributes["wall_ns"] = std::to_string(buffer.first_realtime_ns);
  for (BlockPlace& block : all.blocks) {
    block.orphan = false;
    if (static_cast<BlockType>(block.type) != BlockType::kProcess) continue;
    read_block_text(read_bytes(index.file, block.offset, block.bytes), section.attributes);
    // The header has no checksum of its own.
    if (unsigned_of(section.attributes, "pid") != buffer.pid ||
        unsigned_of(section.attributes, "start_ticks") != buffer.first_ticks ||
        unsigned_of(section.attributes, "wall_ns") != buffer.first_realtime_ns) {
      section.damage.push_back("the header and the first block do not agree");
    }
  }
  if (all.blocks.empty())
    section.damage.push_back("the block that says whose calls these are is lost");
  std::erase_if(all.blocks, [](const BlockPlace& block) {
    return static_cast<BlockType>(block.type) == BlockType::kProcess;
  });
  Sorter sorter(index);
  sorter.add(all);
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
    std::size_t whole_bytes = 0;
    place.memory = encode_ring_image(
        buffer, ring, unsigned_of(section.attributes, "ticks_per_second"), whole_bytes);
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

Result<TraceIndex> index_trace(const std::string& path) {
  Result<InputFile> file = InputFile::open(path);
  if (!file) return file.error();
  if (is_buffer(*file)) {
    const Result<BufferImage> buffer = read_buffer(*file);
    if (!buffer) return buffer.error();
    TraceIndex index{std::move(*file), {}, {}, {}, false};
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
  if (version != kFormatVersion) {
    return Error{path, "trace format version " + std::to_string(version) + ", this iotune reads " +
                           std::to_string(kFormatVersion)};
  }
  TraceIndex index{std::move(*file), {}, {}, {}, false};
  BlockScan scan;
  scan_blocks(index.file, kTraceHeadBytes, UINT64_MAX, scan);
  Sorter sorter(index);
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
  return read_bytes(index.file, place.offset, place.bytes);
}

}  // namespace iotune::recorder
