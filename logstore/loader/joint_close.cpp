#include "logstore/loader/joint_close.h"

#include <cerrno>

#include "core/abi/mpi_api.h"
#include "core/run/joint_opens.h"
#include "recorder/hooks/service.h"

namespace iotune::logstore {
namespace {

constinit ClosingCalls g_calls = {};

// A handle of a container that is open, in this process, or is being closed.
struct Joint {
  Word handle;  // 0: free
  Word comm;    // a private one; 0: this rank acts alone
  void* file;   // g_calls'
};
constexpr int kMostJoints = 1024;
constexpr Word kTaken = 1;  // no handle, of any MPI
constinit Joint g_joints[kMostJoints] = {};

// nullptr: all are in use.
Joint* enter(const Joint& joint) noexcept {
  for (Joint& slot : g_joints) {
    Word free = 0;
    if (!__atomic_compare_exchange_n(&slot.handle, &free, kTaken, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED)) {
      continue;
    }
    slot.comm = joint.comm;
    slot.file = joint.file;
    __atomic_store_n(&slot.handle, joint.handle, __ATOMIC_RELEASE);
    return &slot;
  }
  return nullptr;
}

// The handle's one, which stays taken until `closed`.
void* closing(Word handle) noexcept {
  if (handle <= kTaken) return nullptr;
  for (Joint& slot : g_joints) {
    if (__atomic_load_n(&slot.handle, __ATOMIC_ACQUIRE) != handle) continue;
    __atomic_store_n(&slot.handle, kTaken, __ATOMIC_RELAXED);
    return &slot;
  }
  return nullptr;
}

// The ranks of one file, who say numbers to each other: 0 or -errno.
class Ranks {
 public:
  Ranks(const MpiApi& mpi, Word comm) noexcept : mpi_(mpi), comm_(comm) {
    if (comm == 0) return;
    works_ = mpi.MPI_Comm_rank(comm, &rank_) == 0 && mpi.MPI_Comm_size(comm, &size_) == 0;
  }
  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  bool lead() const noexcept { return rank_ == 0; }

  // What went wrong on any rank.
  int all(int own) noexcept {
    if (comm_ == 0) return own;
    std::int64_t mine = own, least = -EIO;
    const MpiConstants& constants = mpi_.constants;
    works_ = works_ &&
             mpi_.MPI_Allreduce(&mine, &least, 1, constants.int64, constants.op_min, comm_) == 0;
    return works_ ? static_cast<int>(least) : -EIO;
  }
  // What rank 0 says.
  int first(int own) noexcept {
    if (comm_ == 0) return own;
    std::int64_t said = own;
    works_ = works_ && mpi_.MPI_Bcast(&said, 1, mpi_.constants.int64, 0, comm_) == 0;
    return works_ ? static_cast<int>(said) : -EIO;
  }

 private:
  const MpiApi& mpi_;
  Word comm_;
  int rank_ = 0, size_ = 1;
  bool works_ = true;
};

// Every rank of the open comes here, also where its own open failed, or was of no container.
void opened(Provider& provider, Word comm, Word handle) noexcept {
  void* const file = g_calls.opened();
  Joint* entered = nullptr;
  if (const MpiApi* const mpi = mpi_api(provider)) {
    Word own = communicator_of_open(*mpi, comm, JointService::kLogs);
    if (file != nullptr && handle > kTaken && handle != mpi->constants.file_null) {
      entered = enter({handle, own, file});
    }
    if (own != 0 && Ranks(*mpi, own).all(entered != nullptr ? 0 : -ENOENT) != 0) {
      // Those who have it close it alone.
      if (entered != nullptr) entered->comm = 0;
      mpi->MPI_Comm_free(&own);
    }
  }
  if (entered == nullptr && file != nullptr) g_calls.forget(file, false);
}

int flatten(Ranks& ranks, void* file) noexcept {
  // From here on every one of them has closed it. Who is alone finds out by the locks whether it
  // was the last.
  int wrong = ranks.all(g_calls.ready(file));
  if (wrong != 0) return wrong;
  const int begun = ranks.lead() ? g_calls.begin(file) : 0;
  wrong = ranks.first(begun);
  if (wrong == 0) wrong = ranks.all(g_calls.copy(file, ranks.rank(), ranks.size()));
  if (ranks.lead() && begun == 0) {
    const int ended = g_calls.end(file, wrong == 0);
    if (wrong == 0) wrong = ended;
  }
  // The file has its name when the first rank goes on.
  return ranks.first(wrong);
}

void closed(Provider& provider, void* kept) noexcept {
  Joint& joint = *static_cast<Joint*>(kept);
  const MpiApi* const mpi = mpi_api(provider);
  Ranks ranks(*mpi, joint.comm);
  const int wrong = flatten(ranks, joint.file);
  // Somebody has it open still, has removed it, or has made the file.
  const bool is_usual = wrong == 0 || wrong == -EBUSY || wrong == -ENOENT || wrong == -ENOTDIR;
  if (!is_usual && ranks.lead()) g_calls.say_why(joint.file, wrong);
  g_calls.forget(joint.file, wrong == 0);
  if (joint.comm != 0) mpi->MPI_Comm_free(&joint.comm);
  __atomic_store_n(&joint.handle, Word{0}, __ATOMIC_RELEASE);
}

}  // namespace

void install_joint_close(const ClosingCalls& calls) noexcept {
  static constinit recorder::Service service = {.before_shared_open = [] { g_calls.begin_open(); },
                                                .after_shared_open = opened,
                                                .before_shared_close = closing,
                                                .after_shared_close = closed};
  g_calls = calls;
  announce_service(JointService::kLogs);
  recorder::enlist(service);
}

}  // namespace iotune::logstore
