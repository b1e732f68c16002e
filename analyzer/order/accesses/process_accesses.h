// One process of a trace to its accesses and events: call by call, or a batch of regular calls at
// once (pattern_batch.cpp).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/order/accesses/access_notes.h"
#include "analyzer/order/accesses/access_reader.h"
#include "analyzer/order/accesses/changed_bytes.h"
#include "analyzer/order/accesses/file_handles.h"
#include "recorder/read/call_walk.h"

namespace iotune::analyzer {

class ProcessReader {
 public:
  // `number`: of the process among those of all traces.
  ProcessReader(const recorder::TraceIndex& index, std::size_t process, std::size_t number,
                FileNames& names, EventSink* events, Reading reading);

  // Reads all calls. Returns how many batches could not be read.
  std::uint64_t run();

  // Of another tool's log, in which calls lost their place inside of others.
  bool is_of_log() const { return is_of_log_; }
  AccessNotes& notes() { return notes_; }
  ProcessAccesses take_done();

 private:
  friend class PatternBatch;

  void take(const recorder::CallGroup& group);
  void find_calls_around(const recorder::CallGroup& group);
  std::string_view dataset_of(const recorder::Call& call);
  // What the call did to bytes, then whether it is an event: its own bytes lie before it.
  void note(const recorder::Call& call, const FileHandles::Followed& followed,
            const CallsAround& around);
  void note_transfer(const recorder::Call& call, const FileHandles::Followed& followed,
                     CallsAround around);
  void note_change(const recorder::Call& call, std::uint32_t file, const CallsAround& around);
  void note_event(EventKind kind, const recorder::Call& call, std::uint32_t file);
  recorder::WalkNeeds needs_of(Reading reading);
  AccessRun run_of(std::uint32_t file, bool write, std::int64_t start, std::int64_t length) const;

  // Of batches in the order in which they are read: some handle was in atomic mode.
  bool has_atomic_ = false;
  std::size_t number_;
  EventSink* events_;
  const recorder::TraceIndex& index_;
  recorder::ProcessWalk walk_;
  FileHandles handles_;
  AccessNotes notes_;
  recorder::CallArguments arguments_;
  bool is_of_log_ = false;
  std::size_t followed_ = 0;                 // calls
  std::vector<FileHandles::Followed> rows_;  // of a group
  std::vector<CallsAround> around_;
  ProcessAccesses done_;
};

}  // namespace iotune::analyzer
