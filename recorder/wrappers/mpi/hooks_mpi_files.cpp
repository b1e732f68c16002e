#include "core/abi/mpi_api.h"
#include "core/process/process_facts.h"
#include "recorder/hooks/open_hooks.h"
#include "recorder/ring/process_buffer.h"
#include "recorder/wrappers/descriptors/path_filter.h"
#include "recorder/wrappers/mpi/hooks_mpi.h"
#include "recorder/wrappers/mpi/mpi_datatypes.h"
#include "recorder/wrappers/object_table.h"

namespace iotune::recorder {

namespace {
// Of this thread: an MPI may make one of these calls within another one.
__thread bool t_in_joint_call __attribute__((tls_model("initial-exec"))) = false;
}  // namespace

JointOpen::JointOpen(Provider* mpi, Word comm, const Word* file) noexcept
    : mpi_(t_in_joint_call ? nullptr : mpi), comm_(comm), file_(file) {
  if (mpi_ == nullptr) return;
  t_in_joint_call = true;
  g_joint_hooks.opening();
}

JointOpen::~JointOpen() {
  if (mpi_ == nullptr) return;
  g_joint_hooks.opened(*mpi_, comm_, file_ == nullptr ? 0 : *file_);
  t_in_joint_call = false;
}

JointClose::JointClose(Provider* mpi, const Word* file) noexcept
    : mpi_(t_in_joint_call ? nullptr : mpi) {
  if (mpi_ == nullptr) return;
  if (file == nullptr || !g_joint_hooks.closing(*file, comm_, kept_)) mpi_ = nullptr;
  if (mpi_ != nullptr) t_in_joint_call = true;
}

JointClose::~JointClose() {
  if (mpi_ == nullptr) return;
  g_joint_hooks.closed(*mpi_, comm_, kept_);
  t_in_joint_call = false;
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
