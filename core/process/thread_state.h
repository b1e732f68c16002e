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

constexpr std::size_t kMaxGuards = 4, kMaxHeld = 8;

struct HeldOverCall {  // jump_safe_guard.h
  std::uintptr_t frame;
  void (*give_back)(std::uintptr_t what) noexcept;
  std::uintptr_t what;
};

struct ThreadState {
  // A bit for each Layer: a wrapper of that layer is on this thread's stack. kUnrecordedBit: the
  // thread is inside a call of HDF5 that is not recorded.
  std::uint8_t layers;
  std::uint8_t ours;  // > 0: iotune's own code runs, everything passes through
  // How many wrapped calls on this thread's stack run callbacks of the program. `layers` leaves
  // these calls out, so that what a callback calls is recorded; what the library itself calls
  // meanwhile is not (goes_straight_through()).
  std::uint8_t callback_depth;
  std::uint8_t guard_count;  // of JumpSafeGuards on this thread's stack, outermost first
  std::uint8_t held_count;
  // Which HDF5 calls on a file that is sampled out (file_sample.h) are not recorded. kUntouched:
  // none are, and the tuner leaves the file's datasets alone.
  enum class Unrecorded : std::uint8_t { kNothing, kInside, kAll, kUntouched } unrecorded;
  std::int64_t unrecorded_file;  // that file, while it is open
  recorder::Ring* ring;
  HeldOverCall held[kMaxHeld];  // outermost first, those of signal handlers among them
  JumpSafeGuard* guards[kMaxGuards];
};
static_assert(offsetof(ThreadState, ours) == 1);  // vfork_wrapper.cpp knows it

constexpr std::uint8_t kLayerBits = 0x1f, kUnrecordedBit = 0x80;
// The thread is inside a call that orders processes (MPI_Recv). It is no layer of I/O: calls on
// files that are made in there are recorded as where order is not.
constexpr std::uint8_t kOrderBit = 0x20;
// Layers whose calls pass straight through inside an HDF5 call on a file that is sampled out,
// except where the call opens or closes the file.
constexpr std::uint8_t kPassedBits =
    kUnrecordedBit | bit_of(Layer::kHdf5) | bit_of(Layer::kStdio) | bit_of(Layer::kPosix);

// Plain __thread and initial-exec: there is no destructor, because a thread's last writes come
// after destructors ran, and no allocation at first use.
extern __thread ThreadState t_thread __attribute__((tls_model("initial-exec")));

// Other than kNothing once the constructor has run and IOTUNE_MODE is not off. kSealed: after a
// privilege drop (privilege_drop.h) nothing is recorded; opens by MPI-IO and HDF5 are still voted
// on. kWatched: transfers are also reported to a service (recorder/hooks/service.h).
enum Recording : std::uint8_t { kNothing, kSealed, kRecorded, kWatched };
extern Recording g_recording;
// True where only a sample of the files is recorded (Configuration::samples_files). Then calls on
// dataspaces and property lists and H5Dget_space are not recorded: they move no data, nothing is
// learnt from them, and they are nearly half of the calls of a program with many small datasets.
extern bool g_records_to_learn;
// Whether calls that order processes are recorded (Configuration::records_order).
extern bool g_records_order;

// The process that this memory belongs to.
extern long g_own_pid;
// True in a process that shares its parent's memory, as a child of vfork does: it must not change
// iotune's memory. In a process with a copy of the parent's memory this first does the work of
// fork's handlers where they have not run (_Fork, clone). Makes a system call: not for the hot
// path.
bool in_vfork_child() noexcept;

// While one exists every wrapped call of this thread goes straight to the real function.
class OwnCode {
 public:
  OwnCode() noexcept { ++t_thread.ours; }
  ~OwnCode() {
    if (t_thread.ours > 0) --t_thread.ours;  // a jump inside of it made it 0
  }
  OwnCode(const OwnCode&) = delete;
  OwnCode& operator=(const OwnCode&) = delete;
};

// A wrapper's frame that an exception passes, or the end of a cancelled thread, ends without its
// destructors: it is code without a C++ runtime. The unwinder tells a frame's own personality
// routine of it, as the C++ ABI has it for all languages. Inside of a function this makes it
// iotune's (left_frames.cpp), which asks nothing. (0x1b: its place is relative, in four bytes.)
#define IOTUNE_NOTICES_UNWINDING() asm volatile(".cfi_personality 0x1b, iotune_frame_is_left")

