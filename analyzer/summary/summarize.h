// A trace as patterns.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "analyzer/calls/process_walk.h"
#include "analyzer/summary/run_summary.h"
#include "recorder/read/result.h"

namespace iotune::analyzer {

using recorder::Error;
using recorder::Result;

// Reads a trace or a process buffer, one process after the other: memory is what one of them with
// `calls_at_once` calls needs (of those with more calls a batch is held at a time), and what the
// patterns need. Damage and whatever is missing becomes a warning.
//
// With `take` the summary has no files: that gets them one by one, in their order, and what is
// known of a file is freed before the next one. Of 100,000 files there is no room for two forms.
using TakeFile = std::function<void(FilePattern&&)>;
Result<RunSummary> summarize(const std::string& trace_path,
                             std::uint64_t calls_at_once = std::uint64_t{1} << 18U,
                             const TakeFile& take = nullptr);

// The same in steps, for callers with little time: a summary that was left off can be resumed in
// another process. All functions may throw std::bad_alloc.
class ResumableSummary {
 public:
  // Only the trace's heads are read.
  static Result<ResumableSummary> open(const std::string& trace_path,
                                       std::uint64_t calls_at_once = 4096);
  ResumableSummary(ResumableSummary&&) noexcept;
  ~ResumableSummary();

  // Makes at least one step. True: all is read, finish() may be called.
  bool go_on(const StopWhen& stop);
  // Nothing is left to read.
  bool is_whole() const;
  // What is known so far, for restore() after an open() of the same trace by the same build.
  std::string state();
  // False where the bytes are not such a state: then the summary begins anew.
  bool restore(std::string_view state);
  // Names the patterns: a single step, some 10 ms where offsets are irregular.
  RunSummary finish();

  // Which run it is, as the trace's first process says.
  std::string run_id() const;

 private:
  struct Work;
  explicit ResumableSummary(std::unique_ptr<Work> work);
  std::unique_ptr<Work> work_;
};

}  // namespace iotune::analyzer
