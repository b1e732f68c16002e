// Writes a trace of calls that nobody intercepted: what other tools logged. Encoded as the
// recorder's own, in bounded memory; the file takes its name when it is whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/files/descriptor.h"
#include "recorder/read/call.h"
#include "recorder/read/result.h"

namespace iotune::recorder {

// Which times stay: all to the nanosecond, all in coded form (FORMAT.md, "Coded times"), or those
// of patterns and of their first calls.
enum class KeptTimes : std::uint8_t { kExact, kCoded, kPattern };

struct NewCall {
  std::uint16_t function = 0;  // number in call_table()
  std::uint8_t layers = 0;     // mask of the layers around the call
  std::span<const std::int64_t> keys, numbers;
  std::string_view text;                        // several divided by NUL
  std::uint64_t start_ns = 0, duration_ns = 0;  // the start since 1970, or on the log's own clock
};

struct WrittenTrace {
  std::uint64_t processes = 0, calls = 0, bytes = 0;
};

class TraceWriter {
 public:
  // With `replace` a file that is called `path` goes when the new one is whole; without it is an
  // error then.
  TraceWriter(std::string path, KeptTimes kept, bool replace);
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  // What PROCESS says (FORMAT.md) but for the times, which the calls decide. May be changed
  // until finish(): the number of ranks is known last.
  std::uint32_t add_process(Attributes attributes);
  Attributes& attributes(std::uint32_t process) { return processes_[process].attributes; }
  std::size_t process_count() const { return processes_.size(); }

  // Calls of one thread in the order of their ends, inner ones before the outer. False for a
  // call that cannot be written (words or times out of range) and after a failure: error().
  bool add(std::uint32_t process, std::uint32_t thread, const NewCall& call);

  const std::optional<Error>& error() const { return error_; }
  Result<WrittenTrace> finish();

 private:
  struct SpooledBlock {
    std::uint64_t offset;  // in the spool
    std::uint32_t bytes;
  };
  struct Process {
    Attributes attributes;
    std::uint64_t first_ns = UINT64_MAX, calls = 0;
    std::vector<SpooledBlock> blocks;
  };
  struct Thread {
    std::vector<std::byte> records;
    std::uint32_t epoch = 0;
    std::uint64_t transfers = 0;
  };

  static std::uint64_t key_of(std::uint32_t process, std::uint32_t thread) {
    return (std::uint64_t{process} << 32U) | thread;
  }
  bool flush(std::uint64_t key, Thread& thread);
  bool spool(std::uint32_t process, std::span<const std::byte> payload);
  bool fail(std::string message);
  bool fail_with_errno();

  std::string path_;
  KeptTimes kept_;
  bool replace_;
  Descriptor spool_;
  std::uint64_t spooled_ = 0, buffered_ = 0;
  std::vector<Process> processes_;
  std::unordered_map<std::uint64_t, Thread> threads_;
  std::vector<std::uint64_t> scratch_;
  std::vector<std::byte> payload_;
  std::optional<Error> error_;
};

}  // namespace iotune::recorder
