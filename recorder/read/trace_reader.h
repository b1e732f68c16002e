// Reads a trace (*.iotrace) or a process buffer (*.iobuf), of dead and of living processes, up
// to and behind whatever is damaged in it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "recorder/read/call.h"
#include "recorder/read/result.h"
#include "recorder/read/trace_blocks/trace_index.h"

namespace iotune::recorder {

// What stands in PROCESS and END, without the calls.
struct ProcessHead {
  Attributes attributes, end;
  bool alive;
  std::uint64_t dropped;
  std::uint64_t calls;  // recorded and readable, as far as one sees without decoding
};

class TraceReader {
 public:
  static Result<TraceReader> open(const std::string& path);

  std::size_t process_count() const { return index_.processes.size(); }
  ProcessHead head(std::size_t process) const;

  // The calls of one process; memory is needed for the processes that the caller keeps.
  ProcessCalls read(std::size_t process) const;

  // For code that walks the calls without keeping them (call_walk.h).
  const TraceIndex& index() const { return index_; }

  // Damage of the file as a whole.
  const std::vector<std::string>& warnings() const { return index_.warnings; }

 private:
  explicit TraceReader(TraceIndex index) : index_(std::move(index)) {}
  TraceIndex index_;
};

// The mask of the layers around a call. A note of iotune is made on behalf of a call, after or
// before it, and stands beside it, not inside it.
unsigned layers_around(const Call& call);

}  // namespace iotune::recorder
