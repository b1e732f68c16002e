#include "recorder/gather/worth.h"

#include "core/process/configuration.h"
#include "core/run/left_out_programs.h"
#include "recorder/gather/gather_trace.h"
#include "recorder/gather/process_text.h"
#include "recorder/gather/run_buffers.h"
#include "recorder/regions/ring_account.h"
#include "recorder/ring/process_buffer.h"

namespace iotune::recorder {
namespace {

constinit bool g_given_up = false;

// What looks into a file of a library (h5ls, ncdump -h) reads no more than its headers.
constexpr std::uint64_t kOfALook = 1u << 20U;

bool is_worth_a_trace() noexcept {
  // What was dropped is much.
  if (configuration().trace_path != nullptr || dropped_calls() > 0) return true;
  const IoTotals& moved = moved_by_stored_calls();
  if (moved.read_bytes + moved.written_bytes > configuration().keep_above_bytes) return true;
  if (uses_mpi()) return moved_data();
  if (*hdf5_version() == '\0' && !netcdf_is_loaded()) return false;
  return moved.written_bytes > moved.stdout_bytes ||
         moved.read_bytes + moved.inner_bytes >= kOfALook;
}

}  // namespace

bool moved_data() noexcept {
  const IoTotals& moved = moved_by_stored_calls();
  return moved.inner_bytes + moved.read_bytes + moved.written_bytes > moved.stdout_bytes;
}

void give_up_run() noexcept {
  g_given_up = true;
}

Leaves what_is_left() noexcept {
  if (is_worth_a_trace()) return g_given_up ? Leaves::kBuffer : Leaves::kTrace;
  if (g_given_up || buffer_is_in_memory()) return Leaves::kNothing;
  if (uses_mpi()) return Leaves::kBuffer;
  if (!writes_own_trace()) return moved_data() ? Leaves::kBuffer : Leaves::kNothing;
  return run_has_other_buffers() ? Leaves::kBuffer : Leaves::kNothing;
}

}  // namespace iotune::recorder
