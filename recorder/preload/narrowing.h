// A program may take rights away from itself: system calls (seccomp), the processor's counter
// (PR_SET_TSC), its root or user, its limits. From that moment on iotune does nothing that the
// program does not do itself: no system call, no new memory, no file. What was recorded is handed
// over before; what fits into memory that is mapped already is still recorded afterwards.
//
// A filter that the process inherited at its start (containers) is no narrowing. A forbidden
// counter is noticed at the first time stamp (ticks.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace iotune::recorder {

// Set once and for the whole process, even where one thread alone gave up rights. Inline, because
// locks and private memory are also used by a library of its own, which has its own copy.
__attribute__((visibility("hidden"))) inline constinit bool g_narrowed = false;

// True: iotune makes no system call, maps no memory and waits for no lock.
inline bool is_narrowed() noexcept {
  return __builtin_expect(__atomic_load_n(&g_narrowed, __ATOMIC_RELAXED), 0);
}

// What a call of the program is about to take away.
enum class Loss : unsigned char {
  kFiles,            // paths, users, limits: system calls stay possible and clocks go on
  kCalls,            // system calls; the counter stays
  kCounter,          // the counter alone: time stamps come from a system call
  kCallsAndCounter,  // strict seccomp
};

// A limit of the process's memory that the call sets.
struct MemoryLimit {
  enum class Of : unsigned char { kNothing, kAddresses, kData } of = Of::kNothing;
  std::uint64_t bytes = 0;
};

// Around such a call. The constructor hands over what was recorded and narrows; where the call then
// fails the process is as before. Nothing happens in a child of vfork, whose memory is its
// parent's.
class NarrowingCall {
 public:
  // Under a limit of memory iotune gives back what it can do without.
  explicit NarrowingCall(Loss loss, MemoryLimit limit = {}) noexcept;
  // Before a call that takes the rights of all threads: lets those finish that are in code of ours
  // and have not seen the narrowing. A moment, because nobody can tell when the last one has.
  void wait_for_other_threads() const noexcept;
  // The program's call has failed: nothing was lost.
  void failed() noexcept;
  NarrowingCall(const NarrowingCall&) = delete;
  NarrowingCall& operator=(const NarrowingCall&) = delete;

 private:
  bool narrows_ = false, stops_counter_ = false, gave_back_ = false;
};

// The working directory with a slash in front, as getcwd(2) has it: its length with the NUL, below
// 1 where it is unknown. After a narrowing it is the one of that moment.
long working_directory(char* to, std::size_t bytes) noexcept;

// The program has changed its working directory. `path`: nullptr where it is unknown.
void working_directory_changed(const char* path) noexcept;

// What stands before absolute paths of the program; "" unless it has changed its root.
const char* root_of_paths() noexcept;

// The program's root becomes `path`.
void root_changes(const char* path) noexcept;

}  // namespace iotune::recorder
