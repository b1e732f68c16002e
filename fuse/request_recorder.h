// Requests as the calls of the processes that made them, in a trace of iotune's own
// (recorder/FORMAT.md): the papers' FUSE-Tracer (HPDC 2013, section 3).
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>

#include "recorder/write/access_writer.h"

namespace iotune::fuse {

// Nanoseconds since 1970.
std::uint64_t realtime_ns();

// Safe from any thread. A process is known by its number, which another may get later.
class RequestRecorder {
 public:
  RequestRecorder(std::string trace, bool replace)
      : writer_(std::move(trace), recorder::KeptTimes::kCoded, replace) {}

  // A request that is answered now. `path`: of the file below the mount point, as programs name it.
  void add(recorder::AccessKind kind, int pid, const std::string& path, std::int64_t offset,
           std::int64_t length, std::uint64_t start_ns);

  // Writes the trace; on stderr what went wrong. Once, at the end.
  bool finish();

 private:
  std::mutex mutex_;
  recorder::AccessWriter writer_;
  std::unordered_map<int, std::uint32_t> processes_;  // pid -> number in the trace
  std::uint64_t last_ns_ = 0, lost_ = 0;
};

}  // namespace iotune::fuse