// One wrapped call: whether it is recorded, its time stamps, errno. A call inside a call of the
// same layer is made by the library itself and is not recorded: a transfer counts once in each
// layer.
class CallScope {
 public:
  // `passed`: more bits of ThreadState::layers with which the call goes straight through.
  [[gnu::always_inline]] explicit CallScope(Layer layer, std::uint8_t passed = 0) noexcept
      : CallScope(bit_of(layer), passed, idle_of(layer)) {}
  // Of a call that orders processes; those that MPI-IO makes itself say nothing.
  struct OfOrder {};
  [[gnu::always_inline]] explicit CallScope(OfOrder) noexcept
      : CallScope(kOrderBit, bit_of(Layer::kMpiIo) | kUnrecordedBit, kSealed) {}
  ~CallScope() {
    if (!active_) return;
    t_thread.layers = outer_;
    // A jump inside of the call made it 0.
    if (runs_callbacks_ && t_thread.callback_depth > 0) --t_thread.callback_depth;
    if (errno_ >= 0) errno = errno_;
  }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

  bool active() const noexcept { return active_; }
  // The call will run callbacks of the program: what they call is not inside of this call.
  void expect_callbacks() noexcept {
    t_thread.layers = outer_;
    ++t_thread.callback_depth;
    runs_callbacks_ = true;
  }
  void start() noexcept {
    recorded_ = (outer_ & kUnrecordedBit) == 0 && g_recording != kSealed;
    if (bit_ == kHdf5Bit && t_thread.unrecorded != ThreadState::Unrecorded::kNothing) pass_inner();
    if (recorded_) start_ = ticks_now();
  }
  void stop() noexcept {
    if (recorded_) end_ = ticks_now();
    // HDF5 does not define errno, and reading it touches one more cache line.
    if (recorded_ || bit_ != kHdf5Bit) errno_ = errno;
    if (!runs_callbacks_) t_thread.layers = static_cast<std::uint8_t>(outer_ | bit_);
  }
  // False for HDF5 calls on a file that is sampled out and for the calls inside them. Valid after
  // start().
  bool recorded() const noexcept { return recorded_; }
  // For a call that is recorded although the wrapper did not make it.
  void keep_errno() noexcept { errno_ = errno; }

  std::uint64_t start_ticks() const noexcept { return start_; }
  std::uint64_t duration_ticks() const noexcept { return end_ - start_; }
  std::uint8_t outer_layers() const noexcept { return outer_ & kLayerBits; }

 private:
  [[gnu::always_inline]] CallScope(std::uint8_t bit, std::uint8_t passed, Recording idle) noexcept
      : bit_(bit),
        outer_(t_thread.layers),
        active_(g_recording > idle && t_thread.ours == 0 && (outer_ & (bit_ | passed)) == 0) {
    IOTUNE_NOTICES_UNWINDING();
    if (active_) t_thread.layers = static_cast<std::uint8_t>(outer_ | bit_);
  }
  static constexpr std::uint8_t kHdf5Bit = bit_of(Layer::kHdf5);
  // Up to where a layer's calls are nobody's business: a rank that is missed in a vote on an open
  // would hang the others.
  static constexpr Recording idle_of(Layer layer) noexcept {
    return layer == Layer::kHdf5 || layer == Layer::kMpiIo ? kNothing : kSealed;
  }
  // Calls inside this one go straight through their wrappers. Where the call opens the file this
  // holds for MPI-IO alone, whose settings came with the open; a POSIX call may have to set the
  // striping of the file that it creates. It never holds for MPI_Finalize, which an error handler
  // may call in there.
  void pass_inner() noexcept {
    recorded_ = t_thread.unrecorded == ThreadState::Unrecorded::kInside;
    if (runs_callbacks_) return;
    const unsigned passed = recorded_ ? kUnrecordedBit : kPassedBits;
    t_thread.layers = static_cast<std::uint8_t>(outer_ | bit_ | passed);
  }

  std::uint8_t bit_, outer_;
  bool active_, runs_callbacks_ = false, recorded_ = true;
  int errno_ = -1;  // below 0: the call went straight through
  std::uint64_t start_ = 0, end_ = 0;
};

}  // namespace iotune
