// The accesses of a trace by stream. A stream is what one process read from, or wrote to, one file
// at one layer, in the order of the starts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "patterns/extent.h"
#include "recorder/call_table.h"
#include "recorder/read/trace_blocks/trace_index.h"

namespace iotune::analyzer {

struct AccessStream {
  std::size_t process;  // index into the trace's processes
  std::int64_t rank;    // -1: not a rank of MPI_COMM_WORLD
  std::string path;     // absolute
  Layer layer;
  bool write;
};

// "mpiio", "stdio" or "posix".
const char* layer_name(Layer layer) noexcept;

class AccessStreamSink {
 public:
  virtual ~AccessStreamSink() = default;
  // Streams of one process are numbered from 0, in the order of their first accesses.
  virtual void begin(const AccessStream& stream) = 0;
  // The next accesses of a stream of the process, in bytes of the file.
  virtual void add(std::size_t stream, std::span<const patterns::Extent> accesses) = 0;
  // All of the process was added.
  virtual void end_process() = 0;
};

struct ProcessStreams {
  std::uint64_t accesses = 0;
  // Transfers whose place in the file is not known (shared file pointers, views not recorded).
  std::uint64_t without_place = 0;
  std::uint64_t empty = 0;  // transfers that moved nothing, or failed
  std::uint64_t unreadable_batches = 0;
};

// Reads one process, in memory for one batch of each of its threads and 256 accesses a stream.
// Transfers that moved nothing are left out. A transfer of MPI-IO under a view is as many accesses
// as it has pieces. `layers`: bit n asks for Layer n; of kHdf5 there are none, as a selection is no
// extent. `progress` is called now and then with the number of accesses since the last call; what
// it throws is passed on.
ProcessStreams read_streams(const recorder::TraceIndex& index, std::size_t process, unsigned layers,
                            AccessStreamSink& sink,
                            const std::function<void(std::uint64_t)>& progress);

}  // namespace iotune::analyzer
