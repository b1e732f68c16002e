// What one process did to each file in its outermost calls: their time, and what they moved.
#pragma once

#include <cstdint>
#include <map>

#include "analyzer/calls/call_facts.h"
#include "analyzer/summary/file_table.h"
#include "recorder/read/call_walk.h"

namespace iotune::analyzer {

class FileUses {
 public:
  // Counts the call's time for the file if it is an outermost one.
  void spend(FileRecord& file, const recorder::Call& call, const CallFacts& facts);
  // Calls of a stream, and their part of its time.
  void spend(FileRecord& file, const recorder::StreamTotals& totals, std::uint64_t nanoseconds);
  void moved(FileRecord& file, Layer layer, bool write, std::uint64_t bytes);

  // Of the process that started then: all was followed. Returns the time in all files.
  std::uint64_t finish_member(std::uint64_t wall_ns, bool died);

  template <class A>
  void archive(A& a) {
    a(uses_);
  }

 private:
  struct Use {
    std::uint64_t nanoseconds = 0;                     // in outermost calls
    std::uint64_t first_ns = UINT64_MAX, last_ns = 0;  // after the process's start
    std::uint64_t written[4] = {}, read[4] = {};       // by layer, in outermost calls
    bool open = false;                                 // not closed by its last call
    template <class A>
    void archive(A& a) {
      a(nanoseconds, first_ns, last_ns, written, read, open);
    }
  };
  Use& use_within(FileRecord& file, std::uint64_t first_ns, std::uint64_t last_ns);

  std::map<FileRecord*, Use> uses_;
};

}  // namespace iotune::analyzer
