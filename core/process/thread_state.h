// What the wrappers keep of a thread: which layers it is inside of, and its ring.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "core/os/ticks.h"
#include "core/process/layer.h"

namespace iotune {

namespace recorder {
struct Ring;
}
class JumpSafeGuard;

constexpr std::size_t kMaxGuards = 4;

struct ThreadState {
  // Bit per Layer: a wrapper of it is on this thread's stack. And kUnrecordedBit: inside of a call
  // of HDF5 of which nothing is recorded.
  std::uint8_t layers;
  std::uint8_t ours;  // > 0: iotune's own code runs, everything passes through
  // > 0: a call runs the program's own code, which is not inside of it. The library's own calls
  // are, though no layer says so.
  std::uint8_t aside;
  std::uint8_t guard_count;  // of JumpSafeGuards on this thread's stack, outermost first
  std::uint8_t reported_count, reported_as[kMaxGuards];
  std::uint8_t runs_ahead;  // > 0: a slice of the program that is run ahead (include/iotune.h)
  // Of a file that is sampled out (file_sample.h): what of HDF5's calls is not recorded.
  // kUntouched: all, and the tuner does nothing about the file's datasets either.
  enum class Unrecorded : std::uint8_t { kNothing, kInside, kAll, kUntouched } unrecorded;
  std::int64_t unrecorded_file;  // the one that is open
  recorder::Ring* ring;
  // Transfers that prefetching counts as under way (reported_transfer.h), also those of signal
  // handlers: the addresses of their Transfer structs, which are only compared.
  std::uintptr_t reported[kMaxGuards];
  JumpSafeGuard* guards[kMaxGuards];
};
static_assert(offsetof(ThreadState, ours) == 1);  // vfork_wrapper.cpp knows it

constexpr std::uint8_t kLayerBits = 0x1f, kUnrecordedBit = 0x80;
// Inside of a call of HDF5 on a file that is sampled out, but where it is opened or closed.
constexpr std::uint8_t kPassedBits =
    kUnrecordedBit | bit_of(Layer::kHdf5) | bit_of(Layer::kStdio) | bit_of(Layer::kPosix);

// Plain __thread and initial-exec: no destructor (a thread's last writes come after them) and
// no allocation at first use.
extern __thread ThreadState t_thread __attribute__((tls_model("initial-exec")));

// Other than kNothing once the constructor has run and IOTUNE_MODE is not off. kWatched: transfers
// are also reported to prefetching (transfer_hooks.h), before and after.
enum Recording : std::uint8_t { kNothing, kRecorded, kWatched };
extern Recording g_recording;
// Where a sample is recorded (Configuration::samples_files) the calls on dataspaces and property
// lists are not, nor H5Dget_space: they move nothing, are nearly half of what a program of many
// small datasets calls, and nothing is learnt from them.
extern bool g_records_to_learn;

// The process that this memory belongs to.
extern long g_own_pid;
// True in a process that shares its parent's memory, as children of vfork do: it must leave all of
// ours alone. A copy of the parent's memory, as fork makes it, is first made this process's own,
// if fork's handlers have not done so (_Fork, clone). A system call: not for the hot path.
bool in_vfork_child() noexcept;

// While one exists every wrapped call of this thread goes straight through.
class OwnCode {
 public:
  OwnCode() noexcept { ++t_thread.ours; }
  ~OwnCode() {
    if (t_thread.ours > 0) --t_thread.ours;  // a jump inside of it made it 0
  }
  OwnCode(const OwnCode&) = delete;
  OwnCode& operator=(const OwnCode&) = delete;
};

// One wrapped call: guard, stamps, errno. A call inside a call of the same layer is the
// library's own business and is not recorded: a transfer counts once a layer.
class CallScope {
 public:
  // `passed`: other bits with which the call goes straight through.
  explicit CallScope(Layer layer, std::uint8_t passed = 0) noexcept
      : bit_(bit_of(layer)),
        outer_(t_thread.layers),
        active_(g_recording && t_thread.ours == 0 && (outer_ & (bit_ | passed)) == 0) {
    if (active_) t_thread.layers = static_cast<std::uint8_t>(outer_ | bit_);
  }
  ~CallScope() {
    if (!active_) return;
    t_thread.layers = outer_;
    if (aside_ && t_thread.aside > 0) --t_thread.aside;  // a jump inside of it made it 0
    if (errno_ >= 0) errno = errno_;
  }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

  bool active() const noexcept { return active_; }
  // The call runs the program's own code: what is called in there is not inside of this call.
  void step_aside() noexcept {
    t_thread.layers = outer_;
    ++t_thread.aside;
    aside_ = true;
  }
  void start() noexcept {
    recorded_ = (outer_ & kUnrecordedBit) == 0;
    if (bit_ == kHdf5Bit && t_thread.unrecorded != ThreadState::Unrecorded::kNothing) pass_inner();
    if (recorded_) start_ = ticks_now();
  }
  void stop() noexcept {
    if (recorded_) end_ = ticks_now();
    // HDF5 promises nothing of errno, and its place is one more line of memory.
    if (recorded_ || bit_ != kHdf5Bit) errno_ = errno;
    if (!aside_) t_thread.layers = static_cast<std::uint8_t>(outer_ | bit_);
  }
  // False for calls of HDF5, and inside of these, on a file that is sampled out. Known from start()
  // on.
  bool recorded() const noexcept { return recorded_; }
  // For calls that are recorded although the wrapper did not make them.
  void keep_errno() noexcept { errno_ = errno; }

  std::uint64_t start_ticks() const noexcept { return start_; }
  std::uint64_t duration_ticks() const noexcept { return end_ - start_; }
  std::uint8_t outer_layers() const noexcept { return outer_ & kLayerBits; }

 private:
  static constexpr std::uint8_t kHdf5Bit = bit_of(Layer::kHdf5);
  // What the call makes in turn goes straight through its wrappers. Where the file itself is opened
  // that holds for MPI-IO alone, whose settings came from above: a POSIX call may have to stripe
  // what it creates. MPI_Finalize, which an error's handler may call in there, never does.
  void pass_inner() noexcept {
    recorded_ = t_thread.unrecorded == ThreadState::Unrecorded::kInside;
    if (aside_) return;
    const unsigned passed = recorded_ ? kUnrecordedBit : kPassedBits;
    t_thread.layers = static_cast<std::uint8_t>(outer_ | bit_ | passed);
  }

  std::uint8_t bit_, outer_;
  bool active_, aside_ = false, recorded_ = true;
  int errno_ = -1;  // below 0: the call went straight through
  std::uint64_t start_ = 0, end_ = 0;
};

}  // namespace iotune
