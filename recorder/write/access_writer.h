// Plain accesses (who, which file, where, how much, when) as the calls that a trace holds: opens,
// transfers and closes, with descriptors and handles of their own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "recorder/call_numbers.h"
#include "recorder/call_table.h"
#include "recorder/read/result.h"
#include "recorder/write/trace_writer.h"

namespace iotune::recorder {

enum class AccessKind : std::uint8_t { kRead, kWrite, kOpen, kClose, kSync };

struct NewAccess {
  AccessKind kind = AccessKind::kRead;
  Layer layer = Layer::kPosix;  // or MPI-IO, or stdio
  bool collective = false;      // of MPI-IO
  std::uint8_t layers = 0;      // mask of the layers around the call
  std::string_view path;
  std::int64_t offset = 0, length = 0;     // bytes, of reads and writes; none is negative
  std::uint64_t start_ns = 0, end_ns = 0;  // NewCall::start_ns; the end is no earlier
};

// A process's calls that overlap in time are given to as many threads. A file that a thread
// was not seen to open is opened at its first access, in no time: logs leave such calls out.
class AccessWriter {
 public:
  AccessWriter(std::string path, KeptTimes kept, bool replace)
      : trace_(std::move(path), kept, replace) {}

  TraceWriter& trace() { return trace_; }

  // The thread of `process` that is free at `start_ns`, taken until `end_ns`. Negative where there
  // are too many: the log is in no order of time.
  std::int64_t take_thread(std::uint32_t process, std::uint64_t start_ns, std::uint64_t end_ns);

  // False as TraceWriter::add. A close of what is not open is left out. Where names of open files
  // take too much memory, all are closed: logs need not hold any close.
  bool add(std::uint32_t process, std::uint32_t thread, const NewAccess& access);

  // From here on the positions of MPI-IO in this file are not those of the log, which saw no views;
  // or they are again.
  bool hide_mpi_positions(std::uint32_t process, std::string_view path, bool hidden);

  // Closes what is open.
  Result<WrittenTrace> finish();

 private:
  struct OpenFile {
    std::int64_t handle;  // descriptor, or MPI-IO's handle
    std::int64_t number;  // of the file, as POSIX calls have it among their keys
    std::uint64_t last_end_ns;
  };
  struct Process {
    std::vector<std::uint64_t> free_from_ns;         // by thread
    std::unordered_map<std::string, OpenFile> open;  // by file_key
    std::unordered_set<std::string> hidden;          // paths
    std::vector<std::int64_t> free_descriptors;
    std::int64_t next_descriptor = 3, next_file = 1, next_handle = 1;
  };
  static std::string file_key(std::uint32_t thread, const NewAccess& access);
  bool sync(std::uint32_t process, std::uint32_t thread, const OpenFile& file,
            const NewAccess& access);
  Process& process(std::uint32_t number);
  bool view(std::uint32_t number, std::uint32_t thread, const OpenFile& file, bool hidden,
            std::uint64_t at_ns, std::uint8_t layers);
  bool close_all(std::uint32_t number);
  OpenFile* opened(std::uint32_t number, std::uint32_t thread, const NewAccess& access);
  bool close(std::uint32_t number, std::uint32_t thread, const std::string& key,
             std::uint8_t layers, std::uint64_t start_ns, std::uint64_t end_ns);
  bool call(std::uint32_t process, std::uint32_t thread, CallNumber function, std::uint8_t layers,
            std::initializer_list<std::int64_t> keys, std::initializer_list<std::int64_t> numbers,
            std::string_view text, std::uint64_t start_ns, std::uint64_t end_ns);

  TraceWriter trace_;
  std::vector<Process> processes_;
  std::size_t open_bytes_ = 0;  // of keys and their entries
};

}  // namespace iotune::recorder
