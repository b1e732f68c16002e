#include "recorder/wrappers/posix/path_call.h"

#include "recorder/ring/process_buffer.h"

namespace iotune::recorder {
namespace {

constinit bool g_mpi_ends = false;
}  // namespace

bool is_the_end_of_mpi(std::uint8_t layers) noexcept {
  return g_mpi_ends && layers == bit_of(Layer::kMpiIo);
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
    start_buffer_if_worth(0);
  }
  RecordWriter writer(scope_, number, Times::kControl);
  if (front_ != nullptr) writer.text(front_);
  writer.text(first_.c_str());
  if (two_) writer.text(second_.c_str());
  for (const std::int64_t value : numbers) writer.number(value);
  writer.commit();
}

}  // namespace iotune::recorder
