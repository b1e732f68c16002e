// A call by which the program takes rights away from itself (core/process/privilege_drop.h).
#pragma once

namespace iotune::recorder {

// What a call of the program is about to take away.
enum class Loss : unsigned char {
  kFiles,  // paths, users, limits
  kData,   // a limit of memory, under which iotune gives back what it can do without
  kCalls,  // system calls, or the counter
};

// Around such a call. The constructor hands over what was recorded, and ends recording; where the
// call then fails the process is as before. Nothing happens in a child of vfork, whose memory is
// its parent's.
class PrivilegeDropCall {
 public:
  explicit PrivilegeDropCall(Loss loss) noexcept;
  // Before a call that takes the rights of all threads: lets those finish that are in code of ours
  // and have not seen the flag. A moment, because nobody can tell when the last one has.
  void wait_for_other_threads() const noexcept;
  // The program's call has failed: nothing was lost.
  void failed() noexcept;
  PrivilegeDropCall(const PrivilegeDropCall&) = delete;
  PrivilegeDropCall& operator=(const PrivilegeDropCall&) = delete;

 private:
  bool drops_ = false, gave_back_ = false;
};

}  // namespace iotune::recorder
