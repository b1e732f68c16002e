// The thread that makes the requests. It starts with the first stream that wants one, blocks all
// signals but libc's own, makes raw system calls alone, and is left where it is when the process
// ends.
#pragma once

#include "prefetch/preload/stream_slots.h"

namespace iotune::prefetch {

void set_up_helper(const PrefetchHost& host, const Schedule& schedule) noexcept;

// The stream wants more: the helper is started or woken, if it sleeps. Any thread.
void ask_helper(const StreamSlot& slot) noexcept;

// Returns once the helper makes no call on the slot's descriptor; the slot is not live, so that it
// begins none.
void wait_for_helper(StreamSlot& slot) noexcept;

// kSmall: for code of ours; kOfProgram: as large as the program's threads have.
enum class ThreadStack : std::uint8_t { kSmall, kOfProgram };
// A thread that blocks all signals but libc's own; nobody joins it. False where there is none.
bool start_quiet_thread(void* (*run)(void*), ThreadStack stack = ThreadStack::kSmall) noexcept;
// By a thread of ours, at its start: it may go where the program's own may not.
void leave_single_core() noexcept;

}  // namespace iotune::prefetch
