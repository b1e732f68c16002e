// The accesses of traces as runs, and their ordering events, in one pass over each process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/order/access_runs.h"
#include "analyzer/order/event_kinds.h"
#include "recorder/read/call.h"
#include "recorder/read/trace_blocks/trace_index.h"

namespace iotune::analyzer {

// Takes the events of all processes, process by process, each one's by rising numbers.
class EventSink {
 public:
  static constexpr std::uint32_t kNoFile = UINT32_MAX;

  virtual ~EventSink() = default;
  // Event `number` of the process, which ends segment `number`. `file`: of calls on a file an index
  // into TraceAccesses::files. `call` is valid until this returns.
  virtual void event(std::size_t process, std::uint64_t number, EventKind kind, std::uint32_t file,
                     const recorder::Call& call) = 0;
};

struct TraceAccesses {
  std::vector<AccessedFile> files;
  std::vector<ProcessAccesses> processes;  // trace by trace
  std::uint64_t unreadable_batches = 0;
};

// In time for the patterns of batches that are regular, or call by call, which finds the same.
enum class Reading : std::uint8_t { kByPattern, kByCall };

// Several traces are several jobs on the same files, whose clocks agree. `events` may be nullptr.
TraceAccesses read_accesses(std::span<const recorder::TraceIndex> traces, EventSink* events,
                            Reading reading = Reading::kByPattern);

}  // namespace iotune::analyzer
