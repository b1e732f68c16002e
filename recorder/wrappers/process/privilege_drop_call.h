// A call by which the program takes rights away from itself (core/process/privilege_drop.h).
#pragma once

#include <cstdint>

namespace iotune::recorder {

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

// Around such a call. The constructor hands over what was recorded, and sets the flag; where the
// call then fails the process is as before. Nothing happens in a child of vfork, whose memory is
// its parent's.
class PrivilegeDropCall {
 public:
  // Under a limit of memory iotune gives back what it can do without.
  explicit PrivilegeDropCall(Loss loss, MemoryLimit limit = {}) noexcept;
  // Before a call that takes the rights of all threads: lets those finish that are in code of ours
  // and have not seen the flag. A moment, because nobody can tell when the last one has.
  void wait_for_other_threads() const noexcept;
  // The program's call has failed: nothing was lost.
  void failed() noexcept;
  PrivilegeDropCall(const PrivilegeDropCall&) = delete;
  PrivilegeDropCall& operator=(const PrivilegeDropCall&) = delete;

 private:
  bool drops_ = false, stops_counter_ = false, gave_back_ = false;
};

}  // namespace iotune::recorder
