#include <algorithm>
#include <atomic>
#include <cerrno>
#include <iterator>

#include "core/abi/mpi_api.h"
#include "core/os/private_memory.h"
#include "core/process/process_facts.h"
#include "recorder/hooks/decisions.h"
#include "recorder/ring/process_buffer.h"
#include "recorder/wrappers/descriptors/path_filter.h"
#include "recorder/wrappers/mpi/hooks_mpi.h"
#include "recorder/wrappers/mpi/mpi_datatypes.h"
#include "recorder/wrappers/object_table.h"

namespace iotune::recorder {
namespace {

constexpr std::size_t kMostExternal32 = 64;
constinit std::atomic<Word> g_external32[kMostExternal32] = {};
constinit std::atomic<bool> g_any_external32{false};

// Of the individual pointer, in elements of the view. -1: not known.
[[gnu::cold]] std::int64_t pointer_of(Provider& provider, Word file) noexcept {
  const OwnCode own;
  const MpiApi* const mpi = mpi_api(provider);
  std::int64_t position = -1;
  if (mpi == nullptr || mpi->MPI_File_get_position == nullptr ||
      mpi->MPI_File_get_position(file, &position) != 0) {
    return -1;
  }
  return position;
}

}  // namespace

int ranks_of_open(Provider* provider, Word comm) noexcept {
  if (!shares_opens() || provider == nullptr) return 0;
  const OwnCode own;
  const MpiApi* const mpi = mpi_api(*provider);
  // What is no communicator is the real call's to say.
  if (mpi == nullptr || !mpi->constants.known) return 0;
  if (((comm ^ mpi->constants.comm_null) & mpi->constants.handle_mask) == 0) return 0;
  int ranks = 0;
  return mpi->MPI_Comm_size(comm, &ranks) == 0 ? ranks : 0;
}

namespace {
// Of this thread: an MPI may make one of these calls within another one.
__thread bool t_in_joint_call __attribute__((tls_model("initial-exec"))) = false;
}  // namespace

JointOpen::JointOpen(Provider* mpi, Word comm, const Word* file) noexcept
    : mpi_(t_in_joint_call ? nullptr : mpi), comm_(comm), file_(file) {
  if (mpi_ == nullptr) return;
  t_in_joint_call = true;
  const OwnCode own;
  tell_services<&Service::before_shared_open>();
}

JointOpen::~JointOpen() {
  if (mpi_ == nullptr) return;
  const OwnCode own;
  const int kept = errno;
  tell_services<&Service::after_shared_open>(*mpi_, comm_, file_ == nullptr ? 0 : *file_);
  errno = kept;
  t_in_joint_call = false;
}

JointClose::JointClose(Provider* mpi, const Word* file) noexcept
    : mpi_(t_in_joint_call ? nullptr : mpi) {
  if (mpi_ == nullptr) return;
  const OwnCode own;
  for (service_ = g_services; file != nullptr && service_ != nullptr; service_ = service_->next) {
    if (service_->before_shared_close == nullptr) continue;
    if ((kept_ = service_->before_shared_close(*file)) != nullptr) break;
  }
  if (kept_ == nullptr) mpi_ = nullptr;
  if (mpi_ != nullptr) t_in_joint_call = true;
}

JointClose::~JointClose() {
  if (mpi_ == nullptr) return;
  const OwnCode own;
  const int kept = errno;
  service_->after_shared_close(*mpi_, kept_);
  errno = kept;
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
  g_decisions.mpiio.before_open(provider, comm, path.c_str(), amode, info, hook.open);
}

bool again_MPI_File_open(Provider& provider, HookState& hook, int result, Word&, const char*& name,
                         int&, Word& info, Word*& file) noexcept {
  if ((t_thread.layers & bit_of(Layer::kHdf5)) != 0) return false;
  const OwnCode own;
  ShortText<4096> path;
  absolute_path_of_mpi(name, path);
  const Word handle = result == 0 && file != nullptr ? *file : 0;
  return g_decisions.mpiio.again_open(provider, path.c_str(), handle, result, info, hook.open);
}

void after_MPI_File_open(Provider& provider, HookState& hook, int result, Word, const char* name,
                         int, Word, Word* file) noexcept {
  const OwnCode own;
  ShortText<4096> path;
  absolute_path_of_mpi(name, path);
  const Word handle = result == 0 && file != nullptr ? *file : 0;
  if (handle != 0) note_representation(handle, false);
  if (result == 0 && hook.object == 1) {
    RecordWriter record(CallNumber::kiotune_file, ticks_now());
    record.key(next_file_number());
    record.number(static_cast<std::int64_t>(handle));
    record.number(static_cast<std::int64_t>(Layer::kMpiIo));
    record.text(path.c_str());
    record.commit();
  }
  if ((t_thread.layers & bit_of(Layer::kHdf5)) != 0) return;
  g_decisions.mpiio.after_open(provider, path.c_str(), handle, result, hook.open);
}

// Closes are not followed: a handle that is used again is noted anew by its open.
void note_representation(Word file, bool external32) noexcept {
  std::atomic<Word>* free = nullptr;
  for (std::atomic<Word>& known : g_external32) {
    const Word held = known.load(std::memory_order_relaxed);
    if (held == file && external32) return;
    if (held == file) known.store(0, std::memory_order_relaxed);
    if (held == 0) free = &known;
  }
  if (!external32) return;
  g_any_external32.store(true, std::memory_order_relaxed);
  (free != nullptr ? *free : g_external32[file / 8 % kMostExternal32])
      .store(file, std::memory_order_relaxed);
}

void extras_MPI_File_open(Provider& provider, HookState&, RecordWriter& record, int result, Word,
                          const char*, int amode, Word, Word* file) noexcept {
  const bool asked =
      result == 0 && file != nullptr && (common_amode(abi_of(provider), amode) & kModeAppend) != 0;
  record.number(asked ? pointer_of(provider, *file) : -1);
}

void extras_MPI_File_seek(Provider& provider, RecordWriter& record, int result, Word file,
                          std::int64_t, int whence) noexcept {
  const bool asked = result == 0 && common_whence(abi_of(provider), whence) == kSeekEnd;
  record.number(asked ? pointer_of(provider, file) : -1);
}

void prepare_ordered(Provider& provider, Word file) noexcept {
  const OwnCode own;
  g_decisions.mpiio.before_ordered(provider, file);
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

[[gnu::cold]] bool is_external32(Word file) noexcept {
  return std::any_of(std::begin(g_external32), std::end(g_external32),
                     [=](const std::atomic<Word>& known) {
                       return known.load(std::memory_order_relaxed) == file;
                     });
}

// As Open MPI converts it, whose MPI_Pack_external_size names other sizes than it writes. -1: not
// known.
[[gnu::cold]] std::int64_t external32_bytes(Provider& provider, Word type) noexcept {
  const OwnCode own;
  const MpiApi* const mpi = mpi_api(provider);
  constexpr std::int64_t kMost = 1 << 20;
  std::int64_t first = 0, span = 0;
  if (mpi == nullptr || mpi->MPI_Pack_external == nullptr ||
      mpi->MPI_Type_get_true_extent == nullptr ||
      mpi->MPI_Type_get_true_extent(type, &first, &span) != 0 || span < 0 || span > kMost) {
    return -1;
  }
  // An element of zeros, and room for one that grows.
  const auto bytes = static_cast<std::size_t>(span);
  auto* const memory = static_cast<char*>(private_memory(3 * bytes + 1));
  if (memory == nullptr) return -1;
  std::int64_t packed = 0;
  const bool good = mpi->MPI_Pack_external("external32", memory - first, 1, type, memory + bytes,
                                           2 * span, &packed) == 0;
  unmap(memory, 3 * bytes + 1);
  return good ? packed : -1;
}

}  // namespace

[[gnu::hot]] void append_type_bytes(Provider& provider, RecordWriter& record, int result, Word file,
                                    Word type) noexcept {
  if (g_any_external32.load(std::memory_order_relaxed) && result == 0 && is_external32(file)) {
    record.number(external32_bytes(provider, type));
    return;
  }
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
