#include "gather/loader/host_calls.h"

#include <cstring>

#include "core/abi/mpi_api.h"
#include "core/os/ticks.h"
#include "core/process/process_facts.h"
#include "core/process/thread_state.h"
#include "recorder/ring/process_buffer.h"
#include "recorder/ring/record_writer.h"
#include "recorder/wrappers/descriptors/path_filter.h"
#include "recorder/wrappers/mpi/mpi_datatypes.h"

namespace iotune::gather {
namespace {

const MpiApi* api_of_world() noexcept {
  Provider* const provider = world_provider();
  return provider == nullptr ? nullptr : mpi_api(*provider);
}

}  // namespace

void write_note(const GatherNote& note) noexcept {
  const OwnCode own;
  ShortText<4096> path;
  absolute_path_of_mpi(note.file, path);
  if (!recorder::buffer_exists() || !recorder::path_is_traced(path.c_str())) return;
  recorder::RecordWriter record(recorder::CallNumber::kiotune_gather, ticks_now());
  const GatherCounts& counts = note.counts;
  for (const std::uint64_t value :
       {note.calls_not_held, counts.held_calls, counts.held_bytes, counts.reads_served,
        counts.flushes, counts.exchange_calls, counts.exchange_bytes, counts.piece_writes,
        counts.piece_bytes, counts.alone_writes, counts.alone_bytes, counts.waiting_bytes}) {
    record.number(static_cast<std::int64_t>(value));
  }
  record.text(path.c_str());
  record.text(note.reason);
  record.commit();
}

bool is_predefined_type(Word type) noexcept {
  const OwnCode own;
  const MpiApi* const mpi = api_of_world();
  return mpi != nullptr && recorder::is_predefined(*mpi, type);
}

bool loops_of_type(Word filetype, void* to, void (*add)(void* to, const PieceLoop& loop)) noexcept {
  const OwnCode own;
  const MpiApi* const mpi = api_of_world();
  if (mpi == nullptr) return false;
  recorder::DatatypeRuns flat(*mpi, recorder::DatatypeRuns::Arrays::kAsRuns);
  if (!flat.flatten(filetype) || flat.cut()) return false;
  for (std::size_t i = 0; i < flat.size(); ++i) {
    const recorder::Run& run = flat.runs()[i];
    add(to, {run.offset, run.bytes, run.stride, run.count});
  }
  return true;
}

// MPICH's ROMIO and Open MPI's put bytes in wrong places where they neither sieve nor are asked to
// join (tuner/mpiio/hint_gates.cpp). Independent writes of the program do not meet that.
bool joins_rightly(Word file) noexcept {
  const OwnCode own;
  const MpiApi* const mpi = api_of_world();
  Word info = 0;
  if (mpi == nullptr || mpi->MPI_File_get_info(file, &info) != 0) return false;
  const auto is = [&](const char* key, const char* wanted) {
    char value[32] = "";
    return read_info(*mpi, info, key, value, sizeof value) && std::strcmp(value, wanted) == 0;
  };
  const bool wrong = is("romio_ds_write", "disable") && !is("romio_cb_write", "enable") &&
                     !is("romio_cb_write", "disable");
  mpi->MPI_Info_free(&info);
  return !wrong;
}

bool has_stored_answer(Word info) noexcept {
  const OwnCode own;
  const MpiApi* const mpi = api_of_world();
  char value[16] = "";
  return mpi != nullptr && info != 0 && info != mpi->constants.info_null &&
         read_info(*mpi, info, "iotune_gather_writes", value, sizeof value) &&
         std::strcmp(value, "memory") == 0;
}

}  // namespace iotune::gather
