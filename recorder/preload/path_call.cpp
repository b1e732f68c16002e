#include "recorder/preload/path_call.h"

#include <fcntl.h>

#include "recorder/preload/path_filter.h"
#include "recorder/preload/process_buffer.h"
#include "recorder/preload/process_text.h"
#include "recorder/preload/raw_syscall.h"
#include "recorder/preload/traced_call.h"

namespace iotune::recorder {
namespace {

constinit bool g_mpi_ends = false;

// Called by MPI itself, with nothing of HDF5 (which may close its files there) in between.
bool is_the_end_of_mpi(std::uint8_t layers) noexcept {
  return g_mpi_ends && layers == 1u << static_cast<unsigned>(Layer::kMpiIo);
}

template <std::size_t N>
void begin_with_directory(int directory, ShortText<N>& to) noexcept {
  to.clear();
  if (directory == AT_FDCWD) {
    const long bytes = raw::getcwd(to.tail(), to.room());
    if (bytes > 1) to.grew(static_cast<std::size_t>(bytes - 1));
    if (bytes <= 0) to.add("?", 1);
  } else {
    ShortText<64> link;
    link << "/proc/self/fd/" << directory;
    const long bytes = raw::readlink(link.c_str(), to.tail(), to.room() - 1);
    if (bytes > 0) to.grew(static_cast<std::size_t>(bytes));
  }
  if (to.size() != 1 || to.c_str()[0] != '/') to << '/';
}

void begin_trace_if_many() noexcept {
  if (buffer_exists()) return;
  const Ring* const ring = ring_of_this_thread();
  if (ring == nullptr || ring->in_file) return;
  const auto used = static_cast<std::uint32_t>(ring->word->load(std::memory_order_relaxed));
  if (used > ring->capacity_bytes / 2) start_buffer();
}

}  // namespace

bool CallPath::resolve(int directory, const char* path) noexcept {
  resolved_ = path;
  if (path[0] == '/') return path_is_traced(path);
  while (path[0] == '.' && path[1] == '/') path += 2;
  begin_with_directory(directory, near_);
  near_ << path;
  resolved_ = near_.c_str();
  constexpr std::size_t kMaybeCut = 700;
  if (near_.cut() || near_.size() > kMaybeCut || resolved_[0] == '?') {
    far_ = static_cast<ShortText<4096>*>(private_memory(sizeof *far_));
    if (far_ == nullptr) return false;
    begin_with_directory(directory, *far_);
    *far_ << path;
    resolved_ = far_->c_str();
    if (far_->cut() || resolved_[0] == '?') return false;
  }
  return path_is_traced(resolved_);
}
void pass_over_the_end_of_mpi() noexcept {
  g_mpi_ends = true;
}

PathCall::PathCall(int directory, const char* path, int second_directory,
                   const char* second) noexcept
    : two_(second != nullptr) {
  if (!scope_.active() || path == nullptr) return;
  {
    // Both are resolved in any case: a record has both.
    const OwnCode own;
    traced_ = first_.resolve(directory, path);
    if (two_) traced_ = second_.resolve(second_directory, second) || traced_;
    traced_ = traced_ && !is_the_end_of_mpi(scope_.outer_layers()) && !in_vfork_child();
  }
  scope_.start();
}

void PathCall::record(CallNumber number, std::initializer_list<std::int64_t> numbers) noexcept {
  if (!scope_.active()) return;
  scope_.stop();
  if (!traced_) return;
  {
    const OwnCode own;
    begin_trace_if_many();
  }
  RecordWriter writer(scope_, number, Times::kControl);
  writer.text(first_.c_str());
  if (two_) writer.text(second_.c_str());
  for (const std::int64_t value : numbers) writer.number(value);
  writer.commit();
}

void record_traced_call(const CallScope& scope, CallNumber number, int fd, std::uint32_t file,
                        std::initializer_list<std::int64_t> numbers) noexcept {
  RecordWriter record(scope, number, Times::kControl);
  record.key(fd);
  record.key(file);
  for (const std::int64_t value : numbers) record.number(value);
  record.commit();
}

}  // namespace iotune::recorder
