// Whose blocks stand where in a trace or a process buffer.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "recorder/read/call.h"
#include "recorder/read/result.h"
#include "recorder/read/trace_blocks/input_file.h"
#include "recorder/read/trace_blocks/shared_ranks.h"

namespace iotune::recorder {

// One EVENTS payload: in the file, in memory where it was a ring, or a member of a block that
// ranks share.
struct EventsPlace {
  static constexpr std::uint32_t kNotShared = UINT32_MAX;

  std::uint64_t thread, epoch, calls;
  std::uint64_t base_ns;     // the least start of its calls
  std::uint32_t source = 0;  // TraceIndex::source(), in which
  std::uint32_t bytes = 0;   // of the payload
  std::uint64_t offset = 0;
  std::uint32_t shared = kNotShared, member = 0;  // of TraceIndex::shared
  std::vector<std::byte> memory;
  // Of the MARKS payload that goes with it, in the source `marks_source` or in memory.
  std::uint32_t marks_source = 0, marks_bytes = 0;  // 0 bytes: there is none
  std::uint64_t marks_offset = 0;
  std::vector<std::byte> marks_memory;
};

struct ProcessSection {
  Attributes attributes, end;
  // Of batches with the same thread and epoch only the longest: the shorter ones are what a
  // reader saw of it while it grew.
  std::vector<EventsPlace> events;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> by_epoch;  // into events
  bool alive = false;
  std::uint64_t dropped = 0;
  // PROCESS and END say nothing of it but what ranks share.
  bool only_shared = false;
  std::vector<std::string> damage;

  // Host, pid and start_ticks; empty where damage has left none of it.
  std::string identity() const;
  void add(EventsPlace place);
  // The batch of that thread and epoch if it has so many calls; else nullptr.
  EventsPlace* find(std::uint64_t thread, std::uint64_t epoch, std::uint64_t calls);
};

// A SHARED payload in the file.
struct SharedPlace {
  std::uint64_t offset;
  std::uint32_t bytes;
};

struct TraceIndex {
  InputFile file;
  // What a process buffer's blocks are read from beside its file: the spill file, copies.
  std::vector<InputFile> others;
  std::vector<ProcessSection> processes;
  std::vector<SharedRanks> shared;
  std::vector<SharedPlace> shared_places;  // of the same blocks
  std::vector<std::string> warnings;       // of the file as a whole
  // A process buffer whose process may still write to it.
  bool in_use = false;

  const InputFile& source(std::uint32_t number) const {
    return number == 0 ? file : others[number - 1];
  }
};

// Fails where the file cannot be read or is none of iotune's; damage inside it is reported.
Result<TraceIndex> index_trace(const std::string& path);

// A number among the attributes, 0 where it is none.
std::uint64_t unsigned_of(const Attributes& attributes, const char* key);

// The payload's bytes; empty on a read error.
std::vector<std::byte> read_payload(const TraceIndex& index, const EventsPlace& place);
// Those of its marks; empty where it has none, too.
std::vector<std::byte> read_marks(const TraceIndex& index, const EventsPlace& place);

}  // namespace iotune::recorder
