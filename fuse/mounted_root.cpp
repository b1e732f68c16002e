#include "fuse/mounted_root.h"

#include <fcntl.h>
#include <fuse.h>
#include <unistd.h>

#include <cerrno>

namespace iotune::fuse {

MountedRoot::MountedRoot(const Options& chosen)
    : options(chosen),
      data_delay(chosen.latency_ns, chosen.bytes_per_second, chosen.tail),
      metadata_delay(chosen.metadata_latency_ns, 0) {
  if (!chosen.trace.empty()) {
    recorder = std::make_unique<RequestRecorder>(chosen.trace, chosen.replace);
  }
  if (chosen.predictor != nullptr) {
    prefetching = std::make_unique<prefetch::Prefetching>(*chosen.predictor, chosen.prefetch_bytes,
                                                          chosen.prefetch_threads, data_delay);
  }
}

MountedRoot& mounted_root() {
  return *static_cast<MountedRoot*>(fuse_get_context()->private_data);
}

Request::Request()
    : arrived_ns_(prefetch::RequestDelay::monotonic_ns()), started_ns_(realtime_ns()) {}

void Request::answer_metadata() const {
  mounted_root().metadata_delay.wait(arrived_ns_, 0);
}

void Request::answer_transfer(std::uint64_t bytes) const {
  mounted_root().data_delay.wait(arrived_ns_, bytes);
}

void Request::record(recorder::AccessKind kind, const std::string& path, std::int64_t offset,
                     std::int64_t bytes, int opener) const {
  const MountedRoot& root = mounted_root();
  if (root.recorder == nullptr) return;
  const int pid = fuse_get_context()->pid;
  root.recorder->add(kind, pid != 0 ? pid : opener, root.options.mount + path, offset, bytes,
                     started_ns_);
}

void give_away(int fd) {
  if (geteuid() != 0) return;
  const fuse_context* const context = fuse_get_context();
  if (fchownat(fd, "", context->uid, context->gid, AT_EMPTY_PATH) != 0) {
    // A root that keeps no owners: the file is there all the same.
  }
}

int answer(const Request& request, int result) {
  const int error = result < 0 ? -errno : 0;
  request.answer_metadata();
  return error;
}

int answered(const Request& request, int result) {
  request.answer_metadata();
  return result;
}

}  // namespace iotune::fuse
