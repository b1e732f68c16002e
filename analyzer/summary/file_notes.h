// What iotune's own notes in a trace say of files.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "analyzer/calls/call_facts.h"
#include "analyzer/summary/file_table.h"
#include "recorder/read/call_arguments.h"

namespace iotune::analyzer {

// Of one process.
class FileNotes {
 public:
  // A note on `file`. Those on datasets (Note::kDataset) say nothing of it.
  void take(FileRecord& file, CallFacts::Note note, const recorder::CallArguments& arguments);

  template <class A>
  void archive(A& a) {
    a(decisions_);
  }

 private:
  void note_decision(FileOutcome& outcome, const recorder::CallArguments& arguments);

  std::unordered_map<std::int64_t, DecisionNote> decisions_;  // by digest
};

}  // namespace iotune::analyzer
