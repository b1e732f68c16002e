// What all operations share: the folder behind the mount point, delays, the recorder.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "fuse/options.h"
#include "fuse/request_recorder.h"
#include "prefetch/filesystem/read_stream.h"
#include "prefetch/filesystem/request_delay.h"

struct fuse_operations;

namespace iotune::fuse {

struct MountedRoot {
  explicit MountedRoot(const Options& chosen);

  // Where a path below the mount point lies in the root.
  std::string real_path(const char* path) const { return options.root + path; }

  Options options;
  prefetch::RequestDelay data_delay, metadata_delay;
  std::unique_ptr<RequestRecorder> recorder;           // nullptr: nothing is recorded
  std::unique_ptr<prefetch::Prefetching> prefetching;  // nullptr: nothing is read ahead
};

// Of the request that this thread answers.
MountedRoot& mounted_root();

// One request from its arrival to its answer.
class Request {
 public:
  Request();

  // Waits as long as a request on names and attributes has to.
  void answer_metadata() const;
  // Waits as a transfer of `bytes`.
  void answer_transfer(std::uint64_t bytes) const;
  std::uint64_t arrived_ns() const { return arrived_ns_; }
  // `opener`: the process that opened the file. What the kernel asks for in nobody's name
  // (releases, pages written back) is its doing.
  void record(recorder::AccessKind kind, const std::string& path, std::int64_t offset,
              std::int64_t bytes, int opener) const;

 private:
  std::uint64_t arrived_ns_, started_ns_;
};

// `result` of a system call as an operation's: 0, or -errno.
int answer(const Request& request, int result);

// The same, of a call that says -errno itself.
int answered(const Request& request, int result);

// What is made belongs to the one who asks, not to the one who mounted. `fd` is the new file.
void give_away(int fd);

void add_name_operations(fuse_operations& operations);
void add_file_operations(fuse_operations& operations);

}  // namespace iotune::fuse
