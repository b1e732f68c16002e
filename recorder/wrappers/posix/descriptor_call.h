// A call on a descriptor that moves no data.
#pragma once

#include "core/link/real_function.h"
#include "core/process/thread_state.h"
#include "recorder/wrappers/descriptors/descriptor_table.h"
#include "recorder/wrappers/traced_call.h"
#include "recorder/wrappers/wrapper_parts.h"

namespace iotune::recorder {

// A call that changes nothing, so that a slice of the program that runs ahead may make it. This
// libc may lack it. `numbers`: what is recorded between descriptor and result.
template <typename Result, typename... Arguments, typename... Numbers>
Result ask_of_descriptor(CallNumber number, int fd, NextCall<Result, Arguments...> real,
                         Numbers... numbers) noexcept {
  if (!real.exists()) return no_such_call();
  return traced_call<Layer::kPosix, Result>(number, fd, file_of_descriptor(fd), real, numbers...);
}

// The same of a call that changes the file.
template <typename... Arguments, typename... Numbers>
int change_descriptor(CallNumber number, int fd, NextCall<int, Arguments...> real,
                      Numbers... numbers) noexcept {
  if (real.exists() && t_thread.runs_ahead != 0) return not_in_slice();
  return ask_of_descriptor(number, fd, real, numbers...);
}

}  // namespace iotune::recorder
