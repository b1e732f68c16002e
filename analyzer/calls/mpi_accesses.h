// Where the MPI-IO transfers of a process lie in their files, under views and file pointers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "analyzer/calls/call_facts.h"
#include "analyzer/calls/file_view.h"
#include "recorder/read/call.h"
#include "recorder/read/call_arguments.h"

namespace iotune::analyzer {

// Follows individual file pointers by the calls alone: MPI moves them by what was asked for, also
// at a file's end. What a shared pointer points to is other ranks' doing, and where a file
// ends is not in the trace: such positions are unknown.
class MpiAccesses {
 public:
  // The process's calls in the order of their ends. Nothing for a call that is no transfer of
  // MPI-IO. At most `most` extents.
  std::optional<FileExtents> follow(const recorder::Call& call, std::size_t most);

  // Of an open file; nullptr where it was not seen.
  const FileView* view_of(std::int64_t handle) const {
    const auto found = files_.find(handle);
    return found == files_.end() ? nullptr : &found->second.view;
  }

  // Under which the transfer that was just followed lies; nullptr where it is not known.
  const FileView* view() const { return view_; }

  template <class A>
  void archive(A& a) {
    a(files_);
  }

 private:
  struct OpenFile {
    FileView view;
    std::optional<std::uint64_t> pointer;  // in elements of the view
    template <class A>
    void archive(A& a) {
      a(view, pointer);
    }
  };
  std::optional<FileExtents> follow_transfer(const recorder::Call& call, const CallFacts& facts,
                                             std::size_t most);

  recorder::CallArguments arguments_;                 // of the call that is followed
  std::unordered_map<std::int64_t, OpenFile> files_;  // by handle
  const FileView* view_ = nullptr;
};

}  // namespace iotune::analyzer
