#include "core/abi/mpi_api.h"
#include "core/process/process_facts.h"
#include "recorder/hooks/open_hooks.h"
#include "recorder/ring/process_buffer.h"
#include "recorder/wrappers/descriptors/path_filter.h"
#include "recorder/wrappers/mpi/hooks_mpi.h"
#include "recorder/wrappers/mpi/mpi_datatypes.h"
#include "recorder/wrappers/object_table.h"

namespace iotune::recorder {

int ranks_of_open(Provider* provider, Word comm) noexcept {
  if (!g_counts_ranks_of_opens || provider == nullptr) return 0;
  const OwnCode own;
  const MpiApi* const mpi = mpi_api(*provider);
  // What is no communicator is the real call's to say.
  if (mpi == nullptr || !mpi->constants.known) return 0;
  if (((comm ^ mpi->constants.comm_null) & mpi->constants.handle_mask) == 0) return 0;
  int ranks = 0;
  return mpi->MPI_Comm_size(comm, &ranks) == 0 ? ranks : 0;
}

void before_MPI_File_open(Provider& provider, HookState& hook, Word& comm, const char*& name,
                          int& amode, Word& info, Word*&) noexcept {
  const OwnCode own;
  ShortText<4096> path;
  absolute_path_of_mpi(name, path);
  hook.object = path_is_traced(path.c_str()) && start_buffer() ? 1 : 0;
  hook.open.named_relatively = is_relative_to_mpi(name);
  // Inside HDF5's own open the decision has been made a layer above.
  if ((t_thread.layers & bit_of(Layer::kHdf5)) != 0) return;
  g_mpiio_hooks.before_open(provider, comm, path.c_str(), amode, info, hook.open);
}

bool again_MPI_File_open(Provider& provider, HookState& hook, int result, Word&, const char*& name,
                         int&, Word& info, Word*& file) noexcept {
  if ((t_thread.layers & bit_of(Layer::kHdf5)) != 0) return false;
  const OwnCode own;
  ShortText<4096> path;
  absolute_path_of_mpi(name, path);
  const Word handle = result == 0 && file != nullptr ? *file : 0;
  return g_mpiio_hooks.again_open(provider, path.c_str(), handle, result, info, hook.open);
}

void after_MPI_File_open(Provider& provider, HookState& hook, int result, Word, const char* name,
                         int, Word, Word* file) noexcept {
  const OwnCode own;
  ShortText<4096> path;
  absolute_path_of_mpi(name, path);
  const Word handle = result == 0 && file != nullptr ? *file : 0;
  if (result == 0 && hook.object == 1) {
    RecordWriter record(CallNumber::kiotune_file, ticks_now());
    record.key(next_file_number());
    record.number(static_cast<std::int64_t>(handle));
    record.number(static_cast<std::int64_t>(Layer::kMpiIo));
    record.text(path.c_str());
    record.commit();
  }
  if ((t_thread.layers & bit_of(Layer::kHdf5)) != 0) return;
  g_mpiio_hooks.after_open(provider, path.c_str(), handle, result, hook.open);
}

void prepare_ordered(Provider& provider, Word file) noexcept {
  const OwnCode own;
  g_mpiio_hooks.before_ordered(provider, file);
}

namespace {

// Of the last types that calls of this thread were about. No call changes or frees a predefined
// type, so that its size stays; of another one it is asked for each time.
struct LastTypes {
  std::uintptr_t mpi;  // Provider::base
  Word predefined, other;
  int bytes;  // of `predefined`; 0: none is known
};
__thread LastTypes t_last_types __attribute__((tls_model("initial-exec")));

}  // namespace

[[gnu::hot]] void append_type_bytes(Provider& provider, RecordWriter& record, int result,
                                    Word type) noexcept {
  LastTypes& last = t_last_types;
  if (result == 0 && last.bytes > 0 && last.predefined == type && last.mpi == provider.base) {
    record.number(std::int64_t{last.bytes});
    return;
  }
  const OwnCode own;
  const MpiApi* const mpi = mpi_api(provider);
  int bytes = -1;
  if (mpi != nullptr && result == 0) mpi->MPI_Type_size(type, &bytes);
  record.number(std::int64_t{bytes});
  if (bytes <= 0 || (last.other == type && last.mpi == provider.base)) return;
  if (last.mpi != provider.base) last = {provider.base, 0, 0, 0};
  if (is_predefined(*mpi, type)) {
    last.predefined = type;
    last.bytes = bytes;
  } else {
    last.other = type;
  }
}

}  // namespace iotune::recorder
