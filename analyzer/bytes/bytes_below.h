// What POSIX moved within calls of MPI-IO: where the bytes of a transfer lie whose own place is not
// known (a view that was not recorded, the shared file pointer).
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analyzer/calls/file_view.h"
#include "analyzer/summary/file_table.h"
#include "recorder/read/call.h"

namespace iotune::analyzer {

// The layers of a call that MPI-IO made itself, with no HDF5 around it.
inline constexpr std::uint8_t kInMpiIo = 1 << static_cast<std::size_t>(Layer::kMpiIo);

// Of one process, by calls in the order of their ends.
class BytesBelow {
 public:
  // A transfer of POSIX with layers() of kInMpiIo.
  void moved(const recorder::Call& call, const FileRecord& file, bool write);
  // A call of MPI-IO ended on `thread`: what lies in it, of that file and direction. What was moved
  // of others is forgotten. Empty where there is none, or too much to be kept.
  std::vector<FileExtent> take(std::uint32_t thread, const FileRecord& file, bool write);
  // The same of a call that has no use for it.
  void forget(std::uint32_t thread) { moved_.erase(thread); }

  template <class A>
  void archive(A& a) {
    a(moved_);
  }

 private:
  struct Moved {
    const FileRecord* file;
    bool write;
    std::uint64_t offset, bytes;
    template <class A>
    void archive(A& a) {
      a(file, write, offset, bytes);
    }
  };
  std::unordered_map<std::uint32_t, std::vector<Moved>> moved_;  // by thread
};

}  // namespace iotune::analyzer
