// One recorded call, and the calls of one process.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "recorder/call_table.h"

namespace iotune::recorder {

// What the calls of one stream of an EVENTS block share.
struct CallStream {
  std::string name;
  const CallSignature* signature = nullptr;  // nullptr: recorded by a newer iotune
  std::uint8_t layers = 0;                   // mask of the layers around the call
  std::vector<std::int64_t> keys;
  std::vector<std::string> texts;     // as many as the signature has, where there is one
  std::vector<std::int64_t> numbers;  // of all calls, one after the other
};

using CallStreams = std::vector<std::unique_ptr<CallStream>>;

// Points into the ProcessCalls that it came with.
struct Call {
  const CallStream* stream;
  std::span<const std::int64_t> numbers;
  std::uint64_t start_ns;  // after the process's start
  std::uint64_t duration_ns;
  std::uint32_t thread;
  bool exact;          // false: the times are interpolated between those of its stream
  bool coded = false;  // exact, but for the coding of its times (FORMAT.md, "Coded times")
  bool in_bin =
      false;  // not exact, but it ended in the bin that its end is in (FORMAT.md, "MARKS")

  const std::string& name() const { return stream->name; }
  const CallSignature* signature() const { return stream->signature; }
  std::uint8_t layers() const { return stream->layers; }
  const std::vector<std::int64_t>& keys() const { return stream->keys; }
  const std::vector<std::string>& texts() const { return stream->texts; }
  std::uint64_t end_ns() const { return start_ns + duration_ns; }
};

// Key and value of PROCESS and END blocks, decoded.
using Attributes = std::map<std::string, std::string>;

struct ProcessCalls {
  Attributes attributes;  // PROCESS; of several blocks the last value of a key
  Attributes end;         // END; empty where the process was killed or is alive
  bool alive = false;     // it was running when its buffer was read
  std::uint64_t dropped = 0;
  std::vector<std::string> damage;  // what of this process could not be read
  // Each thread's calls in the order of their ends, the threads merged by time. Pseudo calls
  // of iotune stand where they were noted down.
  std::vector<Call> calls;
  CallStreams streams;  // owns what calls point to

  std::int64_t number(const std::string& key, std::int64_t otherwise) const;
  std::string text(const std::string& key) const;
  std::int64_t rank() const { return number("rank", -1); }
  std::int64_t pid() const { return number("pid", 0); }
  std::uint64_t wall_ns() const { return static_cast<std::uint64_t>(number("wall_ns", 0)); }
};

}  // namespace iotune::recorder
